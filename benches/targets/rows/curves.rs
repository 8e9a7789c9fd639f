//! How the figures go as the work grows: names, ballots in a poll, tenants, connections; and whether memory stays where
//! it is. These are the product's alone: a curve is compared with itself.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use resolute::load::process::find_usage;

use super::Bench;
use super::writing::plotted;
use crate::stand::Server;
use crate::tools::Running;

/// How far each curve goes.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Names in a domain.
    pub names: Vec<u64>,
    /// Ballots in a poll, and how many polls of that size.
    pub ballots: Vec<(u32, u32)>,
    /// Tenants that share a thousand polls, or as many as there are tenants.
    pub tenants: Vec<u32>,
    /// Connections.
    pub connections: Vec<usize>,
    /// Voters who all come at once, and over how many polls.
    pub halls: Vec<(u32, u32)>,
    /// Length of the run that memory is watched in.
    pub soak: Duration,
}

impl Reach {
    /// Everything, in about twenty minutes and the length of the soak.
    pub fn full(soak: Duration) -> Self {
        Self {
            names: vec![1_000, 10_000, 100_000, 1_000_000, 10_000_000],
            ballots: vec![(10, 1_000), (1_000, 20), (100_000, 1)],
            tenants: vec![1, 50, 1_000],
            connections: vec![1, 16, 256, 1_000],
            halls: vec![(1_000, 1), (5_000, 1), (500, 50)],
            soak,
        }
    }

    /// Each curve once, in seconds.
    pub fn quick() -> Self {
        Self {
            names: vec![100, 1_000],
            ballots: vec![(10, 10), (100, 1)],
            tenants: vec![1, 2],
            connections: vec![1, 16],
            halls: vec![(100, 1), (20, 5)],
            soak: Duration::from_secs(3),
        }
    }
}

impl Bench {
    /// All of them.
    pub fn curves(&mut self, server: &Server, reach: &Reach) -> anyhow::Result<()> {
        self.by_connections(server, &reach.connections)?;
        self.by_ballots(server, &reach.ballots)?;
        self.by_tenants(server, &reach.tenants)?;
        self.halls(server, &reach.halls)?;
        let few = self.by_names(server, &reach.names)?;
        self.soak(server, &few, reach.soak)
    }

    fn by_connections(&mut self, server: &Server, connections: &[usize]) -> anyhow::Result<()> {
        for each in connections {
            // Enough to last, and not minutes with one connection.
            let votes = if *each < 16 { self.plan.most / 100 } else { self.plan.most / 4 };
            let found =
                self.loadtest(server, &format!("votes --participants {votes} --concurrency {each}"))?;
            let (x, y) = (plotted(*each), found.number("/throughput"));
            self.report.point("ballots a second on one poll, by connections", x, y);
            let p99 = found.number("/latency_ms/p99");
            self.report.point("p99 of these ballots in ms, by connections", x, p99);
        }
        Ok(())
    }

    fn by_ballots(&mut self, server: &Server, sizes: &[(u32, u32)]) -> anyhow::Result<()> {
        for (ballots, polls) in sizes {
            let votes = format!("votes --participants {ballots} --polls {polls} --concurrency 256");
            let found = self.loadtest(server, &votes)?;
            let (x, y) = (f64::from(*ballots), found.number("/throughput"));
            self.report.point("ballots a second, by ballots in each poll", x, y);
        }
        Ok(())
    }

    fn by_tenants(&mut self, server: &Server, tenants: &[u32]) -> anyhow::Result<()> {
        let all = tenants.last().copied().unwrap_or(1);
        for each in tenants {
            let polls = all / each;
            let votes = format!("votes --participants 20 --polls {polls} --tenants {each} --concurrency 256");
            let found = self.loadtest(server, &votes)?;
            let (x, y) = (f64::from(*each), found.number("/throughput"));
            self.report.point("ballots a second over as many polls, by tenants", x, y);
        }
        Ok(())
    }

    /// Everybody at once, connections open: the median of ten drains.
    fn halls(&mut self, server: &Server, halls: &[(u32, u32)]) -> anyhow::Result<()> {
        for (voters, polls) in halls {
            let everybody = voters * polls;
            // A hall of more voters than connections comes through all of them.
            let connections = everybody.min(5_000);
            for _ in 0..self.plan.drains.0 {
                let votes =
                    format!("votes --participants {voters} --polls {polls} --concurrency {connections}");
                let found = self.loadtest(server, &votes)?;
                let curve = format!("drain in ms of everybody at once on {polls} poll(s), by voters");
                self.report.point(&curve, f64::from(everybody), found.number("/drain_ms"));
            }
        }
        Ok(())
    }

    /// Names that are not in memory, in domains that grow; the manifest of the smallest.
    fn by_names(&mut self, server: &Server, sizes: &[u64]) -> anyhow::Result<PathBuf> {
        let mut few = None;
        for names in sizes {
            let (file, _) = self.keep_names(server, *names)?;
            let x = u32::try_from(*names).map_or(f64::INFINITY, f64::from);
            let resolve = format!("resolve --reuse {} --duration {}", file.display(), self.plan.seconds);
            let found = self.loadtest(server, &format!("{resolve} --concurrency 256"))?;
            self.report.point("resolutions a second, by names", x, found.number("/throughput"));
            let found = self.loadtest(server, &format!("{resolve} --concurrency 64 --rate 2000"))?;
            self.report.point(
                "p99 in ms of 2,000 resolutions a second, by names",
                x,
                found.number("/latency_ms/p99"),
            );
            few.get_or_insert(file);
        }
        few.context("a size")
    }

    /// Resolution through a thousand connections while a poll after the other is voted on: resident memory second by
    /// second.
    fn soak(&mut self, server: &Server, few: &std::path::Path, length: Duration) -> anyhow::Result<()> {
        let connections = self.plan.connections.iter().max().copied().unwrap_or(1);
        let resolve = format!(
            "resolve --reuse {} --concurrency {connections} --duration {}",
            few.display(),
            length.as_secs()
        );
        let resolving = Running::start(&self.stand, server, &resolve)?;
        let begun = Instant::now();
        let voting = format!("votes --participants {} --concurrency 64", self.plan.most / 20);
        while begun.elapsed() < length {
            self.loadtest(server, &voting)?;
            let usage = find_usage(server.pid()).context("the server")?;
            let megabytes = u32::try_from(usage.resident_bytes / 1_000_000)?;
            let curve = "resident memory in MB under load, by seconds";
            self.report.point(curve, begun.elapsed().as_secs_f64().round(), f64::from(megabytes));
        }
        self.finish(resolving)?;
        Ok(())
    }
}
