//! Hot statements as data: name, text and parameter types in one constant, so that a census test can
//! prepare every one of them against a migrated schema. tokio-postgres checks nothing at compile time.

use std::time::Instant;

use deadpool_postgres::Object;
use tokio_postgres::types::Type;

use super::error::Error;
use crate::telemetry::request;

/// A named statement of the hot path.
#[derive(Debug)]
pub struct Statement {
    /// Unique name; it opens the SQL as a comment and labels metrics.
    pub name: &'static str,
    /// The text.
    pub sql: &'static str,
    /// Types of `$1…`, in order.
    pub types: &'static [Type],
}

impl Statement {
    /// The prepared form on this connection; prepared at most once a connection.
    pub async fn prepare(&self, client: &Object) -> Result<tokio_postgres::Statement, Error> {
        Ok(client.prepare_typed_cached(self.sql, self.types).await?)
    }
}

/// Waits for one flight of `statements` statements and notes it for the request's log line. Prepare them all
/// before: a statement that is prepared inside a flight loses its place in the order.
pub async fn flight<F: Future>(statements: u32, future: F) -> F::Output {
    let begun = Instant::now();
    let output = future.await;
    request::note_database(statements, begun.elapsed());
    output
}
