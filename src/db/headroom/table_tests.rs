//! Tests of the printed table.

use proptest::prelude::*;

use super::*;
use crate::db::headroom::report::{Status, Unmeasured, UnmeasuredReason, example};

#[test]
fn the_table_shows_bars_rates_and_dates() {
    let mut report = example();
    report.unmeasured.push(Unmeasured {
        table: "x".to_owned(),
        column: "id".to_owned(),
        reason: UnmeasuredReason::PermissionDenied,
    });
    report.status = Status::Warn;
    insta::assert_snapshot!(render_table(&report), @r"
    status  table.column       used                       left       last   remaining  per day  ends
    warn    ballots.ballot_id  [##################..]   10.00%        900         100       10  2030-01-12
    ok      transaction ids    [##..................]   90.67%  200000000  1944483647        -  -
    ok      multixact ids      [....................]  100.00%          0  2144483647        -  -
    not measured: x.id: permission denied
    status: warn
    ");
}

#[test]
fn a_bar_is_empty_or_full_only_when_it_is_true() {
    assert_eq!(bar(1.0), "[....................]");
    assert_eq!(bar(0.999), "[#...................]");
    assert_eq!(bar(0.000_1), "[###################.]");
    assert_eq!(bar(0.0), "[####################]");
}

proptest! {
    #[test]
    fn a_bar_always_has_its_width(ratio in 0.0_f64..=1.0) {
        prop_assert_eq!(bar(ratio).len(), 22);
    }
}
