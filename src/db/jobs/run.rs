//! One run of one job: lease, hold the row, handler, end. The handler's writes and the job's end are one
//! transaction; an error takes back what the handler wrote and is recorded without letting go of the row.
//!
//! When the next run comes is `worker`'s business.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use metrics::counter;
use sqlx::pool::PoolConnection;
use sqlx::{Acquire, Connection, PgConnection, Postgres};

use super::backoff;
use super::kinds::{Done, Failure, Kind};
use super::store::{self, Leased};
use super::survey::JOB_RUNS;
use super::worker::Worker;
use crate::db::{BEGIN, Error};

/// Longest error text that is kept, in characters.
const LONGEST_ERROR: usize = 2_000;

/// How a handler came to its end.
enum Ended {
    /// By itself.
    Answered(Result<Done, Failure>),
    /// It took longer than a run may.
    TimedOut,
    /// The process stops and cannot wait for it.
    Stopped,
}

/// What an attempt leaves to do.
enum Left {
    /// Nothing: the row says how it ended. The outcome.
    Recorded(&'static str),
    /// To record this failure on another connection, or without one to give the job back.
    Unrecorded(Option<Failure>),
}

impl Worker {
    /// Takes and runs the next due job of a lane. False if none was due.
    pub(super) async fn run_next(&self, recurring: bool) -> Result<bool, Error> {
        let mut conn = self.pool.acquire().await?;
        let (kinds, lease) = (self.kinds.names_of(recurring), self.pace.lease);
        let Some(leased) = store::lease_due(&mut conn, &kinds, recurring, self.id, lease).await? else {
            return Ok(false);
        };
        let Some(kind) = self.kinds.find(&leased.job.kind) else { return Ok(false) };
        let outcome = if leased.max_attempts.is_some_and(|most| leased.job.attempt > most) {
            // The last attempt was lost with its server, again and again: perhaps this job is why.
            store::update_failed(&mut conn, &leased, None, None).await?;
            tracing::error!(
                job = leased.job.job_id,
                kind = leased.job.kind,
                "a job took its servers down, it stops"
            );
            Ok("stopped")
        } else {
            self.run(conn, kind, &leased).await
        };
        let label = *outcome.as_ref().unwrap_or(&"lost");
        counter!(JOB_RUNS, "kind" => leased.job.kind, "outcome" => label).increment(1);
        outcome.map(|_| true)
    }

    /// One attempt with its end; the outcome is the metric's label.
    async fn run(
        &self,
        mut conn: PoolConnection<Postgres>,
        kind: &Kind,
        leased: &Leased,
    ) -> Result<&'static str, Error> {
        let unrecorded = match self.attempt(&mut conn, kind, leased).await? {
            Left::Recorded(outcome) => return Ok(outcome),
            Left::Unrecorded(failure) => failure,
        };
        // On its way back into the pool it is rolled back, once PostgreSQL has answered what was under way; until
        // then the first statement of the other one waits for the row.
        drop(conn);
        let mut other = self.pool.acquire().await?;
        match unrecorded {
            Some(failure) => self.record(&mut other, kind, leased, &failure).await,
            None => store::update_given_back(&mut other, leased).await.map(|()| "given_back"),
        }
    }

    /// The transaction of an attempt.
    async fn attempt(&self, conn: &mut PgConnection, kind: &Kind, leased: &Leased) -> Result<Left, Error> {
        let mut tx = conn.begin_with(BEGIN).await?;
        if !store::lock_leased(&mut tx, leased).await? {
            return Ok(Left::Recorded("lost"));
        }
        let mut savepoint = tx.begin().await?;
        match self.handle(kind, leased, &mut savepoint).await {
            Ended::Answered(Ok(done)) => match savepoint.commit().await {
                Ok(()) => {
                    finish(&mut tx, kind, leased, done).await?;
                    tx.commit().await.map_err(|error| Error::from(error).during_commit())?;
                    Ok(Left::Recorded("done"))
                }
                // It passed over an error of its own: nothing of it can be committed.
                Err(error) => Ok(Left::Unrecorded(Some(error.into()))),
            },
            Ended::Answered(Err(failure)) => match savepoint.rollback().await {
                Ok(()) => {
                    let outcome = self.record(&mut tx, kind, leased, &failure).await?;
                    tx.commit().await?;
                    Ok(Left::Recorded(outcome))
                }
                Err(_) => Ok(Left::Unrecorded(Some(failure))),
            },
            Ended::TimedOut => {
                let failure = format!("took longer than {:?}", self.pace.longest_run);
                Ok(Left::Unrecorded(Some(failure.into())))
            }
            Ended::Stopped => Ok(Left::Unrecorded(None)),
        }
    }

    /// Runs the handler to its end, to the limit of a run, or to the end of the process and a little longer.
    async fn handle(&self, kind: &Kind, leased: &Leased, conn: &mut PgConnection) -> Ended {
        let running = AssertUnwindSafe(async { (kind.handler)(&leased.job, conn).await }).catch_unwind();
        let stopped = async {
            self.tasks.stopping().cancelled().await;
            tokio::time::sleep(self.pace.grace).await;
        };
        tokio::select! {
            answer = running => Ended::Answered(answer.unwrap_or_else(|_| Err("the handler panicked".into()))),
            () = tokio::time::sleep(self.pace.longest_run) => Ended::TimedOut,
            () = stopped => Ended::Stopped,
        }
    }

    /// Records a failure and when the next attempt is; the outcome. A recurring job keeps its pace, so that one
    /// thing it cannot do keeps nothing else waiting longer than that.
    async fn record(
        &self,
        conn: &mut PgConnection,
        kind: &Kind,
        leased: &Leased,
        failure: &Failure,
    ) -> Result<&'static str, Error> {
        let job = &leased.job;
        let error = text_of(failure.as_ref());
        let over = leased.max_attempts.is_some_and(|most| job.attempt >= most);
        let [spread] = self.ids.bytes();
        let wait = backoff::wait(job.attempt, spread);
        let wait = (!over).then(|| kind.every.map_or(wait, |every| wait.min(every)));
        store::update_failed(conn, leased, Some(&error), wait).await?;
        if over {
            tracing::error!(job = job.job_id, kind = job.kind, attempt = job.attempt, error, "a job gave up");
            return Ok("stopped");
        }
        tracing::warn!(job = job.job_id, kind = job.kind, attempt = job.attempt, error, "a job failed");
        Ok("failed")
    }
}

async fn finish(conn: &mut PgConnection, kind: &Kind, leased: &Leased, done: Done) -> Result<(), Error> {
    match (done, kind.every) {
        (Done::More, _) => store::update_again(conn, leased, Duration::ZERO).await,
        (Done::Finished, Some(every)) => store::update_again(conn, leased, every).await,
        (Done::Finished, None) => store::update_done(conn, leased).await,
    }
}

/// An error with what caused it, at a bounded length.
fn text_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let said = source.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = source.source();
    }
    // PostgreSQL's text holds no NUL.
    text.chars().filter(|character| *character != '\0').take(LONGEST_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("it went wrong")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn an_error_is_kept_with_its_cause_and_at_a_bounded_length() {
        assert_eq!(text_of(&Outer(std::io::Error::other("no\0 room"))), "it went wrong: no room");
        let long = std::io::Error::other("é".repeat(LONGEST_ERROR + 1));
        assert_eq!(text_of(&long).chars().count(), LONGEST_ERROR);
    }
}
