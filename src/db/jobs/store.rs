//! The steps of a run in SQL. Each but the first is fenced by lease and attempt: a server that lost the job to
//! another changes nothing any more.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::kinds::Job;
use crate::db::Error;

/// A job that this process has taken.
#[derive(Debug)]
pub(super) struct Leased {
    /// What the handler sees.
    pub job: Job,
    /// By whom: the fence, together with the attempt.
    pub worker: Uuid,
    /// Attempts it may have; a recurring one has no end.
    pub max_attempts: Option<i32>,
}

/// Takes the job that has been due longest among these kinds. One whose lease ran out was lost by its server,
/// which its error says from then on. A row that a run holds is passed over, whatever its lease says.
pub(super) async fn lease_due(
    conn: &mut PgConnection,
    kinds: &[String],
    recurring: bool,
    worker: Uuid,
    lease: Duration,
) -> Result<Option<Leased>, Error> {
    let row = sqlx::query!(
        r#"WITH due AS MATERIALIZED (
             SELECT job_id FROM jobs
             WHERE state = 'waiting' AND recurring = $2 AND run_at <= now() AND kind = ANY ($1)
               AND (leased_until IS NULL OR leased_until <= now())
             ORDER BY run_at, job_id LIMIT 1 FOR UPDATE SKIP LOCKED)
         UPDATE jobs SET attempts = attempts + 1, leased_by = $3,
             leased_until = clock_timestamp() + $4 * interval '1 second',
             last_error = CASE WHEN leased_by IS NULL THEN last_error
                 ELSE format('attempt %s ended without an answer: its server was lost', attempts) END,
             last_error_at = CASE WHEN leased_by IS NULL THEN last_error_at ELSE now() END
         FROM due WHERE jobs.job_id = due.job_id
         RETURNING jobs.job_id, kind, payload, attempts, max_attempts"#,
        kinds,
        recurring,
        worker,
        lease.as_secs_f64()
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Leased {
        job: Job { job_id: row.job_id, kind: row.kind, payload: row.payload, attempt: row.attempts },
        worker,
        max_attempts: (!recurring).then_some(row.max_attempts),
    }))
}

/// Holds the row for the rest of the transaction. False if the lease was lost meanwhile.
pub(super) async fn lock_leased(conn: &mut PgConnection, leased: &Leased) -> Result<bool, Error> {
    let found = sqlx::query_scalar!(
        "SELECT job_id FROM jobs WHERE job_id = $1 AND leased_by = $2 AND attempts = $3 AND state = 'waiting'
         FOR UPDATE",
        leased.job.job_id,
        leased.worker,
        leased.job.attempt
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.is_some())
}

/// Done for good.
pub(super) async fn update_done(conn: &mut PgConnection, leased: &Leased) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE jobs SET state = 'done', finished_at = clock_timestamp(), leased_by = NULL, leased_until = NULL
         WHERE job_id = $1 AND leased_by = $2 AND attempts = $3",
        leased.job.job_id,
        leased.worker,
        leased.job.attempt
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Done for now; due again after `wait`, with all its attempts.
pub(super) async fn update_again(
    conn: &mut PgConnection,
    leased: &Leased,
    wait: Duration,
) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE jobs SET run_at = clock_timestamp() + $4 * interval '1 second', attempts = 0,
                         leased_by = NULL, leased_until = NULL
         WHERE job_id = $1 AND leased_by = $2 AND attempts = $3",
        leased.job.job_id,
        leased.worker,
        leased.job.attempt,
        wait.as_secs_f64()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Failed; due again after `wait`, or stopped for good without one. No `error` leaves the one that is there.
pub(super) async fn update_failed(
    conn: &mut PgConnection,
    leased: &Leased,
    error: Option<&str>,
    wait: Option<Duration>,
) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE jobs SET state = CASE WHEN $5::float8 IS NULL THEN 'failed' ELSE state END,
                         finished_at = CASE WHEN $5::float8 IS NULL THEN clock_timestamp() END,
                         run_at = coalesce(clock_timestamp() + $5::float8 * interval '1 second', run_at),
                         attempts = CASE WHEN recurring THEN attempts ELSE least(attempts, max_attempts) END,
                         last_error = coalesce($4, last_error),
                         last_error_at = CASE WHEN $4::text IS NULL THEN last_error_at ELSE clock_timestamp() END,
                         leased_by = NULL, leased_until = NULL
         WHERE job_id = $1 AND leased_by = $2 AND attempts = $3",
        leased.job.job_id,
        leased.worker,
        leased.job.attempt,
        error,
        wait.map(|wait| wait.as_secs_f64())
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Given back untouched by a server that stops: the attempt does not count.
pub(super) async fn update_given_back(conn: &mut PgConnection, leased: &Leased) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE jobs SET attempts = attempts - 1, leased_by = NULL, leased_until = NULL
         WHERE job_id = $1 AND leased_by = $2 AND attempts = $3",
        leased.job.job_id,
        leased.worker,
        leased.job.attempt
    )
    .execute(conn)
    .await?;
    Ok(())
}
