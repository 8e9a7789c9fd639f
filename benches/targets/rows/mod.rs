//! The rows of the table: how each is measured. Baseline and product take turns within a round, so that whatever else
//! the machine does hits both.

pub mod beside;
pub mod curves;
pub mod resolving;
pub mod servers;
pub mod soak;
pub mod writing;

use std::path::PathBuf;

use anyhow::Context;
use resolute::load::manifest::Manifest;

use super::report::Report;
use super::say;
use super::stand::{Server, Stand};
use super::tools::{self, Found, Running};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Times that baseline and product take turns.
    pub rounds: u32,
    /// Length of one measurement.
    pub seconds: u32,
    /// Clients of pgbench, of which the best counts.
    pub clients: Vec<u32>,
    /// Connections of the product and of wrk, of which the best counts.
    pub connections: Vec<usize>,
    /// Runs of everybody voting at once, and how many everybody is.
    pub drains: (u32, u32),
    /// Names that uncached resolution draws from, and that an import brings.
    pub names: u64,
    /// Most ballots or names of one run: an electorate of so many fits into the memory for it (`cache.voters`).
    pub most: u64,
}

impl Plan {
    /// Everything, in about a quarter of an hour.
    pub fn full() -> Self {
        Self {
            rounds: 3,
            seconds: 3,
            clients: vec![1, 4, 8, 64],
            connections: vec![64, 256, 1_000],
            drains: (10, 1_000),
            names: 1_000_000,
            most: 150_000,
        }
    }

    /// Each path once, in seconds.
    pub fn quick() -> Self {
        Self {
            rounds: 1,
            seconds: 1,
            clients: vec![8],
            connections: vec![32],
            drains: (2, 100),
            names: 5_000,
            most: 2_000,
        }
    }
}

/// Axes of what is measured with more and more connections.
const BY_CONNECTIONS: (&str, &str) = ("connections", "/s");

/// A run of the bench.
pub struct Bench {
    /// Where.
    pub stand: Stand,
    /// How much.
    pub plan: Plan,
    /// What was found.
    pub report: Report,
    /// The program pgbench.
    pub pgbench: PathBuf,
    /// Ids of the baselines' tenant, first poll and domain.
    baseline: (i64, i64, i64),
    /// Runs of pgbench so far: each has keys of its own.
    runs: i64,
}

impl Bench {
    /// On this stand.
    pub async fn new(stand: Stand, plan: Plan, report: Report, pgbench: PathBuf) -> anyhow::Result<Self> {
        let query = "SELECT t.tenant_id, (SELECT min(poll_id) FROM polls p WHERE p.tenant_id = t.tenant_id), d.domain_id
            FROM tenants t JOIN domains d ON d.home_tenant_id = t.tenant_id WHERE t.slug = 'pgbench'";
        let row = stand.db.hot().await?.query_one(query, &[]).await.context("the baselines' tenant")?;
        let baseline = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(Self { stand, plan, report, pgbench, baseline, runs: 0 })
    }

    /// The best of all numbers of clients.
    fn baseline(&mut self, script: &str, more: &[(&str, i64)]) -> anyhow::Result<f64> {
        let (tenant, poll, domain) = self.baseline;
        let mut best: f64 = 0.0;
        for clients in self.plan.clients.clone() {
            self.runs += 1;
            let base = self.runs * 100_000_000_000;
            let mut variables =
                vec![("tenant", tenant), ("poll", poll), ("domain", domain), ("base", base), ("n", 0)];
            variables.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
            variables.extend(more);
            let seconds = self.plan.seconds;
            let tps = tools::pgbench(&self.pgbench, &self.stand, script, &variables, (clients, seconds))?;
            self.report.point(&format!("pgbench {script}"), ("clients", "/s"), (f64::from(clients), tps));
            best = best.max(tps);
        }
        Ok(best)
    }

    /// Runs a load test to its end; lost or wrong data are noted as faults.
    fn loadtest(&mut self, server: &Server, arguments: &str) -> anyhow::Result<Found> {
        let running = Running::start(&self.stand, server, arguments)?;
        self.finish(running)
    }

    fn finish(&mut self, running: Running) -> anyhow::Result<Found> {
        let found = running.finish()?;
        self.report.faults.extend(found.fault.clone());
        if !found.errors.is_empty() {
            say(&format!("{}: {}", found.report["scenario"].as_str().unwrap_or_default(), found.errors));
        }
        Ok(found)
    }

    /// Makes names that later runs resolve.
    pub fn keep_names(&mut self, server: &Server, names: u64) -> anyhow::Result<(PathBuf, Manifest)> {
        let arguments = format!("resolve --names {names} --concurrency 8 --duration 0.2");
        let running = Running::start(&self.stand, server, &arguments)?;
        let file = running.manifest.clone();
        self.finish(running)?;
        let manifest = Manifest::read(&file)?;
        Ok((file, manifest))
    }

    /// Id of the domain at a path.
    pub async fn domain_id(&self, path: &str) -> anyhow::Result<i64> {
        let query = "SELECT domain_id FROM domains WHERE path = $1";
        Ok(self.stand.db.hot().await?.query_one(query, &[&path]).await.context("the domain")?.try_get(0)?)
    }

    /// Waits until a query has an answer other than null.
    async fn wait_for(&self, query: &str) -> anyhow::Result<i64> {
        for _ in 0..600 {
            if let Some(found) = self.stand.db.hot().await?.query_one(query, &[]).await?.try_get(0)? {
                return Ok(found);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        anyhow::bail!("waited a minute in vain for: {query}")
    }
}
