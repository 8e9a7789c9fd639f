//! What `/health/headroom` says: the last report, and whether it can still be relied on.
//!
//! Pure: the monitor hands in what it has; the HTTP status belongs to the endpoint.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::report::{Report, Status};

/// Judgement of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthStatus {
    /// A recent report, and its status.
    Measured(Status),
    /// No report, or one older than three intervals: nobody knows how much is left.
    Unknown,
}

impl HealthStatus {
    /// Whether the endpoint answers 503: critical, or unknown, which must not look like health.
    pub fn is_failing(self) -> bool {
        matches!(self, Self::Unknown | Self::Measured(Status::Critical))
    }

    /// `ok`, `warn`, `critical` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured(status) => status.as_str(),
            Self::Unknown => "unknown",
        }
    }
}

/// The last report and how far it can be relied on.
#[derive(Debug, Clone)]
pub struct Health {
    /// The judgement.
    pub status: HealthStatus,
    /// Whether the latest attempt to measure failed.
    pub last_attempt_failed: bool,
    /// The last report that succeeded, however old.
    pub report: Option<Arc<Report>>,
}

impl Health {
    /// Judges a report of this age; `interval` is the time between two measurements.
    pub fn of(
        report: Option<(Arc<Report>, Duration)>,
        last_attempt_failed: bool,
        interval: Duration,
    ) -> Self {
        let status = match &report {
            Some((report, age)) if *age <= interval.saturating_mul(3) => {
                HealthStatus::Measured(report.status)
            }
            _ => HealthStatus::Unknown,
        };
        Self { status, last_attempt_failed, report: report.map(|(report, _)| report) }
    }

    /// The endpoint's body: the report's own fields with the status as judged here. Without a report there
    /// are only `status` and `last_attempt_failed`. Why an attempt failed is in the log, not in public.
    pub fn to_json(&self) -> Value {
        let report = self.report.as_deref().and_then(|report| serde_json::to_value(report).ok());
        let mut body = report.unwrap_or_else(|| json!({}));
        body["status"] = json!(self.status.as_str());
        body["last_attempt_failed"] = json!(self.last_attempt_failed);
        body
    }
}
