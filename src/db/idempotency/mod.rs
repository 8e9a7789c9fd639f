//! Answers that are given once: the first answer to a request is stored under its Idempotency-Key by the
//! transaction that did what was asked, and found by every repeat. It knows nothing of HTTP: an answer is sealed
//! bytes, a request a hash.
//!
//! The order is [`LOCK`], [`FIND`], the work, [`INSERT`], COMMIT. The lock is a statement of its own, so that FIND
//! sees what the earlier holder committed; an INSERT at the start, to be filled in later, would write every row
//! twice. Locks of keys come before all others. A transaction for several requests takes their locks in order.

pub mod batch;

use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::error::Error;
use super::statement::Statement;

/// How long an answer can be had again, at least.
pub const RETENTION: Duration = Duration::hours(24);

/// Rows that one run of [`prune`] removes, so that it is short.
const PORTION: i64 = 1_000;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] =
    &[&LOCK, &FIND, &INSERT, &batch::LOCK_ALL, &batch::FIND_ALL, &batch::INSERT_ALL];

/// Waits for whoever works under the same key. `$1` [`Key::lock`].
pub const LOCK: Statement = Statement {
    name: "idempotency_lock",
    sql: "/* idempotency_lock */ SELECT pg_advisory_xact_lock($1)",
    types: &[Type::INT8],
};

/// The answer given before. `$1` tenant, `$2` API key, `$3` idempotency key.
pub const FIND: Statement = Statement {
    name: "idempotency_find",
    sql: "/* idempotency_find */
        SELECT request_sha256, answer FROM idempotency_keys
        WHERE tenant_id = $1 AND api_key_id = $2 AND idempotency_key = $3",
    types: &[Type::INT8, Type::UUID, Type::TEXT],
};

/// Stores an answer. Parameters as in [`FIND`], then the request's hash, the answer and now.
pub const INSERT: Statement = Statement {
    name: "idempotency_insert",
    sql: "/* idempotency_insert */
        INSERT INTO idempotency_keys (tenant_id, api_key_id, idempotency_key, request_sha256, answer, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)",
    types: &[Type::INT8, Type::UUID, Type::TEXT, Type::BYTEA, Type::BYTEA, Type::TIMESTAMPTZ],
};

/// An Idempotency-Key of one caller, with the request it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The caller's tenant, [`super::audit::SERVICE`] for the operator.
    pub tenant_id: i64,
    /// The caller. Keys of two callers never meet: an answer may show what only its receiver may see.
    pub api_key_id: Uuid,
    /// As the client chose it.
    pub key: String,
    /// Over everything that makes the request what it is.
    pub request_sha256: [u8; 32],
}

/// An answer given before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The request that it answered.
    pub request_sha256: Vec<u8>,
    /// Sealed.
    pub answer: Vec<u8>,
}

impl Key {
    /// What identifies the row, in one spelling.
    pub fn row(&self) -> String {
        format!("{} {} {}", self.tenant_id, self.api_key_id, self.key)
    }

    /// Number of the advisory lock. Two keys with one number wait for each other and are otherwise right.
    pub fn lock(&self) -> i64 {
        let digest: [u8; 32] = Sha256::digest(format!("idempotency {}", self.row())).into();
        let mut number = [0; 8];
        number.copy_from_slice(&digest[..8]);
        i64::from_be_bytes(number)
    }

    /// Parameters of [`FIND`].
    pub fn parameters(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.tenant_id, &self.api_key_id, &self.key]
    }
}

/// Takes the key's lock until the transaction ends, then looks for an answer.
pub async fn lock_and_find(conn: &mut PgConnection, key: &Key) -> Result<Option<Stored>, Error> {
    sqlx::query(LOCK.sql).bind(key.lock()).execute(&mut *conn).await?;
    find(conn, key).await
}

/// The answer given before, as it is now.
pub async fn find(conn: &mut PgConnection, key: &Key) -> Result<Option<Stored>, Error> {
    let row: Option<(Vec<u8>, Vec<u8>)> = sqlx::query_as(FIND.sql)
        .bind(key.tenant_id)
        .bind(key.api_key_id)
        .bind(&key.key)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(|(request_sha256, answer)| Stored { request_sha256, answer }))
}

/// Stores the answer, in the transaction that did what it says.
pub async fn insert(
    conn: &mut PgConnection,
    key: &Key,
    answer: &[u8],
    now: OffsetDateTime,
) -> Result<(), Error> {
    sqlx::query(INSERT.sql)
        .bind(key.tenant_id)
        .bind(key.api_key_id)
        .bind(&key.key)
        .bind(key.request_sha256.as_slice())
        .bind(answer)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Name of the job that calls [`prune`].
pub const PRUNE_KIND: &str = "prune_idempotency_keys";

/// Removes a portion of the answers older than [`RETENTION`]; whether there may be more. Safe on every server at once.
pub async fn prune(conn: &mut PgConnection, now: OffsetDateTime) -> Result<bool, Error> {
    let done = sqlx::query!(
        "DELETE FROM idempotency_keys k USING (
             SELECT tenant_id, api_key_id, idempotency_key FROM idempotency_keys
             WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
         WHERE k.tenant_id = old.tenant_id AND k.api_key_id = old.api_key_id
           AND k.idempotency_key = old.idempotency_key",
        now - RETENTION,
        PORTION
    );
    Ok(done.execute(conn).await?.rows_affected() == PORTION.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_and_tenants_with_one_word_have_keys_of_their_own() {
        let key = |tenant_id, caller, word: &str| Key {
            tenant_id,
            api_key_id: Uuid::from_u128(caller),
            key: word.to_owned(),
            request_sha256: [0; 32],
        };
        let locks = [key(1, 1, "a"), key(2, 1, "a"), key(1, 2, "a"), key(1, 1, "b")].map(|key| key.lock());
        for (at, lock) in locks.iter().enumerate() {
            assert!(!locks[..at].contains(lock));
        }
        assert_eq!(key(1, 1, "a").lock(), locks[0]);
    }
}
