//! Tests of the gauges, with a recorder of their own.

use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;
use crate::db::headroom::report::example;

fn rendered(steps: impl FnOnce()) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, steps);
    recorder.handle().render()
}

fn described() {
    for metric in METRICS {
        metrics::describe_gauge!(metric.name, metric.help);
    }
    zero_metrics();
}

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|found| found == line)
}

#[test]
fn metrics_without_labels_exist_before_the_first_measurement_and_raise_no_alarm() {
    let text = rendered(described);
    assert!(has_line(&text, "resolute_xid_headroom_ratio NaN"), "{text}");
    assert!(has_line(&text, "resolute_multixact_headroom_ratio NaN"), "{text}");
    assert!(has_line(&text, "resolute_headroom_last_success_timestamp_seconds 0"), "{text}");
}

#[test]
fn a_report_sets_every_metric() {
    let text = rendered(|| {
        described();
        Exporter::default().export(&example());
    });
    for line in [
        "resolute_row_headroom_rows{table=\"ballots\",column=\"ballot_id\"} 100",
        "resolute_row_headroom_ratio{table=\"ballots\",column=\"ballot_id\"} 0.1",
        "resolute_row_ids_used{table=\"ballots\",column=\"ballot_id\"} 900",
        "resolute_rows_estimate{table=\"ballots\"} 850",
        "resolute_headroom_last_success_timestamp_seconds 1893585600",
    ] {
        assert!(has_line(&text, line), "{line} is missing in {text}");
    }
    for Metric { name, help, .. } in METRICS {
        assert!(has_line(&text, &format!("# HELP {name} {help}")), "{name} is missing in {text}");
    }
}

#[test]
fn the_series_of_a_dropped_table_turns_to_nan() {
    let text = rendered(|| {
        let mut exporter = Exporter::default();
        let mut report = example();
        exporter.export(&report);
        report.tables.clear();
        report.rows.clear();
        exporter.export(&report);
    });
    assert!(
        has_line(&text, "resolute_row_headroom_ratio{table=\"ballots\",column=\"ballot_id\"} NaN"),
        "{text}"
    );
    assert!(has_line(&text, "resolute_rows_estimate{table=\"ballots\"} NaN"), "{text}");
}

#[test]
fn of_two_sequences_behind_one_column_the_nearer_end_is_exported() {
    let text = rendered(|| {
        let mut report = example();
        let mut second = report.tables[0].clone();
        second.sequence = "other".to_owned();
        second.ratio = 0.9;
        report.tables.push(second);
        Exporter::default().export(&report);
    });
    assert!(
        has_line(&text, "resolute_row_headroom_ratio{table=\"ballots\",column=\"ballot_id\"} 0.1"),
        "{text}"
    );
}
