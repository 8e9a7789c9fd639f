//! Voting's management SQL: one file per table family, compile-time checked.
//!
//! What happens under load (casting, closing) is in the hot files, on the other driver.

pub mod meeting_list;
pub mod meetings;
pub mod opening;
pub mod participant_list;
pub mod participants;
pub mod poll_list;
pub mod polls;
pub mod results;

use sqlx::{Postgres, Transaction};

use crate::db::{self, Db};

/// Opens a transaction at the isolation the protocol needs, whatever the database's default.
pub async fn begin(db: &Db) -> Result<Transaction<'static, Postgres>, db::Error> {
    Ok(db.management().begin_with(db::BEGIN).await?)
}

/// Commits; a connection that breaks meanwhile leaves the outcome unknown.
pub async fn commit(tx: Transaction<'static, Postgres>) -> Result<(), db::Error> {
    tx.commit().await.map_err(|error| db::Error::from(error).during_commit())
}

/// A stored value that the code does not know: the row was written by something else.
fn impossible(table: &str, column: &str, value: &str, key: i64) -> db::Error {
    db::Error::Internal(format!("{table} {key}: column {column} holds the unknown value {value:?}").into())
}
