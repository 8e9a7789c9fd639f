//! A creation that came with an Idempotency-Key: its statements ride in the flights of the creation, and there are none
//! when no key was sent. What an answer is, and how it is sealed, the caller says.

use deadpool_postgres::Object;
use futures_util::future::join;
use time::OffsetDateTime;

use super::Parameter;
use crate::db;
use crate::db::idempotency::{self, Key, Stored};
use crate::purl::model::Purl;

/// Makes the answer to a key's request and seals it; an error takes the whole write back.
pub type Seal<'a> = dyn FnMut(&Key, &Purl) -> Result<Vec<u8>, db::Error> + Send + 'a;

/// An Idempotency-Key, and what is to be stored under it as the answer to the first item once that is made. A batch of
/// several requests would take one lock and store one row for each, in the same flights.
pub struct Recorded<'a> {
    /// The key.
    pub key: &'a Key,
    /// Makes and seals the answer.
    pub seal: &'a mut Seal<'a>,
}

/// The statements of an Idempotency-Key, prepared before the first flight.
pub(super) struct Recording<'a> {
    key: &'a Key,
    lock_number: i64,
    lock: tokio_postgres::Statement,
    find: tokio_postgres::Statement,
    insert: tokio_postgres::Statement,
}

impl<'a> Recording<'a> {
    /// For this connection.
    pub(super) async fn prepare(client: &Object, key: &'a Key) -> Result<Self, db::Error> {
        Ok(Self {
            key,
            lock_number: key.lock(),
            lock: idempotency::LOCK.prepare(client).await?,
            find: idempotency::FIND.prepare(client).await?,
            insert: idempotency::INSERT.prepare(client).await?,
        })
    }
}

/// Waits for whoever works under the key, then looks for its answer: the first statements of the first flight.
pub(super) async fn find_answer(
    client: &Object,
    recording: Option<&Recording<'_>>,
) -> Result<Option<Stored>, db::Error> {
    let Some(recording) = recording else { return Ok(None) };
    let number: [Parameter<'_>; 1] = [&recording.lock_number];
    let key = recording.key.parameters();
    let (locked, found) =
        join(client.query(&recording.lock, &number), client.query_opt(&recording.find, &key)).await;
    locked?;
    let Some(row) = found? else { return Ok(None) };
    Ok(Some(Stored { request_sha256: row.try_get("request_sha256")?, answer: row.try_get("answer")? }))
}

/// Stores the answer: beside COMMIT.
pub(super) async fn store_answer(
    client: &Object,
    stored: Option<(&Recording<'_>, &[u8])>,
    at: OffsetDateTime,
) -> Result<(), db::Error> {
    let Some((recording, answer)) = stored else { return Ok(()) };
    let [tenant, api_key, key] = recording.key.parameters();
    let request = recording.key.request_sha256.as_slice();
    client.execute(&recording.insert, &[tenant, api_key, key, &request, &answer, &at]).await?;
    Ok(())
}
