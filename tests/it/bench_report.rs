//! The bench's report: ratios, medians, pass, fail and pending, and the shape of its documents.

use serde_json::json;

// A bench has no test harness; what it computes is tested here.
#[path = "../../benches/targets/page.rs"]
mod page;
#[path = "../../benches/targets/report.rs"]
mod report;

use report::{Goal, Report, Target, median, shown};

fn ratio(goal: Goal, rounds: &[(f64, f64)]) -> Target {
    let mut target = Target::new("ballots on one poll", "pgbench", "/s", goal);
    for (product, baseline) in rounds {
        target.add(*product, Some(*baseline));
    }
    target
}

#[test]
fn a_ratio_is_the_median_of_the_ratios_of_the_rounds() {
    let target = ratio(Goal::AtLeast(10.0), &[(100.0, 10.0), (300.0, 10.0), (90.0, 10.0)]);
    assert_eq!((target.figure(), target.product(), target.baseline()), (Some(10.0), Some(100.0), Some(10.0)));
    assert_eq!(target.pass(), Some(true));
    assert_eq!(ratio(Goal::AtLeast(10.1), &[(100.0, 10.0)]).pass(), Some(false));
    assert_eq!(ratio(Goal::AtMost(3.0), &[(6.0, 2.0)]).pass(), Some(true));
}

#[test]
fn a_row_that_nothing_was_measured_of_is_pending_and_neither_passes_nor_fails() {
    let pending = ratio(Goal::AtLeast(1.0), &[]);
    assert_eq!((pending.figure(), pending.pass()), (None, None));
}

#[test]
fn the_document_has_the_machine_and_every_row_with_ratio_goal_and_pass() {
    let mut found = Report { machine: json!({ "cores": 2 }), ..Report::default() };
    found.target(ratio(Goal::AtLeast(10.0), &[])).add(50.0, Some(10.0));
    found.target(Target::new("drained", "", "ms", Goal::AtMost(100.0))).add(50.0, None);
    found.target(Target::new("listing", "first page", "", Goal::AtMost(1.5)));
    for at in [(64.0, 10.0), (1.0, 2.0), (64.0, 30.0)] {
        found.point("resolve", ("connections", "/s"), at);
    }
    for second in 0..600 {
        found.point("memory", ("seconds", "MB"), (f64::from(second), 90.0));
    }
    found.faults.push("3 acknowledged but missing <b>".into());
    let document = found.to_json();
    assert_eq!(document["machine"]["cores"], 2);
    let of = |row: usize, member: &str| document["targets"][row][member].clone();
    assert_eq!((of(0, "ratio"), of(0, "goal"), of(0, "pass")), (json!(5.0), json!(10.0), json!(false)));
    assert_eq!((of(1, "ratio"), of(1, "product"), of(1, "pass")), (json!(0.5), json!(50.0), json!(true)));
    assert_eq!((of(2, "ratio"), of(2, "state"), of(2, "pass")), (json!(null), json!("pending"), json!(null)));
    assert_eq!(
        (&document["curves"][0]["x"], &document["curves"][0]["unit"]),
        (&json!("connections"), &json!("/s"))
    );
    assert_eq!(document["curves"][0]["points"], json!([[1.0, 2.0], [64.0, 20.0]]));

    let page = page::render(&found);
    assert!(page.matches("<circle").count() < 100, "a dot for each of many points hides the line");
    for part in [
        "ballots on one poll",
        "connections",
        "seconds",
        "pending",
        "misses",
        "<svg",
        "3 acknowledged but missing &lt;b&gt;",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "the page needs something from elsewhere"
    );
}

#[test]
fn a_remark_is_made_once() {
    let mut target = ratio(Goal::AtLeast(1.0), &[]);
    for text in ["3 × 503", "", "3 × 503", "at 5/s"] {
        target.remark(text);
    }
    assert_eq!(target.note, "3 × 503; at 5/s");
}

#[test]
fn medians_of_even_numbers_are_between_the_two_in_the_middle() {
    assert_eq!(median([]), None);
    assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
}

#[test]
fn numbers_are_shown_in_groups_with_the_decimals_that_matter() {
    assert_eq!(
        [shown(1_234_567.8), shown(0.256), shown(12.34), shown(999.4)],
        ["1,234,568", "0.26", "12.3", "999"]
    );
}
