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
pub mod proxies;
pub mod results;

use crate::db;

/// A stored value that the code does not know: the row was written by something else.
fn impossible(table: &str, column: &str, value: &str, key: i64) -> db::Error {
    db::Error::Internal(format!("{table} {key}: column {column} holds the unknown value {value:?}").into())
}
