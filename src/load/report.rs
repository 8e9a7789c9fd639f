//! The result of a run: as JSON, and for people.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use serde::Serialize;

use super::Aim;
use super::compare::Integrity;
use super::drive::Driven;
use super::durability::Durability;
use super::histogram::Histogram;
use super::seats::Race;

/// Share of its time from which on the generator counts as the bottleneck.
const BUSY: f64 = 0.9;

/// Everything that a run found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Which scenario, and its size in words.
    pub scenario: String,
    /// Id of the run.
    pub run: String,
    /// Connections.
    pub concurrency: usize,
    /// Requests a second that were scheduled; none: a closed loop.
    pub rate: Option<f64>,
    /// Right answers.
    pub answered: u64,
    /// Right answers a second, from the first request to the last answer.
    pub throughput: f64,
    /// From the first request to the last answer, in milliseconds.
    pub drain_ms: f64,
    /// Of right answers.
    pub latency_ms: Latency,
    /// How often each kind of failure came.
    pub errors: BTreeMap<String, u64>,
    /// What was told against what is stored; none where nothing was written.
    pub integrity: Option<Integrity>,
    /// How a race for seats ended; none where there was none.
    pub race: Option<Race>,
    /// The database's settings.
    pub durability: Option<Durability>,
    /// Processor seconds of the generator.
    pub generator_cpu_seconds: Option<f64>,
    /// Processor seconds of the server while it was asked.
    pub server_cpu_seconds: Option<f64>,
    /// Most memory of the server so far.
    pub server_peak_bytes: Option<u64>,
    /// What makes the figures worth less.
    pub warnings: Vec<String>,
}

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// Half.
    pub p50: f64,
    /// Nineteen in twenty.
    pub p95: f64,
    /// Ninety-nine in a hundred.
    pub p99: f64,
    /// All but one in a thousand.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl From<&Histogram> for Latency {
    fn from(histogram: &Histogram) -> Self {
        let at = |permille| histogram.permille_ms(permille);
        Self { p50: at(500), p95: at(950), p99: at(990), p999: at(999), max: histogram.max_ms() }
    }
}

impl Report {
    /// Of what came back.
    pub fn new<A>(scenario: String, run: &str, aim: &Aim, driven: &Driven<A>) -> Self {
        let answered = driven.latencies.count();
        let seconds = driven.elapsed.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "2^53 answers are more than any run has")]
        let throughput = if seconds > 0.0 { answered as f64 / seconds } else { 0.0 };
        Self {
            scenario,
            run: run.to_owned(),
            concurrency: aim.concurrency,
            rate: aim.rate,
            answered,
            throughput,
            drain_ms: seconds * 1e3,
            latency_ms: Latency::from(&driven.latencies),
            errors: driven.errors.clone(),
            integrity: None,
            race: None,
            durability: None,
            generator_cpu_seconds: None,
            server_cpu_seconds: None,
            server_peak_bytes: None,
            warnings: Vec::new(),
        }
    }

    /// Notes what explains a failure, and what makes the figures worth less; the generator has `threads`.
    pub fn explain(&mut self, threads: usize) {
        let most = self.drain_ms / 1e3 * u32::try_from(threads).map_or(f64::INFINITY, f64::from);
        if self.generator_cpu_seconds.is_some_and(|spent| self.drain_ms > 200.0 && spent > BUSY * most) {
            self.warnings.push(
                "the generator itself had no time left: try --threads, or another machine for it".into(),
            );
        }
        if self.errors.keys().any(|class| class.starts_with("429")) {
            self.warnings.push(
                "the server's rate limit refused requests: one key makes them all, raise limits.key_per_second and \
                 limits.key_burst to measure beyond it"
                    .to_owned(),
            );
        }
        if self.durability.as_ref().is_some_and(|durability| !durability.is_durable()) {
            self.warnings.push(
                "the database is not durable: an acknowledged write may be lost with the machine".into(),
            );
        }
    }

    /// Whether every request was answered rightly and nothing was lost.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
            && self.integrity.as_ref().is_none_or(Integrity::is_whole)
            && self.race.as_ref().is_none_or(Race::is_exact)
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loop_kind =
            self.rate.map_or_else(|| "closed loop".to_owned(), |rate| format!("{rate} requests a second"));
        writeln!(f, "{}; {} connections, {loop_kind}; run {}", self.scenario, self.concurrency, self.run)?;
        writeln!(f, "  answered    {} in {:.1} ms: {:.0}/s", self.answered, self.drain_ms, self.throughput)?;
        let Latency { p50, p95, p99, p999, max } = self.latency_ms;
        writeln!(
            f,
            "  latency     p50 {p50:.2} ms, p95 {p95:.2}, p99 {p99:.2}, p99.9 {p999:.2}, max {max:.2}"
        )?;
        for (class, times) in &self.errors {
            writeln!(f, "  failed      {times} × {class}")?;
        }
        if let Some(found) = &self.integrity {
            writeln!(
                f,
                "  stored      {} of {} acknowledged; acknowledged but missing {}, stored but not acknowledged {}, \
                 stored otherwise {}, faults of the log {}, outcome unknown {} ({} stored)",
                found.stored,
                found.acknowledged,
                found.acknowledged_but_missing,
                found.stored_but_not_acknowledged,
                found.stored_otherwise,
                found.log_faults,
                found.outcome_unknown,
                found.outcome_unknown_stored,
            )?;
        }
        if let Some(Race { seats, too_late, sold, counted }) = &self.race {
            writeln!(
                f,
                "  seats       {sold} of {seats} sold, {counted} counted as taken, {too_late} came too late"
            )?;
        }
        if let Some(found) = &self.durability {
            writeln!(
                f,
                "  durability  fsync {}, synchronous_commit {}, full_page_writes {} (PostgreSQL {})",
                found.fsync, found.synchronous_commit, found.full_page_writes, found.server_version
            )?;
        }
        if let Some(cpu) = self.generator_cpu_seconds {
            write!(f, "  processor   generator {cpu:.2} s")?;
            if let Some(server) = self.server_cpu_seconds {
                write!(f, ", server {server:.2} s")?;
            }
            writeln!(f)?;
        }
        if let Some(bytes) = self.server_peak_bytes {
            writeln!(f, "  memory      server at most {} MB", bytes / 1_000_000)?;
        }
        for warning in &self.warnings {
            writeln!(f, "  warning     {warning}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn report() -> Report {
        let aim = Aim {
            address: "h:1".into(),
            replicas: Vec::new(),
            concurrency: 4,
            rate: None,
            duration: None,
            threads: 1,
        };
        let mut driven = Driven::<()> { elapsed: Duration::from_secs(2), ..Driven::default() };
        for millis in 1..=100 {
            driven.latencies.record(Duration::from_millis(millis));
        }
        Report::new("votes".into(), "r", &aim, &driven)
    }

    #[test]
    fn throughput_counts_right_answers_over_the_whole_drain() {
        let report = report();
        assert!((report.throughput - 50.0).abs() < 1e-9 && (report.drain_ms - 2_000.0).abs() < 1e-9);
        assert!(report.is_good());
    }

    #[test]
    fn a_failure_or_a_lost_write_is_not_good_and_a_rate_limit_is_explained() {
        let mut limited = report();
        limited.errors.insert("429 rate_limited".into(), 3);
        limited.explain(1);
        assert!(!limited.is_good());
        assert!(limited.to_string().contains("limits.key_per_second"), "{limited}");
        let mut busy = Report { generator_cpu_seconds: Some(1.9), ..report() };
        busy.explain(1);
        assert!(busy.is_good() && busy.to_string().contains("--threads"), "{busy}");
        let lost = Integrity { acknowledged_but_missing: 1, ..Integrity::default() };
        assert!(!Report { integrity: Some(lost), ..report() }.is_good());
        let oversold = Race { seats: 50, too_late: 9, sold: 51, counted: 51 };
        assert!(!Report { race: Some(oversold), ..report() }.is_good());
    }
}
