//! How fast ids are used and when they end. Pure: from samples of the last number given out.
//!
//! Integers all the way to the date, because remaining × elapsed of a `bigint` passes what a float holds.

use time::{Duration, OffsetDateTime};

/// The span that a rate describes.
const WINDOW: Duration = Duration::DAY;
/// A younger sample counts as this old, so that the first minute of an import does not project a year of it.
const MIN_WINDOW: Duration = Duration::minutes(10);
const MICROSECONDS_PER_DAY: f64 = 86_400e6;

/// Where a sequence stood at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When, by the database's clock.
    pub at: OffsetDateTime,
    /// The last number given out.
    pub last: i64,
}

/// Ids used in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many, never negative.
    pub ids: i128,
    /// In how long, at least ten minutes.
    pub over: Duration,
}

impl Rate {
    /// Ids per day.
    pub fn per_day(&self) -> f64 {
        super::sequence::to_f64(self.ids) * MICROSECONDS_PER_DAY
            / super::sequence::to_f64(self.over.whole_microseconds())
    }
}

/// The rate over the last day: from the newest sample that is at least a day old, or from the oldest one
/// while there is none. Samples from before the sequence was set back count for nothing; `None` when
/// no sample is left. `earlier` may be in any order; samples that are not before `now` are ignored.
pub fn rate(now: Sample, earlier: &[Sample], increment: i64) -> Option<Rate> {
    let advance = |from: i64, to: i64| (i128::from(to) - i128::from(from)) * i128::from(increment.signum());
    let mut newest_first: Vec<Sample> = earlier.iter().copied().filter(|s| s.at < now.at).collect();
    newest_first.sort_by_key(|sample| std::cmp::Reverse(sample.at));

    let mut baseline = None;
    let mut later = now;
    for sample in newest_first {
        if advance(sample.last, later.last) < 0 {
            break;
        }
        baseline = Some(sample);
        later = sample;
        if now.at - sample.at >= WINDOW {
            break;
        }
    }
    baseline.map(|sample| Rate {
        ids: advance(sample.last, now.last) / i128::from(increment.unsigned_abs()).max(1),
        over: (now.at - sample.at).max(MIN_WINDOW),
    })
}

/// When the remaining ids end at this rate: `now` if none remain, `None` if none are used or if the date
/// is past the year 9999.
pub fn exhausted_at(now: OffsetDateTime, remaining: i128, rate: Option<Rate>) -> Option<OffsetDateTime> {
    if remaining <= 0 {
        return Some(now);
    }
    let rate = rate.filter(|rate| rate.ids > 0)?;
    let microseconds = remaining.checked_mul(rate.over.whole_microseconds())? / rate.ids;
    let seconds = i64::try_from(microseconds / 1_000_000).ok()?;
    now.checked_add(Duration::seconds(seconds)).filter(|date| date.year() <= 9999)
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
