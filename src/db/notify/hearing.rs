//! How far back this process has heard everything. What was read since then may be remembered for longer,
//! because a change would have been heard. A connection that looks alive but is dead is not believed for long:
//! only a round trip over it proves that what was sent before has arrived.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::gauge;
use tokio::time::Instant;

use crate::telemetry::metrics::LISTEN_CONNECTED;

/// How long a round trip proves that the connection lives. It bounds what a lost connection can hide.
pub const BELIEVED: Duration = Duration::from_secs(1);

/// The state of the LISTEN connection, shared by those who remember. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Hearing(Arc<Mutex<Option<Connected>>>);

#[derive(Clone, Copy, Debug)]
struct Connected {
    since: Instant,
    proven: Instant,
}

impl Hearing {
    /// Deaf, until [`Hearing::connected`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everything announced since `instant` has been heard, up to [`BELIEVED`] ago.
    pub fn covers(&self, instant: Instant) -> bool {
        self.get().is_some_and(|state| state.since <= instant && state.proven.elapsed() < BELIEVED)
    }

    /// Whether the connection is believed to live.
    pub fn is_connected(&self) -> bool {
        self.get().is_some_and(|state| state.proven.elapsed() < BELIEVED)
    }

    /// LISTEN has been answered: everything from now on is heard. What was read before counts as not covered,
    /// which is all the flush that a gap needs, and leaves it there for when the database is away.
    pub fn connected(&self) {
        let now = Instant::now();
        self.set(Some(Connected { since: now, proven: now }));
    }

    /// A round trip that began at `begun` was answered.
    pub fn proven(&self, begun: Instant) {
        if let Some(state) = self.lock().as_mut() {
            state.proven = begun;
        }
    }

    /// The connection is gone, or was not made. Whether there was one.
    pub fn lost(&self) -> bool {
        let lived = self.get().is_some();
        self.set(None);
        lived
    }

    fn get(&self) -> Option<Connected> {
        *self.lock()
    }

    fn set(&self, state: Option<Connected>) {
        *self.lock() = state;
        gauge!(LISTEN_CONNECTED).set(if state.is_some() { 1.0 } else { 0.0 });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Connected>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_was_read_since_the_connection_was_made_is_covered() {
        let hearing = Hearing::new();
        let before = Instant::now();
        assert!(!hearing.covers(before));
        tokio::time::advance(Duration::from_millis(1)).await;
        hearing.connected();
        assert!(!hearing.covers(before) && hearing.covers(Instant::now()));
        hearing.lost();
        assert!(!hearing.covers(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_answers_no_more_is_believed_for_a_second() {
        let hearing = Hearing::new();
        hearing.connected();
        let read = Instant::now();
        tokio::time::advance(Duration::from_millis(600)).await;
        hearing.proven(Instant::now());
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(hearing.covers(read) && hearing.is_connected());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!hearing.covers(read) && !hearing.is_connected());
    }
}
