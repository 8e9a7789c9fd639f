//! The same for a transaction that does what several requests ask, each with a key of its own.

use std::collections::HashMap;

use deadpool_postgres::Object;
use futures_util::future::join;
use time::OffsetDateTime;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::{Key, Stored};
use crate::db::error::Error;
use crate::db::statement::Statement;

/// Waits for whoever works under these keys, in the order of their numbers. `$1` [`Key::lock`] of each, sorted.
pub const LOCK_ALL: Statement = Statement {
    name: "idempotency_lock_all",
    sql: "/* idempotency_lock_all */
        SELECT pg_advisory_xact_lock(number) FROM unnest($1) WITH ORDINALITY AS i (number, place) ORDER BY place",
    types: &[Type::INT8_ARRAY],
};

/// The answers given before. `$1` tenants, `$2` API keys, `$3` idempotency keys. `OFFSET 0` has each looked up by its
/// key, whatever the statistics say.
pub const FIND_ALL: Statement = Statement {
    name: "idempotency_find_all",
    sql: "/* idempotency_find_all */
        SELECT i.place, k.request_sha256, k.answer
        FROM unnest($1, $2, $3) WITH ORDINALITY AS i (tenant_id, api_key_id, idempotency_key, place)
        CROSS JOIN LATERAL (
            SELECT request_sha256, answer FROM idempotency_keys
            WHERE tenant_id = i.tenant_id AND api_key_id = i.api_key_id AND idempotency_key = i.idempotency_key
            OFFSET 0) AS k",
    types: &[Type::INT8_ARRAY, Type::UUID_ARRAY, Type::TEXT_ARRAY],
};

/// Stores answers. Parameters as in [`FIND_ALL`], then the requests' hashes, the answers and when each was given.
pub const INSERT_ALL: Statement = Statement {
    name: "idempotency_insert_all",
    sql: "/* idempotency_insert_all */
        INSERT INTO idempotency_keys (tenant_id, api_key_id, idempotency_key, request_sha256, answer, created_at)
        SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[], $6::timestamptz[])",
    types: &[
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
    ],
};

/// The keys of a batch, and the statements for them prepared on its connection; nothing if no item has one.
pub struct Keys<'a> {
    /// Each with the place of its item.
    keys: Vec<(usize, &'a Key)>,
    prepared: Option<[tokio_postgres::Statement; 3]>,
}

/// An answer to be stored under a key.
pub struct Answer<'a> {
    /// The key.
    pub key: &'a Key,
    /// Sealed.
    pub answer: Vec<u8>,
    /// When it was given.
    pub at: OffsetDateTime,
}

impl<'a> Keys<'a> {
    /// Those that there are among a batch's items.
    pub async fn prepare(
        client: &Object,
        keys: impl Iterator<Item = Option<&'a Key>>,
    ) -> Result<Self, Error> {
        let keys: Vec<_> = keys.enumerate().filter_map(|(place, key)| Some((place, key?))).collect();
        let prepared = if keys.is_empty() {
            None
        } else {
            Some([
                LOCK_ALL.prepare(client).await?,
                FIND_ALL.prepare(client).await?,
                INSERT_ALL.prepare(client).await?,
            ])
        };
        Ok(Self { keys, prepared })
    }

    /// How many statements [`Keys::find`] and [`Keys::store`] send.
    pub fn statements(&self) -> u32 {
        if self.keys.is_empty() { 0 } else { 2 }
    }

    /// Waits for whoever works under one of the keys, then looks for answers, by the place of the item: the first
    /// statements of the first flight.
    pub async fn find(&self, client: &Object) -> Result<HashMap<usize, Stored>, Error> {
        let Some([lock, find, _]) = &self.prepared else { return Ok(HashMap::new()) };
        let mut numbers: Vec<i64> = self.keys.iter().map(|(_, key)| key.lock()).collect();
        numbers.sort_unstable();
        let (tenants, callers, words) = columns(self.keys.iter().map(|(_, key)| *key));
        let (locked, found) =
            join(client.query(lock, &[&numbers]), client.query(find, &[&tenants, &callers, &words])).await;
        locked?;
        let mut answers = HashMap::new();
        for row in found? {
            let place: i64 = row.try_get("place")?;
            let item = usize::try_from(place - 1).ok().and_then(|place| self.keys.get(place));
            let item = item.ok_or_else(|| Error::Internal("an answer to no key".into()))?;
            let stored =
                Stored { request_sha256: row.try_get("request_sha256")?, answer: row.try_get("answer")? };
            answers.insert(item.0, stored);
        }
        Ok(answers)
    }

    /// Stores answers: beside COMMIT.
    pub async fn store(&self, client: &Object, answers: &[Answer<'_>]) -> Result<(), Error> {
        let Some([_, _, insert]) = self.prepared.as_ref().filter(|_| !answers.is_empty()) else {
            return Ok(());
        };
        let (tenants, callers, words) = columns(answers.iter().map(|answer| answer.key));
        let requests: Vec<&[u8]> =
            answers.iter().map(|answer| answer.key.request_sha256.as_slice()).collect();
        let sealed: Vec<&[u8]> = answers.iter().map(|answer| answer.answer.as_slice()).collect();
        let times: Vec<OffsetDateTime> = answers.iter().map(|answer| answer.at).collect();
        client.execute(insert, &[&tenants, &callers, &words, &requests, &sealed, &times]).await?;
        Ok(())
    }
}

fn columns<'a>(keys: impl Iterator<Item = &'a Key>) -> (Vec<i64>, Vec<Uuid>, Vec<&'a str>) {
    let (mut tenants, mut callers, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for key in keys {
        tenants.push(key.tenant_id);
        callers.push(key.api_key_id);
        words.push(key.key.as_str());
    }
    (tenants, callers, words)
}
