//! Tests of the arithmetic: examples that people meet, and a model that really counts.

use proptest::prelude::*;

use super::*;

const BIG: SequenceDefinition = SequenceDefinition { min: 1, max: i64::MAX, increment: 1, cycles: false };

fn called(last_value: i64) -> SequencePosition {
    SequencePosition { last_value, is_called: true }
}

fn next_is(last_value: i64) -> SequencePosition {
    SequencePosition { last_value, is_called: false }
}

#[test]
fn a_new_bigint_sequence_has_everything_left() {
    let capacity = Capacity::of(BIG, next_is(1), IdRange::BIGINT, false);
    assert_eq!(capacity.remaining, i128::from(i64::MAX));
    assert_eq!(capacity.used(), 0);
    assert_eq!(capacity.last, 0);
    assert!((capacity.ratio() - 1.0).abs() < f64::EPSILON);
}

#[test]
fn a_sequence_100_below_its_end_has_100_left() {
    let capacity = Capacity::of(BIG, called(i64::MAX - 100), IdRange::BIGINT, false);
    assert_eq!(capacity.remaining, 100);
    assert!(capacity.ratio() < 1e-15);
    assert_eq!(capacity.limited_by, LimitedBy::Sequence);
}

#[test]
fn an_integer_column_limits_a_bigint_sequence() {
    let capacity = Capacity::of(BIG, called(2_147_483_547), IdRange::INTEGER, false);
    assert_eq!((capacity.remaining, capacity.end), (100, 2_147_483_647));
    assert_eq!(capacity.limited_by, LimitedBy::Column);
}

#[test]
fn a_column_that_is_already_overrun_has_nothing_left() {
    let capacity = Capacity::of(BIG, called(40_000), IdRange::SMALLINT, false);
    assert_eq!((capacity.remaining, capacity.used()), (0, 32_767));
    assert!(capacity.ratio().abs() < f64::EPSILON);
}

#[test]
fn restart_counts_the_next_value_as_left() {
    assert_eq!(Capacity::of(BIG, next_is(i64::MAX), IdRange::BIGINT, false).remaining, 1);
    assert_eq!(Capacity::of(BIG, called(i64::MAX), IdRange::BIGINT, false).remaining, 0);
}

#[test]
fn a_step_of_ten_divides_what_is_left() {
    let tens = SequenceDefinition { increment: 10, max: 100, ..BIG };
    // 91 is the last: 1, 11, …, 91.
    let capacity = Capacity::of(tens, called(71), IdRange::BIGINT, false);
    assert_eq!((capacity.remaining, capacity.total), (2, 10));
}

#[test]
fn a_descending_sequence_ends_at_the_minimum_of_its_column() {
    let down = SequenceDefinition { min: i64::MIN, max: -1, increment: -1, cycles: false };
    let capacity = Capacity::of(down, called(-32_760), IdRange::SMALLINT, false);
    assert_eq!((capacity.remaining, capacity.end, capacity.total), (8, -32_768, 32_768));
}

#[test]
fn the_widest_range_and_the_widest_step_do_not_overflow() {
    let whole = SequenceDefinition { min: i64::MIN, max: i64::MAX, increment: 1, cycles: false };
    assert_eq!(Capacity::of(whole, next_is(i64::MIN), IdRange::BIGINT, false).remaining, 1 << 64);
    let leap = SequenceDefinition { increment: i64::MIN, ..whole };
    assert_eq!(Capacity::of(leap, called(i64::MIN), IdRange::BIGINT, false).remaining, 0);
}

#[test]
fn a_cycle_is_endless_only_where_numbers_may_repeat() {
    let ring = SequenceDefinition { max: 100, cycles: true, ..BIG };
    let unique = Capacity::of(ring, called(99), IdRange::INTEGER, false);
    assert_eq!((unique.remaining, unique.limited_by), (1, LimitedBy::Sequence));
    let repeating = Capacity::of(ring, called(99), IdRange::INTEGER, true);
    assert_eq!((repeating.remaining, repeating.limited_by), (100, LimitedBy::Nothing));
    // The column overflows before the sequence comes round.
    let narrow = SequenceDefinition { max: i64::MAX, ..ring };
    let overflowing = Capacity::of(narrow, called(32_000), IdRange::SMALLINT, true);
    assert_eq!((overflowing.remaining, overflowing.limited_by), (767, LimitedBy::Column));
}

#[test]
fn a_sequence_that_starts_near_its_end_is_near_its_end() {
    let capacity = Capacity::of(BIG, next_is(i64::MAX - 99), IdRange::BIGINT, false);
    assert_eq!(capacity.remaining, 100);
    assert!(capacity.ratio() < 0.05);
}

#[test]
fn a_numeric_column_holds_as_many_digits_as_it_says() {
    assert_eq!(IdRange::of_numeric(5, 0), IdRange { min: -99_999, max: 99_999 });
    assert_eq!(IdRange::of_numeric(5, 2), IdRange { min: -999, max: 999 });
    assert_eq!(IdRange::of_numeric(2, 5), IdRange { min: 0, max: 0 });
    assert_eq!(IdRange::of_numeric(18, 0).max, 999_999_999_999_999_999);
    assert_eq!(IdRange::of_numeric(19, 0), IdRange::BIGINT);
    assert_eq!(IdRange::of_numeric(1000, 0), IdRange::BIGINT);
}

/// How often `nextval` would succeed and fit, by doing it.
fn count(sequence: SequenceDefinition, position: SequencePosition, column: IdRange) -> i128 {
    let mut next = i128::from(position.last_value);
    if position.is_called {
        next += i128::from(sequence.increment);
    }
    let mut given = 0;
    let fits = |n: i128| n >= sequence.min.max(column.min).into() && n <= sequence.max.min(column.max).into();
    while fits(next) {
        given += 1;
        next += i128::from(sequence.increment);
    }
    given
}

proptest! {
    #[test]
    fn what_remains_is_what_can_be_counted(
        bounds in (-300_i64..300, 0_i64..600), column in (-300_i64..300, 0_i64..600),
        increment in prop_oneof![-12_i64..=-1, 1_i64..=12], at: prop::sample::Index, is_called: bool,
    ) {
        let sequence = SequenceDefinition { min: bounds.0, max: bounds.0 + bounds.1, increment, cycles: false };
        let column = IdRange { min: column.0, max: column.0 + column.1 };
        let both = IdRange { min: sequence.min, max: sequence.max }.narrowed_by(column);
        prop_assume!(both.min <= both.max);
        let last_value = at.index(usize::try_from(both.max - both.min + 1).expect("not negative"));
        let last_value = both.min + i64::try_from(last_value).expect("small");
        let position = SequencePosition { last_value, is_called };
        let capacity = Capacity::of(sequence, position, column, false);
        prop_assert_eq!(capacity.remaining, count(sequence, position, column));
    }

    #[test]
    fn nothing_overflows_and_the_share_is_a_share(
        min: i64, max: i64, increment in any::<i64>().prop_filter("never 0", |step| *step != 0),
        last_value: i64, is_called: bool, cycles: bool, may_repeat: bool, low: i64, high: i64,
    ) {
        let sequence = SequenceDefinition { min, max, increment, cycles };
        let position = SequencePosition { last_value, is_called };
        let capacity = Capacity::of(sequence, position, IdRange { min: low, max: high }, may_repeat);
        prop_assert!((0..=capacity.total).contains(&capacity.remaining));
        prop_assert_eq!(capacity.used() + capacity.remaining, capacity.total);
        prop_assert!((0.0..=1.0).contains(&capacity.ratio()));
    }

    #[test]
    fn giving_out_one_number_leaves_one_less(start in 1_i64..1_000_000_000, steps in 0_i64..1000) {
        let before = Capacity::of(BIG, called(start), IdRange::INTEGER, false);
        let after = Capacity::of(BIG, called(start + steps), IdRange::INTEGER, false);
        prop_assert_eq!(before.remaining - after.remaining, i128::from(steps));
    }
}
