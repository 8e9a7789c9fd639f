//! Resolution: from memory against a bare handler, from the database against a select, and its latency at half load.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use super::writing::plotted;
use super::{BY_CONNECTIONS, Bench};
use crate::report::{Goal, Target};
use crate::stand::Server;
use crate::tools;

/// A bare handler in a process of its own.
struct Bare(Child);

impl Bare {
    fn start() -> anyhow::Result<(Self, String)> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).arg("--bare").stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("its output")?;
        let bare = Self(child);
        let mut address = String::new();
        BufReader::new(out).read_line(&mut address)?;
        Ok((bare, address.trim().to_owned()))
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bench {
    /// One round of cached resolution: `word` says which server, the goal is its own.
    pub fn cached(
        &mut self,
        server: &Server,
        domain: &str,
        (word, goal): (&'static str, f64),
    ) -> anyhow::Result<()> {
        let path = format!("/{domain}/n7");
        let baseline = {
            let (_bare, address) = Bare::start()?;
            self.best_of_wrk("bare handler", &address, &path)?
        };
        let product = self.best_of_wrk(word, &server.address, &path)?;
        let row = Target::new(word, "bare axum handler", "/s", Goal::AtLeast(goal));
        self.report.target(row).add(product, Some(baseline));
        Ok(())
    }

    fn best_of_wrk(&mut self, curve: &str, address: &str, path: &str) -> anyhow::Result<f64> {
        let mut best: f64 = 0.0;
        for connections in self.plan.connections.clone() {
            let rate = tools::wrk(address, path, connections, self.plan.seconds)?;
            self.report.point(curve, BY_CONNECTIONS, (plotted(connections), rate));
            best = best.max(rate);
        }
        Ok(best)
    }

    /// One round of resolution from the database: names that no cache of this size holds.
    pub fn uncached(
        &mut self,
        server: &Server,
        (file, tenant, domain, names): (&Path, i64, i64, u64),
    ) -> anyhow::Result<()> {
        let variables = [("tenant", tenant), ("domain", domain), ("names", i64::try_from(names)?)];
        let baseline = self.baseline("select.sql", &variables)?;
        let (mut best, mut failed) = (0.0_f64, Vec::new());
        for connections in self.plan.connections.clone() {
            let found = self.loadtest(
                server,
                &format!(
                    "resolve --reuse {} --concurrency {connections} --duration {}",
                    file.display(),
                    self.plan.seconds
                ),
            )?;
            let throughput = found.number("/throughput");
            self.report.point("uncached resolve", BY_CONNECTIONS, (plotted(connections), throughput));
            failed.push(found.errors);
            best = best.max(throughput);
        }
        let row =
            Target::new("uncached resolve, 1 million names", "pgbench, select", "/s", Goal::AtLeast(1.0));
        let target = self.report.target(row);
        target.add(best, Some(baseline));
        for errors in &failed {
            target.remark(errors);
        }
        if names < 1_000_000 {
            target.remark(&format!("{names} names only"));
        }
        Ok(())
    }

    /// Latency on a schedule at half of what the server can do.
    pub fn half_load(&mut self, server: &Server, file: &Path) -> anyhow::Result<()> {
        let reuse = format!("resolve --reuse {} --duration {}", file.display(), self.plan.seconds);
        for _ in 0..self.plan.rounds {
            let saturation =
                self.loadtest(server, &format!("{reuse} --concurrency 64"))?.number("/throughput");
            let rate = saturation / 2.0;
            let found = self.loadtest(server, &format!("{reuse} --concurrency 256 --rate {rate:.0}"))?;
            let row = Target::new("resolve p99 at half of saturation", "", "ms", Goal::AtMost(10.0));
            let target = self.report.target(row);
            target.add(found.number("/latency_ms/p99"), None);
            target.remark(&format!("at {rate:.0}/s"));
            target.remark(&found.errors);
        }
        Ok(())
    }
}
