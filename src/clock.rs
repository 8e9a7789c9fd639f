//! The process clock. Everything that needs the time takes it from here, so that tests can freeze it.
//! It never judges a deadline: for ballots and deadlines the database's own clock alone counts.

use std::sync::{Arc, Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

/// A source of the current time (UTC). Cheap to clone; clones of a frozen clock share their time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Frozen(Arc<Mutex<OffsetDateTime>>),
}

impl Clock {
    /// The operating system's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at `at` until [`Clock::advance`] moves it.
    pub fn frozen(at: OffsetDateTime) -> Self {
        Self(Source::Frozen(Arc::new(Mutex::new(at))))
    }

    /// The current time, cut to microseconds, which is what PostgreSQL stores.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system clock")]
    pub fn now(&self) -> OffsetDateTime {
        let now = match &self.0 {
            Source::System => OffsetDateTime::now_utc(),
            Source::Frozen(at) => *at.lock().unwrap_or_else(PoisonError::into_inner),
        };
        now.replace_microsecond(now.microsecond()).unwrap_or(now)
    }

    /// Moves a frozen clock; a system clock is not moved.
    pub fn advance(&self, by: Duration) {
        if let Source::Frozen(at) = &self.0 {
            *at.lock().unwrap_or_else(PoisonError::into_inner) += by;
        }
    }
}
