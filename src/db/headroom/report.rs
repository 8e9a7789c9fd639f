//! The result of one measurement, in the form that `/health/headroom` and `resolute headroom --json` show.
//!
//! Numbers of 64 bits and more are strings in JSON, as everywhere in the API.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use time::OffsetDateTime;

use super::sequence::{LimitedBy, to_f64};
use super::settings::Settings;

/// How much is left. Ordered: the worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Enough.
    Ok,
    /// Below the first threshold, or something could not be measured.
    Warn,
    /// Below the second threshold.
    Critical,
}

impl Status {
    /// Judges the share that remains (0..1); a share equal to a threshold is not below it.
    pub fn of_ratio(ratio: f64, settings: &Settings) -> Self {
        if ratio < settings.critical_ratio {
            Self::Critical
        } else if ratio < settings.warn_ratio {
            Self::Warn
        } else {
            Self::Ok
        }
    }

    /// `ok`, `warn` or `critical`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Critical => "critical",
        }
    }
}

/// One column that a sequence feeds, or one sequence that feeds no column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableHeadroom {
    /// Table, with its schema unless that is `public`; the sequence's own name where no column is fed.
    pub table: String,
    /// Column; empty where no column is fed.
    pub column: String,
    /// The sequence.
    pub sequence: String,
    /// The column's type, as declared; `None` where no column is fed.
    pub data_type: Option<String>,
    /// The last number given out; before the first, the number one step before the next.
    #[serde(serialize_with = "as_text")]
    pub last: i64,
    /// The last number that can be given out (of a descending sequence, its smallest).
    #[serde(serialize_with = "as_text")]
    pub max: i64,
    /// How many numbers can still be given out.
    #[serde(serialize_with = "as_text")]
    pub remaining: i128,
    /// How many numbers of the range are behind.
    #[serde(serialize_with = "as_text")]
    pub used: i128,
    /// The share that remains, 0 to 1.
    pub ratio: f64,
    /// What ends first.
    pub limited_by: LimitedBy,
    /// PostgreSQL's estimate of the table's rows; `None` where no column is fed.
    #[serde(serialize_with = "as_optional_text")]
    pub rows_estimate: Option<i64>,
    /// Ids per day over the last day; `None` until a second sample exists.
    pub rate_per_day: Option<f64>,
    /// When the ids end at that rate; `None` without a rate, or past the year 9999.
    #[serde(with = "time::serde::rfc3339::option")]
    pub exhausted_at: Option<OffsetDateTime>,
    /// Judgement by the share that remains.
    pub status: Status,
}

/// PostgreSQL's estimate of a table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableRows {
    /// Table, with its schema unless that is `public`.
    pub table: String,
    /// Rows, as the statistics have it; never counted.
    #[serde(serialize_with = "as_text")]
    pub rows_estimate: i64,
}

/// Something of which only so much may be used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Budget {
    /// What is used.
    #[serde(serialize_with = "as_text")]
    pub used: i64,
    /// What may be used.
    #[serde(serialize_with = "as_text")]
    pub limit: i64,
    /// What is left, never negative.
    #[serde(serialize_with = "as_text")]
    pub remaining: i64,
    /// The share that is left, 0 to 1.
    pub ratio: f64,
    /// Judgement by the share that is left.
    pub status: Status,
}

impl Budget {
    /// Judges what is used of a limit.
    pub fn of(used: i64, limit: i64, settings: &Settings) -> Self {
        let remaining = limit.saturating_sub(used).clamp(0, limit.max(0));
        let ratio = if limit > 0 { to_f64(remaining.into()) / to_f64(limit.into()) } else { 0.0 };
        Self { used, limit, remaining, ratio, status: Status::of_ratio(ratio, settings) }
    }
}

/// A column or sequence that exists but could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmeasured {
    /// Table, or the sequence's own name where no column is fed.
    pub table: String,
    /// Column; empty where no column is fed.
    pub column: String,
    /// Why.
    pub reason: UnmeasuredReason,
}

/// Why a column or sequence could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnmeasuredReason {
    /// The server's role may not read the sequence: `GRANT SELECT ON SEQUENCE … TO …`.
    PermissionDenied,
    /// Somebody held the sequence locked for longer than the measurement waits.
    Locked,
    /// The column's default names a sequence that does not exist on the server's search path.
    UnknownSequence,
    /// The column's default computes the name of its sequence.
    ComputedName,
    /// The database refused for another reason; the log has it.
    Unreadable,
}

impl UnmeasuredReason {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PermissionDenied => "permission denied",
            Self::Locked => "locked",
            Self::UnknownSequence => "unknown sequence",
            Self::ComputedName => "computed sequence name",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The worst of everything below.
    pub status: Status,
    /// When, by the database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub measured_at: OffsetDateTime,
    /// Every column that a sequence feeds, least headroom first.
    pub tables: Vec<TableHeadroom>,
    /// What could not be judged.
    pub unmeasured: Vec<Unmeasured>,
    /// Rows of every table, by name.
    pub rows: Vec<TableRows>,
    /// Age of the oldest transaction id against wrap-around.
    pub xid: Budget,
    /// Age of the oldest multixact id against wrap-around.
    pub multixact: Budget,
    /// Rows of all tables against the configured limit, if there is one.
    pub row_limit: Option<Budget>,
    /// Bytes of all databases against the configured limit, if there is one.
    pub disk: Option<Budget>,
}

impl Report {
    /// The worst judgement in the report. Something unmeasured is a warning: it may be near its end.
    pub(super) fn worst(&self) -> Status {
        let budgets = [Some(&self.xid), Some(&self.multixact), self.row_limit.as_ref(), self.disk.as_ref()];
        let unmeasured = if self.unmeasured.is_empty() { Status::Ok } else { Status::Warn };
        let tables = self.tables.iter().map(|table| table.status);
        let budgets = budgets.into_iter().flatten().map(|budget| budget.status);
        tables.chain(budgets).fold(unmeasured, Ord::max)
    }
}

fn as_text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[expect(clippy::ref_option, reason = "serde's serialize_with passes a reference to the field")]
fn as_optional_text<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// A report with one table and no limits, for the tests of what is made of reports.
#[cfg(test)]
pub(super) fn example() -> Report {
    let settings = Settings::default();
    let measured_at = time::macros::datetime!(2030-01-02 12:00 UTC);
    let mut report = Report {
        status: Status::Ok,
        measured_at,
        tables: vec![TableHeadroom {
            table: "ballots".to_owned(),
            column: "ballot_id".to_owned(),
            sequence: "ballots_ballot_id_seq".to_owned(),
            data_type: Some("bigint".to_owned()),
            last: 900,
            max: 1000,
            remaining: 100,
            used: 900,
            ratio: 0.1,
            limited_by: LimitedBy::Sequence,
            rows_estimate: Some(850),
            rate_per_day: Some(10.0),
            exhausted_at: Some(measured_at + time::Duration::days(10)),
            status: Status::Warn,
        }],
        unmeasured: Vec::new(),
        rows: vec![TableRows { table: "ballots".to_owned(), rows_estimate: 850 }],
        xid: Budget::of(200_000_000, 2_144_483_647, &settings),
        multixact: Budget::of(0, 2_144_483_647, &settings),
        row_limit: None,
        disk: None,
    };
    report.status = report.worst();
    report
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
