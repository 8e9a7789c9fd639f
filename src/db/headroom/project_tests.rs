//! Tests of rate and projected date.

use proptest::prelude::*;
use time::macros::datetime;

use super::*;

const NOW: OffsetDateTime = datetime!(2030-01-02 12:00 UTC);

fn ago(hours: i64, last: i64) -> Sample {
    Sample { at: NOW - Duration::hours(hours), last }
}

fn now(last: i64) -> Sample {
    Sample { at: NOW, last }
}

fn per_day(now: Sample, earlier: &[Sample], increment: i64) -> Option<f64> {
    rate(now, earlier, increment).map(|rate| rate.per_day().round())
}

#[test]
fn the_rate_is_taken_over_the_last_day() {
    let earlier = [ago(1, 990), ago(30, 0), ago(24, 500), ago(12, 700)];
    assert_eq!(per_day(now(1000), &earlier, 1), Some(500.0));
}

#[test]
fn after_a_gap_of_more_than_a_day_the_rate_is_taken_over_the_gap() {
    assert_eq!(per_day(now(1000), &[ago(40, 0), ago(48, 0)], 1), Some(600.0));
}

#[test]
fn a_younger_series_is_extrapolated() {
    assert_eq!(per_day(now(1000), &[ago(6, 750)], 1), Some(1000.0));
}

#[test]
fn a_very_young_sample_counts_as_ten_minutes_old() {
    let sample = Sample { at: NOW - Duration::seconds(1), last: 0 };
    assert_eq!(per_day(now(10), &[sample], 1), Some(1440.0));
}

#[test]
fn without_an_earlier_sample_there_is_no_rate() {
    assert_eq!(rate(now(1000), &[], 1), None);
    assert_eq!(rate(now(1000), &[now(1000), Sample { at: NOW + Duration::HOUR, last: 0 }], 1), None);
}

#[test]
fn samples_from_before_the_sequence_was_set_back_do_not_count() {
    let earlier = [ago(23, 5000), ago(20, 6000), ago(12, 100), ago(6, 200)];
    assert_eq!(per_day(now(300), &earlier, 1), Some(400.0));
    assert_eq!(rate(now(50), &[ago(23, 5000), ago(20, 6000)], 1), None);
}

#[test]
fn the_step_divides_and_a_negative_step_counts_down() {
    assert_eq!(per_day(now(1000), &[ago(24, 0)], 10), Some(100.0));
    assert_eq!(per_day(now(-500), &[ago(24, -100)], -2), Some(200.0));
    assert_eq!(rate(now(500), &[ago(24, 100)], -2), None);
}

#[test]
fn a_table_at_rest_has_a_rate_of_zero_and_no_date() {
    let still = rate(now(5), &[ago(24, 5)], 1);
    assert_eq!(still.map(|rate| rate.ids), Some(0));
    assert_eq!(exhausted_at(NOW, 100, still), None);
}

#[test]
fn the_date_is_where_the_rate_leads() {
    let used = rate(now(1000), &[ago(24, 0)], 1);
    assert_eq!(exhausted_at(NOW, 10_000, used), Some(NOW + Duration::days(10)));
}

#[test]
fn a_date_past_the_year_9999_is_none() {
    let slow = Some(Rate { ids: 1, over: Duration::DAY });
    assert_eq!(exhausted_at(NOW, i128::from(i64::MAX), slow), None);
    assert_eq!(exhausted_at(NOW, 1 << 64, slow), None);
    // 7,969 years of 365.2425 days fit, 7,971 do not.
    assert!(exhausted_at(NOW, 2_910_000, slow).is_some());
    assert_eq!(exhausted_at(NOW, 2_912_000, slow), None);
}

#[test]
fn what_is_exhausted_is_exhausted_now() {
    assert_eq!(exhausted_at(NOW, 0, None), Some(NOW));
}

proptest! {
    #[test]
    fn no_samples_overflow(
        last: i64, increment in any::<i64>().prop_filter("never 0", |step| *step != 0),
        samples in prop::collection::vec((-200_000_i64..200_000, any::<i64>()), 0..60),
        remaining in 0_i128..=(1 << 64),
    ) {
        let earlier: Vec<_> = samples.iter()
            .map(|(seconds, last)| Sample { at: NOW - Duration::seconds(*seconds), last: *last }).collect();
        let used = rate(now(last), &earlier, increment);
        if let Some(rate) = used {
            prop_assert!(rate.ids >= 0);
            prop_assert!(rate.over >= Duration::minutes(10));
            prop_assert!(rate.per_day().is_finite());
        }
        if let Some(date) = exhausted_at(NOW, remaining, used) {
            prop_assert!(date >= NOW);
        }
    }

    #[test]
    fn the_order_of_samples_does_not_matter(mut samples in prop::collection::vec((1_i64..50, 0_i64..100), 1..20)) {
        let make = |list: &[(i64, i64)]| list.iter().map(|(h, last)| ago(*h, *last)).collect::<Vec<_>>();
        samples.sort_unstable();
        samples.dedup_by_key(|sample| sample.0);
        let forward = rate(now(100), &make(&samples), 1);
        samples.reverse();
        prop_assert_eq!(forward, rate(now(100), &make(&samples), 1));
    }
}
