//! Forgets jobs that were done a week ago. Those that failed stay until somebody has looked at them.

use sqlx::PgConnection;

use super::kinds::{Done, Job, Running};
use crate::db::Error;

/// Name of the kind.
pub const KIND: &str = "prune_jobs";

/// Rows a run, so that it is short.
const PORTION: i64 = 1_000;

/// Deletes one portion.
pub fn run<'a>(_: &'a Job, conn: &'a mut PgConnection) -> Running<'a> {
    Box::pin(async move {
        let deleted = delete_done(conn, PORTION).await?;
        Ok(if deleted < PORTION.unsigned_abs() { Done::Finished } else { Done::More })
    })
}

/// Deletes at most `limit` of the jobs that were done more than seven days ago, oldest first; how many it were.
pub async fn delete_done(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "DELETE FROM jobs WHERE job_id = ANY (ARRAY(
             SELECT job_id FROM jobs WHERE state = 'done' AND finished_at < now() - interval '7 days'
             ORDER BY finished_at LIMIT $1))",
        limit
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected())
}
