//! Latencies in buckets whose width grows with the value: bounded memory, and every percentile right to within one
//! part in 128 upwards. The maximum is exact.

use std::time::Duration;

/// Buckets to each doubling.
const STEPS: u64 = 128;
/// Doublings beyond the first two rows of buckets: more than a year in microseconds.
const DOUBLINGS: u64 = 38;

/// Counts of latencies, in microseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let size = usize::try_from((DOUBLINGS + 2) * STEPS).unwrap_or_default();
        Self { buckets: vec![0; size], count: 0, max: 0 }
    }
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let last = self.buckets.len() - 1;
        self.buckets[place(micros).min(last)] += 1;
        self.count += 1;
        self.max = self.max.max(micros);
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value that at least `permille` thousandths of all do not exceed (nearest rank), in milliseconds;
    /// 0 where nothing was counted.
    pub fn permille_ms(&self, permille: u64) -> f64 {
        let rank = (self.count * permille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            seen += bucket;
            if seen >= rank {
                return millis(top(index).min(self.max));
            }
        }
        millis(self.max)
    }

    /// The largest value, in milliseconds.
    pub fn max_ms(&self) -> f64 {
        millis(self.max)
    }
}

/// The bucket of a value: itself below two rows of steps, then one row for each doubling.
fn place(micros: u64) -> usize {
    let doublings = (u64::BITS - micros.leading_zeros()).saturating_sub(8);
    usize::try_from(u64::from(doublings) * STEPS + (micros >> doublings)).unwrap_or(usize::MAX)
}

/// The largest value of a bucket.
fn top(index: usize) -> u64 {
    let index = index as u64;
    let doublings = (index / STEPS).saturating_sub(1);
    ((index - doublings * STEPS + 1) << doublings) - 1
}

fn millis(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for value in values {
            histogram.record(Duration::from_micros(*value));
        }
        histogram
    }

    #[test]
    fn nothing_counted_is_zero() {
        assert!(Histogram::default().permille_ms(990) < f64::EPSILON);
    }

    #[test]
    fn a_value_is_in_the_bucket_whose_top_is_not_below_it() {
        for value in (0..2_000).chain((10..40).map(|power| 1 << power)) {
            let index = place(value);
            assert!(top(index) >= value, "{value}");
            assert!(index == 0 || top(index - 1) < value, "{value}");
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values_to_within_a_hundredth(
            mut values in prop::collection::vec(0_u64..10_000_000, 1..300), permille in 1_u64..=1000,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() as u64 * permille).div_ceil(1000);
            let exact = millis(values[usize::try_from(rank).unwrap() - 1]);
            let found = histogram.permille_ms(permille);
            prop_assert!(found >= exact && found <= exact * 1.01 + 1e-9, "{found} for {exact}");
            prop_assert!(found <= histogram.max_ms());
        }

        #[test]
        fn two_halves_are_the_whole(values in prop::collection::vec(0_u64..1_000_000, 0..200), cut in 0_usize..200) {
            let (one, other) = values.split_at(cut.min(values.len()));
            let mut merged = of(one);
            merged.merge(&of(other));
            let whole = of(&values);
            prop_assert_eq!(merged.buckets, whole.buckets);
            prop_assert_eq!((merged.count, merged.max), (whole.count, whole.max));
        }
    }
}
