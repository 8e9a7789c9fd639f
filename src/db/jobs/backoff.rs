//! How long a failed job waits for its next attempt. Pure: the random part is passed in.

use std::time::Duration;

/// The wait after the first failure, before jitter.
const FIRST: Duration = Duration::from_secs(1);

/// No wait is longer than this, jitter included.
pub const LONGEST: Duration = Duration::from_hours(1);

/// The wait after failed attempt number `attempt` (from 1): doubled each time and spread over half to all of
/// itself by `spread`, so that jobs which failed together do not come back together.
pub fn wait(attempt: i32, spread: u8) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0).min(20);
    let whole = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    whole / 2 + whole / 2 * u32::from(spread) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_wait_doubles_up_to_an_hour() {
        let waits: Vec<u64> = [1, 2, 3, 12, 13, 1000].map(|attempt| wait(attempt, u8::MAX).as_secs()).into();
        assert_eq!(waits, [1, 2, 4, 2048, 3600, 3600]);
        assert_eq!(wait(1, 0), Duration::from_millis(500));
    }

    proptest! {
        #[test]
        fn no_attempt_and_no_spread_leaves_the_bounds(attempt in any::<i32>(), spread in any::<u8>()) {
            let wait = wait(attempt, spread);
            prop_assert!(wait >= FIRST / 2 && wait <= LONGEST);
        }
    }
}
