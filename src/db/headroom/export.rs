//! The metrics of headroom. Gauges only, set after each successful measurement, never by a scrape.
//!
//! Before the first measurement, and once a table is gone, a gauge says NaN: 0 would be an alarm, a series
//! that vanishes would look like one that never was, and NaN satisfies no alert's comparison.

use std::collections::HashSet;

use metrics::gauge;

use super::report::Report;
use super::sequence::to_f64;
use crate::telemetry::metrics::Metric;

/// Ids that remain. Labels `table`, `column`.
pub const HEADROOM_ROWS: &str = "resolute_row_headroom_rows";
/// Share of ids that remains. Labels `table`, `column`.
pub const HEADROOM_RATIO: &str = "resolute_row_headroom_ratio";
/// Ids behind. Labels `table`, `column`.
pub const IDS_USED: &str = "resolute_row_ids_used";
/// Estimated rows. Label `table`.
pub const ROWS_ESTIMATE: &str = "resolute_rows_estimate";
/// Share of transaction ids that remains.
pub const XID_RATIO: &str = "resolute_xid_headroom_ratio";
/// Share of multixact ids that remains.
pub const MULTIXACT_RATIO: &str = "resolute_multixact_headroom_ratio";
/// Share of the configured row limit that remains.
pub const ROW_LIMIT_RATIO: &str = "resolute_row_limit_headroom_ratio";
/// Share of the configured disk limit that remains.
pub const DISK_RATIO: &str = "resolute_disk_headroom_ratio";
/// Columns that could not be judged.
pub const UNMEASURED: &str = "resolute_headroom_unmeasured_columns";
/// Time of the last success.
pub const LAST_SUCCESS: &str = "resolute_headroom_last_success_timestamp_seconds";

/// Every metric of this module.
pub const METRICS: &[Metric] = &[
    Metric::gauge(HEADROOM_ROWS, "Ids that the sequence can still give to the column."),
    Metric::gauge(HEADROOM_RATIO, "Share of the column's ids that remains, 0 to 1."),
    Metric::gauge(IDS_USED, "Ids of the column's range that are behind; project from this one."),
    Metric::gauge(ROWS_ESTIMATE, "Rows of the table as the statistics estimate them; never counted."),
    Metric::gauge(XID_RATIO, "Share of transaction ids left before wrap-around stops writes, 0 to 1."),
    Metric::gauge(MULTIXACT_RATIO, "Share of multixact ids left before wrap-around stops writes, 0 to 1."),
    Metric::gauge(ROW_LIMIT_RATIO, "Share of the configured row limit that remains; NaN without a limit."),
    Metric::gauge(DISK_RATIO, "Share of the configured disk limit that remains; NaN without a limit."),
    Metric::gauge(UNMEASURED, "Sequence-fed columns whose headroom could not be judged."),
    Metric::gauge(LAST_SUCCESS, "When headroom was last measured, in seconds since 1970; 0 before that."),
];

/// Sets the metrics without labels, so that they exist before the first measurement.
pub fn zero_metrics() {
    for ratio in [XID_RATIO, MULTIXACT_RATIO, ROW_LIMIT_RATIO, DISK_RATIO] {
        gauge!(ratio).set(f64::NAN);
    }
    gauge!(UNMEASURED).set(0.0);
    gauge!(LAST_SUCCESS).set(0.0);
}

/// Sets the gauges, and remembers which series exist.
#[derive(Debug, Default)]
pub struct Exporter {
    columns: HashSet<(String, String)>,
    tables: HashSet<String>,
}

impl Exporter {
    /// Sets every gauge to what the report says; series of what is gone become NaN.
    pub fn export(&mut self, report: &Report) {
        let mut gone = std::mem::take(&mut self.columns);
        for entry in &report.tables {
            let key = (entry.table.clone(), entry.column.clone());
            gone.remove(&key);
            // Two sequences may feed one column; the report has the lesser headroom first.
            if self.columns.insert(key.clone()) {
                set_column(&key, to_f64(entry.remaining), entry.ratio, to_f64(entry.used));
            }
        }
        for key in gone {
            set_column(&key, f64::NAN, f64::NAN, f64::NAN);
            self.columns.insert(key);
        }

        let mut gone = std::mem::take(&mut self.tables);
        for entry in &report.rows {
            gone.remove(&entry.table);
            gauge!(ROWS_ESTIMATE, "table" => entry.table.clone()).set(to_f64(entry.rows_estimate.into()));
            self.tables.insert(entry.table.clone());
        }
        for table in gone {
            gauge!(ROWS_ESTIMATE, "table" => table.clone()).set(f64::NAN);
            self.tables.insert(table);
        }

        gauge!(XID_RATIO).set(report.xid.ratio);
        gauge!(MULTIXACT_RATIO).set(report.multixact.ratio);
        gauge!(ROW_LIMIT_RATIO).set(report.row_limit.as_ref().map_or(f64::NAN, |budget| budget.ratio));
        gauge!(DISK_RATIO).set(report.disk.as_ref().map_or(f64::NAN, |budget| budget.ratio));
        let unmeasured = i128::try_from(report.unmeasured.len()).unwrap_or(i128::MAX);
        gauge!(UNMEASURED).set(to_f64(unmeasured));
        gauge!(LAST_SUCCESS).set(to_f64(report.measured_at.unix_timestamp().into()));
    }
}

fn set_column(key: &(String, String), rows: f64, ratio: f64, used: f64) {
    let (table, column) = key;
    gauge!(HEADROOM_ROWS, "table" => table.clone(), "column" => column.clone()).set(rows);
    gauge!(HEADROOM_RATIO, "table" => table.clone(), "column" => column.clone()).set(ratio);
    gauge!(IDS_USED, "table" => table.clone(), "column" => column.clone()).set(used);
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
