//! Asking for a job, inside the transaction of whoever asks: it exists if and only if that commits.

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::db::Error;

/// A job to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob<'a> {
    /// Name of a kind. One that no server knows waits for one that does.
    pub kind: &'a str,
    /// With a key, nothing is made while a job of this kind and key waits or runs. For work that may be done too
    /// seldom but not too often; a run under way does not see what its twin was asked for.
    pub key: Option<&'a str>,
    /// Waits again after each run; needs a key.
    pub recurring: bool,
    /// What the handler must know; an object.
    pub payload: Value,
    /// After so many failed attempts it stops and stays to be seen.
    pub max_attempts: i32,
}

impl<'a> NewJob<'a> {
    /// A job of this kind, due at once, with ten attempts.
    pub fn new(kind: &'a str) -> Self {
        Self { kind, key: None, recurring: false, payload: json!({}), max_attempts: 10 }
    }
}

/// Makes a job; its id, or nothing if one with its key is there. Call [`super::Worker::wake`] after the commit;
/// otherwise the job is found within a second or so.
pub async fn enqueue(conn: &mut PgConnection, job: &NewJob<'_>) -> Result<Option<i64>, Error> {
    // Looked for before, because ON CONFLICT alone takes a number from the sequence each time.
    Ok(sqlx::query_scalar!(
        "INSERT INTO jobs (kind, job_key, recurring, payload, max_attempts)
         SELECT $1, $2, $3, $4, $5
         WHERE NOT EXISTS (SELECT FROM jobs WHERE kind = $1 AND job_key = $2 AND state = 'waiting')
         ON CONFLICT (kind, job_key) WHERE state = 'waiting' DO NOTHING
         RETURNING job_id",
        job.kind,
        job.key,
        job.recurring,
        job.payload,
        job.max_attempts
    )
    .fetch_optional(conn)
    .await?)
}
