//! A job that fails at its first attempt and succeeds at the second: with it a drill sees the retry at work on a
//! running server. It does nothing else.

use sqlx::PgConnection;

use super::kinds::{Done, Job, Running};

/// Name of the kind.
pub const KIND: &str = "probe";

/// Fails at the first attempt.
pub fn run<'a>(job: &'a Job, _: &'a mut PgConnection) -> Running<'a> {
    Box::pin(std::future::ready(match job.attempt {
        1 => Err("a probe fails at its first attempt, on purpose".into()),
        _ => Ok(Done::Finished),
    }))
}
