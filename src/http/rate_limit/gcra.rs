//! One rate limit, pure: the generic cell rate algorithm (ITU-T I.371), which is a token bucket that needs a single
//! number a client, the time at which its bucket will be full again. Times are nanoseconds of a monotonic clock.

/// How much is allowed: a burst at once, and a rate at which it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// As the headers call it.
    pub name: &'static str,
    /// Nanoseconds in which one request comes back.
    interval: u64,
    burst: u64,
}

const SECOND: u64 = 1_000_000_000;

impl Policy {
    /// A policy; None where a number is 0: no limit.
    pub fn new(name: &'static str, per_second: u32, burst: u32) -> Option<Self> {
        let interval = SECOND.checked_div(per_second.into())?.max(1);
        (burst > 0).then_some(Self { name, interval, burst: burst.into() })
    }

    /// Requests at once.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Seconds in which an empty bucket is full again.
    pub fn window_seconds(&self) -> u64 {
        seconds(self.capacity())
    }

    fn capacity(&self) -> u64 {
        self.interval.saturating_mul(self.burst)
    }

    /// Where a client whose bucket will be full at `full_at` stands now.
    pub fn look(&self, full_at: u64, now: u64) -> Standing {
        let missing = full_at.saturating_sub(now).min(self.capacity());
        let left = (self.capacity() - missing) / self.interval;
        let wait = (left == 0).then(|| missing + self.interval - self.capacity());
        Standing { policy: *self, left, missing, wait }
    }

    /// Takes one request if there is one: when the bucket will be full now, and where the client stands then.
    pub fn take(&self, full_at: u64, now: u64) -> (u64, Standing) {
        let before = self.look(full_at, now);
        if before.is_refused() {
            return (full_at, before);
        }
        let full_at = full_at.max(now).saturating_add(self.interval);
        (full_at, Standing { wait: None, ..self.look(full_at, now) })
    }
}

/// Where a client stands with a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// With which.
    pub policy: Policy,
    /// Requests that would be allowed now.
    pub left: u64,
    missing: u64,
    /// Nanoseconds until the next one is allowed, of a request that is not.
    wait: Option<u64>,
}

impl Standing {
    /// Whether the request is not allowed.
    pub fn is_refused(&self) -> bool {
        self.wait.is_some()
    }

    /// Seconds until the next request is allowed, at least 1.
    pub fn wait_seconds(&self) -> u64 {
        seconds(self.wait.unwrap_or_default()).max(1)
    }

    /// Seconds until the bucket is full.
    pub fn full_in_seconds(&self) -> u64 {
        seconds(self.missing)
    }
}

/// Whole seconds, rounded up, so that nobody is told to come too early.
fn seconds(nanoseconds: u64) -> u64 {
    nanoseconds.div_ceil(SECOND)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_passes_at_once_then_one_an_interval() {
        let policy = Policy::new("x", 2, 3).expect("a policy");
        let mut full_at = 0;
        let mut take = |now| {
            let standing;
            (full_at, standing) = policy.take(full_at, now);
            (standing.is_refused(), standing.left)
        };
        assert_eq!([take(SECOND), take(SECOND), take(SECOND)], [(false, 2), (false, 1), (false, 0)]);
        assert_eq!(take(SECOND), (true, 0));
        assert_eq!(take(SECOND * 3 / 2 - 1), (true, 0));
        assert_eq!(take(SECOND * 3 / 2), (false, 0));
        assert_eq!(take(SECOND * 10), (false, 2));
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!((Policy::new("x", 0, 3), Policy::new("x", 3, 0)), (None, None));
    }

    proptest! {
        #[test]
        fn in_any_stretch_of_time_no_more_passes_than_the_burst_and_what_came_back(
            per_second in 1_u32..5_000, burst in 1_u32..100,
            steps in prop::collection::vec(0_u64..SECOND / 10, 1..300),
        ) {
            let policy = Policy::new("x", per_second, burst).expect("a policy");
            let (mut full_at, mut now) = (0, SECOND);
            let mut passed: Vec<u64> = Vec::new();
            for step in steps {
                now += step;
                let standing;
                (full_at, standing) = policy.take(full_at, now);
                if !standing.is_refused() {
                    passed.push(now);
                }
            }
            for (first, begin) in passed.iter().enumerate() {
                for (last, end) in passed.iter().enumerate().skip(first) {
                    let count = u64::try_from(last - first + 1).expect("few");
                    prop_assert!(count <= policy.burst + (end - begin) / policy.interval);
                }
            }
        }

        #[test]
        fn who_waits_as_told_is_served_and_who_comes_sooner_than_the_interval_is_not(
            per_second in 1_u32..5_000, burst in 1_u32..100, full_in in 0_u64..u64::MAX / 4, now in 0_u64..u64::MAX / 4,
        ) {
            let policy = Policy::new("x", per_second, burst).expect("a policy");
            let full_at = now + full_in % (policy.capacity() + 1);
            if let Some(wait) = policy.look(full_at, now).wait {
                prop_assert!(!policy.take(full_at, now + wait).1.is_refused());
                prop_assert!(policy.take(full_at, now + wait - 1).1.is_refused());
            } else {
                let (after, standing) = policy.take(full_at, now);
                prop_assert_eq!(standing.left + 1, policy.look(full_at, now).left);
                prop_assert!(after - now <= policy.capacity());
            }
        }
    }
}
