//! Whose turn it is. A closed loop gives the next turn to whoever is free. An open loop has a fixed schedule: a turn is
//! due at its time whether or not anybody is free, and latency counts from then, so that a server that stalls cannot
//! hide the requests that waited (no coordinated omission).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// What is due within one tick of an open loop leaves together, at its end.
pub const TICK: Duration = Duration::from_micros(500);

/// Gives out turns 0, 1, 2 … to all connections of a run.
#[derive(Debug)]
pub struct Pace {
    rate: Option<f64>,
    duration: Option<Duration>,
    next: AtomicU64,
    /// Turns from here on are not taken.
    limit: AtomicU64,
    begun: OnceLock<Instant>,
    stopped: AtomicBool,
    due: Semaphore,
}

impl Pace {
    /// `total` turns; with a `rate`, so many a second; not beyond `duration`.
    pub fn new(total: u64, rate: Option<f64>, duration: Option<Duration>) -> Self {
        Self {
            rate,
            duration,
            next: AtomicU64::new(0),
            limit: AtomicU64::new(total),
            begun: OnceLock::new(),
            stopped: AtomicBool::new(false),
            due: Semaphore::new(0),
        }
    }

    /// The moment of the first turn: now, when it is asked for the first time.
    pub fn begun(&self) -> Instant {
        *self.begun.get_or_init(Instant::now)
    }

    /// No more turns.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The next turn and the moment from which its latency counts; none when there are no more.
    pub async fn next(&self) -> Option<(u64, Instant)> {
        if let Some(rate) = self.rate {
            self.due.acquire().await.ok()?.forget();
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let taken = turn < self.limit.load(Ordering::Acquire);
            return taken.then(|| (turn, self.begun() + due(turn, rate)));
        }
        let now = Instant::now();
        if self.is_over(now) {
            return None;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        (turn < self.limit.load(Ordering::Relaxed)).then_some((turn, now))
    }

    /// Keeps the schedule of an open loop until it is over, then lets `waiting` connections see that it is. Blocks its
    /// thread, because a runtime's timers are no finer than a millisecond. Returns at once in a closed loop.
    pub fn keep(&self, waiting: usize) {
        let Some(rate) = self.rate else { return };
        let begun = self.begun();
        let total = self.limit.load(Ordering::Relaxed);
        let mut released = 0;
        while released < total && !self.is_over(begun + due(released, rate)) {
            std::thread::sleep((begun + due(released, rate)).saturating_duration_since(Instant::now()));
            let elapsed = begun.elapsed();
            let before = released;
            while released < total && due(released, rate) <= elapsed {
                released += 1;
            }
            self.due.add_permits(usize::try_from(released - before).unwrap_or(0));
        }
        self.limit.store(released, Ordering::Release);
        self.due.add_permits(waiting);
    }

    fn is_over(&self, now: Instant) -> bool {
        let late = self.duration.is_some_and(|duration| now >= self.begun() + duration);
        late || self.stopped.load(Ordering::Relaxed)
    }
}

/// When a turn is due after the first, rounded up to a tick.
fn due(turn: u64, rate: f64) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "2^53 turns are more than any run has")]
    let exact = Duration::try_from_secs_f64(turn as f64 / rate).unwrap_or(Duration::MAX / 4);
    let ticks = exact.as_nanos().div_ceil(TICK.as_nanos());
    TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_schedule_never_runs_ahead_of_its_rate_nor_a_tick_behind(turn in 0_u32..1_000_000, rate in 1.0_f64..100_000.0) {
            let exact = f64::from(turn) / rate;
            let at = due(turn.into(), rate).as_secs_f64();
            prop_assert!(at >= exact - 1e-9 && at <= exact + TICK.as_secs_f64() + 1e-9, "{at} for {exact}");
            prop_assert!(due(u64::from(turn) + 1, rate) >= due(turn.into(), rate));
        }
    }

    #[tokio::test]
    async fn a_closed_loop_gives_each_turn_once_and_then_none() {
        let pace = Pace::new(3, None, None);
        let mut turns = Vec::new();
        while let Some((turn, _)) = pace.next().await {
            turns.push(turn);
        }
        assert_eq!(turns, [0, 1, 2]);
        assert!(pace.next().await.is_none());
    }

    #[tokio::test]
    async fn nobody_gets_a_turn_after_a_stop() {
        let pace = Pace::new(u64::MAX, None, None);
        assert!(pace.next().await.is_some());
        pace.stop();
        assert!(pace.next().await.is_none());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn latency_of_an_open_loop_counts_from_the_schedule_though_nobody_was_free() {
        let pace = std::sync::Arc::new(Pace::new(u64::MAX, Some(1_000.0), Some(Duration::from_millis(50))));
        let begun = pace.begun();
        let keeper = std::sync::Arc::clone(&pace);
        let kept = tokio::task::spawn_blocking(move || keeper.keep(1));
        tokio::time::sleep(Duration::from_millis(80)).await;
        kept.await.unwrap();
        let mut taken = 0;
        while let Some((turn, due)) = pace.next().await {
            assert_eq!(due - begun, Duration::from_millis(turn));
            taken += 1;
        }
        assert_eq!(taken, 50);
    }
}
