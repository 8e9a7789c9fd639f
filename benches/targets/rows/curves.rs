//! How the figures go as the work grows: connections, ballots in a poll, tenants, people in a hall, names. These are the
//! product's alone: a curve is compared with itself.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::writing::plotted;
use super::{BY_CONNECTIONS, Bench};
use crate::say;
use crate::stand::Server;
use crate::tools;

/// Milliseconds over connections.
const WAITING: (&str, &str) = ("connections", "ms");

/// How far each curve goes.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Names in a domain.
    pub names: Vec<u64>,
    /// Ballots that are in a poll already.
    pub ballots: Vec<u32>,
    /// Tenants that share a thousand polls, or as many as there are tenants.
    pub tenants: Vec<u32>,
    /// Connections.
    pub connections: Vec<usize>,
    /// Voters of a meeting who all come at once, and over how many polls.
    pub halls: Vec<(u32, u32)>,
}

impl Reach {
    /// Everything, in about twenty minutes.
    pub fn full() -> Self {
        Self {
            names: vec![1_000, 10_000, 100_000, 1_000_000, 10_000_000],
            ballots: vec![10, 1_000, 100_000],
            tenants: vec![1, 50, 1_000],
            connections: vec![1, 16, 256, 1_000],
            halls: vec![(1_000, 1), (5_000, 1), (500, 50)],
        }
    }

    /// Each curve once, in seconds.
    pub fn quick() -> Self {
        Self {
            names: vec![100, 1_000],
            ballots: vec![10, 100],
            tenants: vec![1, 2],
            connections: vec![1, 16],
            halls: vec![(100, 1), (20, 5)],
        }
    }
}

impl Bench {
    /// All of them; the manifests of the smallest and of the largest domain.
    pub fn curves(&mut self, server: &Server, reach: &Reach) -> anyhow::Result<(PathBuf, PathBuf)> {
        say("curves: connections");
        self.by_connections(server, &reach.connections)?;
        say("curves: ballots of a poll");
        self.by_ballots(server, &reach.ballots)?;
        say("curves: tenants");
        self.by_tenants(server, &reach.tenants)?;
        say("curves: everybody at once");
        self.halls(server, &reach.halls)?;
        say("curves: names");
        self.by_names(server, &reach.names)
    }

    fn by_connections(&mut self, server: &Server, connections: &[usize]) -> anyhow::Result<()> {
        let (_, manifest) = self.keep_names(server, 1_000)?;
        let tenant = manifest.tenants.first().context("a tenant")?;
        let path = format!("/{}/n7", tenant.domains.first().context("a domain")?);
        for each in in_rounds(connections, self.plan.rounds) {
            // Enough to last, and not minutes with one connection.
            let votes = if each < 16 { self.plan.most / 100 } else { self.plan.most / 4 };
            let found =
                self.loadtest(server, &format!("votes --participants {votes} --concurrency {each}"))?;
            let (x, ballots) = (plotted(each), found.number("/throughput"));
            self.report.point("ballots on one poll, by connections", BY_CONNECTIONS, (x, ballots));
            let p99 = found.number("/latency_ms/p99");
            self.report.point("p99 of ballots on one poll, by connections", WAITING, (x, p99));
            let resolved = tools::wrk(&server.address, &path, each, self.plan.seconds)?;
            self.report.point("cached resolve, by connections", BY_CONNECTIONS, (x, resolved));
        }
        Ok(())
    }

    /// Always as many ballots, into a poll that has more and more of them.
    fn by_ballots(&mut self, server: &Server, sizes: &[u32]) -> anyhow::Result<()> {
        let more = self.plan.most / 20;
        for held in in_rounds(sizes, self.plan.rounds) {
            let everybody = u64::from(held) + more;
            let votes = format!("votes --participants {everybody} --before {held} --concurrency 256");
            let found = self.loadtest(server, &votes)?;
            let x = f64::from(held);
            let curve = "ballots on one poll, by ballots that it holds";
            self.report.point(curve, ("ballots", "/s"), (x, found.number("/throughput")));
            let curve = "p99 of ballots on one poll, by ballots that it holds";
            self.report.point(curve, ("ballots", "ms"), (x, found.number("/latency_ms/p99")));
        }
        Ok(())
    }

    fn by_tenants(&mut self, server: &Server, tenants: &[u32]) -> anyhow::Result<()> {
        let all = tenants.last().copied().unwrap_or(1);
        for each in in_rounds(tenants, self.plan.rounds) {
            let polls = all / each;
            let votes = format!("votes --participants 20 --polls {polls} --tenants {each} --concurrency 256");
            let found = self.loadtest(server, &votes)?;
            let x = f64::from(each);
            let curve = "ballots over as many polls, by tenants";
            self.report.point(curve, ("tenants", "/s"), (x, found.number("/throughput")));
            let curve = "p99 of ballots over as many polls, by tenants";
            self.report.point(curve, ("tenants", "ms"), (x, found.number("/latency_ms/p99")));
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
                let curve = format!("drain of everybody at once on {polls} poll(s), by ballots");
                let at = (f64::from(everybody), found.number("/drain_ms"));
                self.report.point(&curve, ("ballots", "ms"), at);
            }
        }
        Ok(())
    }

    /// Domains that grow: single creations between the names that are there, then names that are not in memory.
    fn by_names(&mut self, server: &Server, sizes: &[u64]) -> anyhow::Result<(PathBuf, PathBuf)> {
        let mut files = Vec::new();
        for names in sizes {
            let x = u32::try_from(*names).map_or(f64::INFINITY, f64::from);
            let creations = 50 * self.plan.seconds * self.plan.rounds;
            let creating = format!("purls --existing {names} --names {creations} --concurrency 16 --rate 50");
            let running = tools::Running::start(&self.stand, server, &creating)?;
            let file = running.manifest.clone();
            let found = self.finish(running)?;
            let curve = "p99 of single creations, 50 a second, by names of the domain";
            self.report.point(curve, ("names", "ms"), (x, found.number("/latency_ms/p99")));
            self.resolve_among(server, &file, x)?;
            files.push(file);
        }
        Ok((files.first().context("a size")?.clone(), files.last().context("a size")?.clone()))
    }

    fn resolve_among(&mut self, server: &Server, file: &Path, x: f64) -> anyhow::Result<()> {
        let resolve = format!("resolve --reuse {} --duration {}", file.display(), self.plan.seconds);
        for _ in 0..self.plan.rounds {
            let found = self.loadtest(server, &format!("{resolve} --concurrency 256"))?;
            let at = (x, found.number("/throughput"));
            self.report.point("resolve, any of all names, by names", ("names", "/s"), at);
            let found = self.loadtest(server, &format!("{resolve} --concurrency 64 --rate 2000"))?;
            let curve = "p99 of 2,000 resolutions a second, any of all names, by names";
            self.report.point(curve, ("names", "ms"), (x, found.number("/latency_ms/p99")));
        }
        Ok(())
    }
}

/// Each size as often as there are rounds, in turn, so that whatever else the machine does hits all of them.
fn in_rounds<T: Copy>(sizes: &[T], rounds: u32) -> Vec<T> {
    (0..rounds).flat_map(|_| sizes.iter().copied()).collect()
}
