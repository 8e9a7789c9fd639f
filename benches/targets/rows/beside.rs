//! What one does while another is busy: a single cast beside fifty saturated polls, single creations beside an import.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use resolute::load::manifest::Manifest;
use resolute::load::process::find_usage;

use super::Bench;
use crate::report::{Goal, Target};
use crate::stand::Server;
use crate::tools::Running;

impl Bench {
    /// Single casts of tenant B on a schedule, alone and beside tenant A.
    pub async fn fairness(&mut self, server: &Server) -> anyhow::Result<()> {
        let casts = 200 * self.plan.seconds;
        let single = format!("votes --participants {casts} --concurrency 8 --rate 100");
        for _ in 0..self.plan.rounds {
            let idle = self.loadtest(server, &single)?;
            let busy = Running::start(
                &self.stand,
                server,
                // All electorates together fit into the memory for them (`cache.voters`).
                &format!("votes --participants {} --polls 50 --concurrency 256", self.plan.most / 45),
            )?;
            let manifest = busy.manifest.clone();
            let tenant_id = self.tenant_of(&manifest).await?;
            let begun = format!("SELECT (SELECT poll_id FROM ballots WHERE tenant_id = {tenant_id} LIMIT 1)");
            self.wait_for(&begun).await?;
            let loaded = self.loadtest(server, &single)?;
            busy.interrupt()?;
            let busy = self.finish(busy)?;
            let row = Target::new(
                "single cast of tenant B beside A's 50 polls, p99",
                "the same alone",
                "ms",
                Goal::AtMost(3.0),
            );
            let target = self.report.target(row);
            target.add(loaded.number("/latency_ms/p99"), Some(idle.number("/latency_ms/p99")));
            target.remark(&format!("A at {:.0}/s", busy.number("/throughput")));
            target.remark(&loaded.errors);
        }
        Ok(())
    }

    /// Single creations on a schedule while an import fills the same domain, and the import itself.
    pub async fn creates_beside_import(&mut self, server: &Server) -> anyhow::Result<()> {
        let creating =
            Running::start(&self.stand, server, "purls --names 100000 --concurrency 16 --rate 50")?;
        let manifest = creating.manifest.clone();
        let tenant_id = self.tenant_of(&manifest).await?;
        self.wait_for(&format!("SELECT (SELECT purl_id FROM purls WHERE tenant_id = {tenant_id} LIMIT 1)"))
            .await?;
        let manifest = Manifest::read(&manifest)?;
        let tenant = manifest.tenants.first().context("a tenant")?;
        let domain = tenant.domains.first().context("a domain")?;
        let file = self.write_csv(domain)?;
        let path = file.to_string_lossy();
        let mut import = self
            .stand
            .command(&["import", "csv", &path, "--tenant", &tenant.slug])
            .stdout(Stdio::null())
            .spawn()
            .context("the import")?;
        // Not blocking the runtime: its pool is used meanwhile by nobody, but the child may take minutes.
        let (begun, mut peak_bytes) = (std::time::Instant::now(), 0);
        let status = loop {
            if let Some(status) = import.try_wait()? {
                break status;
            }
            peak_bytes = find_usage(import.id()).map_or(peak_bytes, |usage| usage.peak_bytes.max(peak_bytes));
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let took = begun.elapsed().as_secs_f64();
        creating.interrupt()?;
        let running = creating.finish()?;
        ensure!(status.success(), "the import ended with {status}");
        let row =
            Target::new("single creates during an import of 1 million, p99", "", "ms", Goal::AtMost(100.0));
        let names = self.plan.names;
        let target = self.report.target(row);
        target.add(running.number("/latency_ms/p99"), None);
        target.remark(&running.errors);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let (rate, megabytes) = (names as f64 / took, peak_bytes as f64 / 1e6);
        let row = Target::new("names imported from CSV beside creates", "", "/s", Goal::AtLeast(50_000.0));
        let target = self.report.target(row);
        target.add(rate, None);
        target.remark(&format!("{names} names in {took:.1} s"));
        let row = Target::new("resident memory of that import, the most", "", "MB", Goal::AtMost(300.0));
        self.report.target(row).add(megabytes, None);
        // The import's own names are in the same tenant, and nobody acknowledged them over HTTP.
        let wrong = ["acknowledged_but_missing", "stored_otherwise"];
        if wrong.iter().any(|member| running.number(&format!("/integrity/{member}")) > 0.0) {
            self.report.faults.extend(running.fault);
        }
        Ok(())
    }

    /// The tenant of a run that has just begun.
    async fn tenant_of(&self, manifest: &Path) -> anyhow::Result<i64> {
        for _ in 0..600 {
            if let Ok(Manifest { tenants, .. }) = Manifest::read(manifest)
                && let Some(id) = tenants.first().and_then(|tenant| tenant.tenant_id)
            {
                return Ok(id);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::bail!("{} never had a tenant", manifest.display())
    }

    fn write_csv(&self, domain: &str) -> anyhow::Result<PathBuf> {
        let path = self.stand.directory.join("import.csv");
        let mut out = BufWriter::new(std::fs::File::create(&path)?);
        writeln!(out, "domain,name,target,status")?;
        for number in 0..self.plan.names {
            writeln!(out, "{domain},i{number},https://target.example.org/i{number},302")?;
        }
        out.flush()?;
        Ok(path)
    }
}
