//! Whether the database answers, as far as those can tell who would rather answer from memory than wait. After
//! a failure it counts as unreachable for a moment, in which nobody asks it; then one asks, and the others go
//! on without it until that one knows. It serves reads only: writes always try.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics::gauge;
use tokio::time::Instant;

use super::Error;
use crate::telemetry::metrics::DB_REACHABLE;

/// Longest time that a question waits, for a connection and the answer together.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// How long the database is left alone after a failure.
const PAUSE: Duration = Duration::from_millis(250);

/// Knows whether the last question was answered.
#[derive(Debug, Default)]
pub struct Reachability {
    /// While the database counts as unreachable: when it may be asked again.
    retry_at: Mutex<Option<Instant>>,
}

impl Reachability {
    /// Asks the database, unless it counts as unreachable. Gives up after [`PATIENCE`].
    pub async fn ask<T>(&self, question: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        if !self.may_ask() {
            return Err(Error::Unavailable("the last question was not answered, it is not asked now".into()));
        }
        let answer = tokio::time::timeout(PATIENCE, question)
            .await
            .unwrap_or_else(|elapsed| Err(Error::Timeout(Box::new(elapsed))));
        self.note(is_absence(&answer));
        answer
    }

    /// Whether it counts as unreachable.
    pub fn is_lost(&self) -> bool {
        self.retry_at.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// One question at a time while the database counts as unreachable. If that one is dropped, the next may
    /// ask when its time would have been over.
    fn may_ask(&self) -> bool {
        let mut retry_at = self.retry_at.lock().unwrap_or_else(PoisonError::into_inner);
        match *retry_at {
            None => true,
            Some(at) if at <= Instant::now() => {
                *retry_at = Some(Instant::now() + PATIENCE + PAUSE);
                true
            }
            Some(_) => false,
        }
    }

    fn note(&self, absent: bool) {
        let mut retry_at = self.retry_at.lock().unwrap_or_else(PoisonError::into_inner);
        if absent != retry_at.is_some() {
            gauge!(DB_REACHABLE).set(if absent { 0.0 } else { 1.0 });
            if absent {
                tracing::warn!("the database does not answer: known names are answered from memory");
            } else {
                tracing::info!("the database answers again");
            }
        }
        *retry_at = absent.then(|| Instant::now() + PAUSE);
    }
}

/// Whether this is the absence of the database, or of a connection to it, and no answer.
fn is_absence<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Unavailable(_) | Error::Timeout(_)))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    async fn fails(reachability: &Reachability) -> Result<(), Error> {
        reachability.ask(ready(Err(Error::Unavailable("away".into())))).await
    }

    async fn answers(reachability: &Reachability) -> bool {
        reachability.ask(ready(Ok(()))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_nobody_asks_for_a_moment_and_then_one_does() {
        let reachability = Reachability::default();
        assert!(answers(&reachability).await);
        assert!(fails(&reachability).await.is_err());
        assert!(!answers(&reachability).await, "left alone");
        tokio::time::advance(PAUSE).await;
        let (one, other) = tokio::join!(reachability.ask(pending::<Result<(), Error>>()), async {
            tokio::task::yield_now().await;
            answers(&reachability).await
        });
        assert!(matches!(one, Err(Error::Timeout(_))), "bounded");
        assert!(!other, "one asks, the others do not wait for it");
        tokio::time::advance(PAUSE).await;
        assert!(answers(&reachability).await);
        assert!(answers(&reachability).await, "it is back for everybody");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_dropped_does_not_leave_the_database_unreachable_for_ever() {
        let reachability = Reachability::default();
        assert!(fails(&reachability).await.is_err());
        tokio::time::advance(PAUSE).await;
        assert!(reachability.may_ask());
        assert!(!answers(&reachability).await);
        tokio::time::advance(PATIENCE + PAUSE).await;
        assert!(answers(&reachability).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_is_an_answer_leaves_it_reachable() {
        let reachability = Reachability::default();
        let answer: Result<(), Error> = reachability.ask(ready(Err(Error::Internal("syntax".into())))).await;
        assert!(answer.is_err() && answers(&reachability).await);
    }
}
