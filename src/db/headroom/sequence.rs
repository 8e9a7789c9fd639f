//! How many numbers a sequence can still give to its column. Pure arithmetic, in 128 bits because the
//! width of a full `bigint` range does not fit in 64.
//!
//! Cached blocks need no arithmetic: `last_value` is advanced by a whole block when a session takes one,
//! so numbers that a session may yet lose already count as given out.

use serde::Serialize;

/// Definition of a sequence, as in `pg_sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceDefinition {
    /// Smallest number it gives.
    pub min: i64,
    /// Largest number it gives.
    pub max: i64,
    /// Step; negative for a descending sequence, never 0 (PostgreSQL refuses that).
    pub increment: i64,
    /// Whether it starts again at the other end instead of failing (`CYCLE`).
    pub cycles: bool,
}

/// Where a sequence stands, read from the sequence itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequencePosition {
    /// The last number given out, or the next one where `is_called` is false.
    pub last_value: i64,
    /// False after creation, `RESTART` and `setval(…, false)`: `last_value` has not been given out yet.
    pub is_called: bool,
}

/// Numbers that fit in a column, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// Smallest number that fits.
    pub min: i64,
    /// Largest number that fits.
    pub max: i64,
}

impl IdRange {
    /// `smallint`.
    pub const SMALLINT: Self = Self { min: -0x8000, max: 0x7fff };
    /// `integer`.
    pub const INTEGER: Self = Self { min: -0x8000_0000, max: 0x7fff_ffff };
    /// `bigint`, and everything that is wider than any sequence.
    pub const BIGINT: Self = Self { min: i64::MIN, max: i64::MAX };

    /// `numeric(precision, scale)`: ±(10^(precision − scale) − 1), as far as a sequence can count.
    pub fn of_numeric(precision: u32, scale: i32) -> Self {
        let digits = i64::from(precision) - i64::from(scale);
        let max = match u32::try_from(digits) {
            Ok(digits) => 10_i64.checked_pow(digits).map_or(i64::MAX, |bound| bound - 1),
            Err(_) => 0,
        };
        if max == i64::MAX { Self::BIGINT } else { Self { min: -max, max } }
    }

    /// The numbers that are in both.
    #[must_use]
    pub fn narrowed_by(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.min(other.max) }
    }
}

/// What ends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The sequence refuses to go on.
    Sequence,
    /// The column cannot hold the next number, though the sequence would give it.
    Column,
    /// Nothing: the sequence cycles and its column may repeat numbers.
    Nothing,
}

/// What a sequence can still do for one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The last number given out. Before the first one: the number one step before the next.
    pub last: i64,
    /// The last number that can be given out (of a descending sequence, its smallest).
    pub end: i64,
    /// How many numbers can still be given out.
    pub remaining: i128,
    /// How many numbers the range holds in all, at the present step.
    pub total: i128,
    /// What ends it.
    pub limited_by: LimitedBy,
}

impl Capacity {
    /// Judges a sequence for a column.
    ///
    /// `may_repeat` says that no unique index covers the column. A sequence with `CYCLE` ends nowhere for
    /// such a column; for a unique one it is judged to its wrap, where it begins to collide. The share is
    /// taken of the whole range from its beginning, not from `START`: a sequence that was created 100
    /// below its end is as near to it as one that counted there.
    pub fn of(
        sequence: SequenceDefinition,
        position: SequencePosition,
        column: IdRange,
        may_repeat: bool,
    ) -> Self {
        let own = IdRange { min: sequence.min, max: sequence.max };
        let both = own.narrowed_by(column);
        let sign = i128::from(sequence.increment.signum());
        let step = i128::from(sequence.increment.unsigned_abs()).max(1);
        let (begin, end, own_end) =
            if sign < 0 { (both.max, both.min, own.min) } else { (both.min, both.max, own.max) };

        let numbers = |from: i128| match (i128::from(end) - from) * sign {
            distance if distance < 0 => 0,
            distance => distance / step + 1,
        };
        let total = numbers(i128::from(begin));
        let mut limited_by = if end == own_end { LimitedBy::Sequence } else { LimitedBy::Column };
        if limited_by == LimitedBy::Sequence && sequence.cycles && may_repeat {
            limited_by = LimitedBy::Nothing;
        }

        let (last, next) = if position.is_called {
            (position.last_value, i128::from(position.last_value) + i128::from(sequence.increment))
        } else {
            (position.last_value.saturating_sub(sequence.increment), i128::from(position.last_value))
        };
        let remaining = if limited_by == LimitedBy::Nothing { total } else { numbers(next).min(total) };
        Self { last, end, remaining, total, limited_by }
    }

    /// How many numbers of the range are behind: small while a sequence is young, so a float holds it
    /// exactly where the remaining 9.2e18 would move in steps of 1,024.
    pub fn used(&self) -> i128 {
        self.total - self.remaining
    }

    /// The share that remains, 0 (none) to 1 (all).
    pub fn ratio(&self) -> f64 {
        if self.total == 0 { 0.0 } else { to_f64(self.remaining) / to_f64(self.total) }
    }
}

/// A count as a float, for shares and gauges, which are floats by nature.
#[expect(clippy::cast_precision_loss, reason = "53 bits are enough for a share and for a gauge")]
pub(super) fn to_f64(count: i128) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
