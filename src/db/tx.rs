//! A named transaction of the hot path, over one tokio-postgres connection. Futures made from
//! [`Tx::client`] and polled together are pipelined into one flight. A transaction that is not committed
//! costs its connection: a dropped future may have left statements behind that nobody has read.

use deadpool_postgres::Object;
use futures_util::future::join;
use metrics::histogram;
use std::time::{Duration, Instant};

use super::BEGIN;
use super::error::Error;
use crate::telemetry::metrics::DB_TRANSACTION_SECONDS;

/// How long an abandoned transaction keeps its place in the pool at most. PostgreSQL's own time-outs end it much
/// earlier; after this the connection is taken for dead.
const FAREWELL: Duration = Duration::from_secs(30);

/// An open transaction. Dropping it without [`Tx::commit`] or [`Tx::rollback`] discards the connection.
#[derive(Debug)]
pub struct Tx {
    client: Option<Object>,
    name: &'static str,
    begun: Instant,
}

impl Tx {
    /// A transaction that has not been opened yet: send [`BEGIN`] as the first statement of the first
    /// flight ([`Tx::begin`] does it in a round trip of its own).
    pub fn new(client: Object, name: &'static str) -> Self {
        Self { client: Some(client), name, begun: Instant::now() }
    }

    /// Opens a transaction in a round trip of its own.
    pub async fn begin(client: Object, name: &'static str) -> Result<Self, Error> {
        let tx = Self::new(client, name);
        tx.client().batch_execute(BEGIN).await?;
        Ok(tx)
    }

    /// The connection, for statements of this transaction.
    pub fn client(&self) -> &Object {
        self.client.as_ref().expect("present until commit or rollback consumes self")
    }

    /// Commits. An error here may mean that the outcome is unknown ([`Error::OutcomeUnknown`]).
    ///
    /// The driver hides COMMIT's own tag, and COMMIT of an aborted transaction answers ROLLBACK without an
    /// error; so a caller must have checked every statement before, which `?` on each of them does.
    pub async fn commit(mut self) -> Result<(), Error> {
        let result = self.client().batch_execute("COMMIT").await.map_err(Error::from);
        self.finish(result.map_err(Error::during_commit), "commit")
    }

    /// The last flight: `last` sends its statements, COMMIT follows in the same flight, and both answers are
    /// read. An error of `last` counts first: PostgreSQL then answers COMMIT with a rollback and no error. A
    /// connection that breaks leaves the outcome unknown, whichever answer was awaited: COMMIT was sent.
    pub async fn commit_after<T>(
        mut self,
        last: impl AsyncFnOnce(&Object) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let client = self.client();
        // Polled in this order, so the statements of `last` go out before COMMIT.
        let (last, commit) = join(last(client), client.batch_execute("COMMIT")).await;
        let result = match last {
            Err(Error::Unavailable(source)) => Err(Error::OutcomeUnknown(source)),
            Err(error) => Err(error),
            Ok(value) => commit.map(|()| value).map_err(|error| Error::from(error).during_commit()),
        };
        self.finish(result, "commit")
    }

    /// Rolls back and keeps the connection.
    pub async fn rollback(mut self) -> Result<(), Error> {
        let result = self.client().batch_execute("ROLLBACK").await.map_err(Error::from);
        self.finish(result, "rollback")
    }

    fn finish<T>(&mut self, result: Result<T, Error>, outcome: &'static str) -> Result<T, Error> {
        let label = if result.is_ok() { outcome } else { "error" };
        histogram!(DB_TRANSACTION_SECONDS, "name" => self.name, "outcome" => label)
            .record(self.begun.elapsed().as_secs_f64());
        if result.is_ok() {
            // Back to the pool: everything that was sent has been answered.
            drop(self.client.take());
        }
        result
    }
}

/// The connection is closed, and PostgreSQL rolls back. But a statement of it may still be running there, such as
/// one that waits for a lock on behalf of a client who has hung up: closing now would give its place in the pool
/// to another connection while this one still takes a place in PostgreSQL, so the place is kept until
/// PostgreSQL has answered.
impl Drop for Tx {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let ending = async move {
            let _answered = tokio::time::timeout(FAREWELL, client.batch_execute("ROLLBACK")).await;
            drop(Object::take(client));
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Beside `lifecycle::Tasks`: it ends by itself, and a stop need not wait for what rolls back.
            runtime.spawn(ending);
        }
    }
}
