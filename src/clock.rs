//! The process clock. Everything that needs the time takes it from here, so that tests can freeze it.
//! It never judges a deadline: for ballots and deadlines the database's own clock alone counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use time::{Duration, OffsetDateTime};

/// A source of the current time (UTC). Cheap to clone; clones of a frozen clock share their time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// Since when [`Clock::monotonic`] counts.
    System(Instant),
    Frozen(Arc<Mutex<OffsetDateTime>>),
}

impl Clock {
    /// The operating system's clock.
    pub fn system() -> Self {
        Self(Source::System(Instant::now()))
    }

    /// A clock that stands at `at` until [`Clock::advance`] moves it.
    pub fn frozen(at: OffsetDateTime) -> Self {
        Self(Source::Frozen(Arc::new(Mutex::new(at))))
    }

    /// The current time, cut to microseconds, which is what PostgreSQL stores.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system clock")]
    pub fn now(&self) -> OffsetDateTime {
        let now = match &self.0 {
            Source::System(_) => OffsetDateTime::now_utc(),
            Source::Frozen(at) => *at.lock().unwrap_or_else(PoisonError::into_inner),
        };
        now.replace_microsecond(now.microsecond()).unwrap_or(now)
    }

    /// Nanoseconds since some moment before, never running backwards: for intervals within this process.
    pub fn monotonic(&self) -> u64 {
        match &self.0 {
            Source::System(origin) => u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Source::Frozen(_) => u64::try_from(self.now().unix_timestamp_nanos()).unwrap_or_default(),
        }
    }

    /// Moves a frozen clock; a system clock is not moved.
    pub fn advance(&self, by: Duration) {
        if let Source::Frozen(at) = &self.0 {
            *at.lock().unwrap_or_else(PoisonError::into_inner) += by;
        }
    }
}
