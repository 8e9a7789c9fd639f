//! What is to be seen of jobs from outside: the metrics, and the look at the table that sets two of them.

use std::collections::BTreeMap;

use metrics::gauge;

use super::worker::Worker;
use crate::db::Error;
use crate::telemetry::metrics::Metric;

/// Runs of jobs.
pub const JOB_RUNS: &str = "resolute_job_runs_total";
/// How long the oldest due job has been due.
pub const JOBS_OLDEST_DUE_SECONDS: &str = "resolute_jobs_oldest_due_seconds";
/// Jobs that gave up.
pub const JOBS_FAILED: &str = "resolute_jobs_failed";

/// Label of the kinds that this server does not know, all together.
const UNKNOWN: &str = "unknown";

/// The metrics of jobs, in the order of docs/metrics.md.
pub const METRICS: &[Metric] = &[
    Metric::counter(JOB_RUNS, "Runs of jobs, by kind and outcome (done, failed, stopped, lost, given_back)."),
    Metric::gauge(
        JOBS_OLDEST_DUE_SECONDS,
        "How long the oldest due job has been due, by kind; 0 without one.",
    ),
    Metric::gauge(JOBS_FAILED, "Jobs that gave up after their last attempt, by kind."),
];

impl Worker {
    /// Sets the gauges. Every kind has its series always, and what this server does not know is one of them.
    pub(super) async fn survey(&self) -> Result<(), Error> {
        let mut seen: BTreeMap<&str, (f64, f64)> =
            self.kinds.names().into_iter().chain([UNKNOWN]).map(|kind| (kind, (0.0, 0.0))).collect();
        let rows = sqlx::query!(
            r#"SELECT kind AS "kind!",
                      coalesce(extract(epoch FROM now() - min(run_at))::float8, 0) AS "oldest!", 0::float8 AS "failed!"
               FROM jobs WHERE state = 'waiting' AND run_at <= now() GROUP BY kind
               UNION ALL
               SELECT kind, 0, count(*)::float8 FROM jobs WHERE state = 'failed' GROUP BY kind"#
        )
        .fetch_all(&self.pool)
        .await?;
        for row in rows {
            let kind = if seen.contains_key(row.kind.as_str()) { row.kind.as_str() } else { UNKNOWN };
            if let Some((oldest, failed)) = seen.get_mut(kind) {
                *oldest = oldest.max(row.oldest);
                *failed += row.failed;
            }
        }
        for (kind, (oldest, failed)) in seen {
            gauge!(JOBS_OLDEST_DUE_SECONDS, "kind" => kind.to_owned()).set(oldest);
            gauge!(JOBS_FAILED, "kind" => kind.to_owned()).set(failed);
        }
        Ok(())
    }
}
