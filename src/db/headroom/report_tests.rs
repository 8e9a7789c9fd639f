//! Tests of judgements and of the JSON form.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::db::headroom::{Health, HealthStatus};

#[test]
fn a_share_equal_to_a_threshold_is_not_below_it() {
    let settings = Settings::default();
    let statuses =
        [1.0, 0.20, 0.199, 0.05, 0.049, 0.0].map(|ratio| Status::of_ratio(ratio, &settings).as_str());
    assert_eq!(statuses, ["ok", "ok", "warn", "warn", "critical", "critical"]);
}

#[test]
fn a_budget_that_is_overspent_has_nothing_left() {
    let settings = Settings::default();
    let overspent = Budget::of(20, 10, &settings);
    assert_eq!((overspent.remaining, overspent.status), (0, Status::Critical));
    assert_eq!(Budget::of(0, 0, &settings).status, Status::Critical);
    assert_eq!(Budget::of(-5, 10, &settings).remaining, 10);
}

#[test]
fn the_report_is_as_bad_as_its_worst_part() {
    let settings = Settings::default();
    let mut report = example();
    assert_eq!(report.worst(), Status::Warn);
    report.disk = Some(Budget::of(99, 100, &settings));
    assert_eq!(report.worst(), Status::Critical);
    report.disk = None;
    report.tables.clear();
    assert_eq!(report.worst(), Status::Ok);
    report.xid = Budget::of(2_000_000_000, 2_144_483_647, &settings);
    assert_eq!(report.worst(), Status::Warn);
}

#[test]
fn something_unmeasured_is_a_warning() {
    let mut report = example();
    report.tables.clear();
    report.unmeasured.push(Unmeasured {
        table: "t".to_owned(),
        column: "id".to_owned(),
        reason: UnmeasuredReason::PermissionDenied,
    });
    assert_eq!(report.worst(), Status::Warn);
}

#[test]
fn wide_numbers_are_strings_in_json() {
    let json = serde_json::to_value(example()).expect("a report is JSON");
    insta::assert_json_snapshot!(json, @r#"
    {
      "disk": null,
      "measured_at": "2030-01-02T12:00:00Z",
      "multixact": {
        "limit": "2144483647",
        "ratio": 1.0,
        "remaining": "2144483647",
        "status": "ok",
        "used": "0"
      },
      "row_limit": null,
      "rows": [
        {
          "rows_estimate": "850",
          "table": "ballots"
        }
      ],
      "status": "warn",
      "tables": [
        {
          "column": "ballot_id",
          "data_type": "bigint",
          "exhausted_at": "2030-01-12T12:00:00Z",
          "last": "900",
          "limited_by": "sequence",
          "max": "1000",
          "rate_per_day": 10.0,
          "ratio": 0.1,
          "remaining": "100",
          "rows_estimate": "850",
          "sequence": "ballots_ballot_id_seq",
          "status": "warn",
          "table": "ballots",
          "used": "900"
        }
      ],
      "unmeasured": [],
      "xid": {
        "limit": "2144483647",
        "ratio": 0.9067374562264499,
        "remaining": "1944483647",
        "status": "ok",
        "used": "200000000"
      }
    }
    "#);
}

#[test]
fn an_old_report_is_unknown_and_fails() {
    let report = Arc::new(example());
    let interval = Duration::from_mins(1);
    let at = |seconds| Health::of(Some((Arc::clone(&report), Duration::from_secs(seconds))), false, interval);
    assert_eq!(at(180).status, HealthStatus::Measured(Status::Warn));
    assert!(!at(180).status.is_failing());
    assert_eq!(at(181).status, HealthStatus::Unknown);
    assert!(at(181).status.is_failing());
    assert_eq!(at(181).to_json()["status"], "unknown");
    assert_eq!(at(181).to_json()["tables"][0]["remaining"], "100");
}

#[test]
fn before_the_first_measurement_the_answer_is_unknown() {
    let health = Health::of(None, true, Duration::from_mins(1));
    assert_eq!(health.to_json(), serde_json::json!({ "status": "unknown", "last_attempt_failed": true }));
}
