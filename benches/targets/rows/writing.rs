//! Ballots and creations against single transactions, and a hall that votes at once.

use super::{BY_CONNECTIONS, Bench};
use crate::report::{Goal, Target};
use crate::stand::Server;

/// A kind of write.
struct Write {
    name: &'static str,
    script: &'static str,
    against: &'static str,
    goal: f64,
    /// The scenario, its size aside.
    scenario: &'static str,
    /// Requests for each unit of its size.
    each: u64,
}

const WRITES: [Write; 3] = [
    Write {
        name: "ballots on one poll",
        script: "one_poll.sql",
        against: "pgbench, one poll",
        goal: 10.0,
        scenario: "votes --polls 1 --participants",
        each: 1,
    },
    Write {
        name: "ballots over 50 polls",
        script: "many_polls.sql",
        against: "pgbench, 1,000 polls",
        goal: 4.0,
        scenario: "votes --polls 50 --participants",
        each: 50,
    },
    Write {
        name: "PURL creation, one domain",
        script: "purl_insert.sql",
        against: "pgbench, single insert",
        goal: 2.0,
        scenario: "purls --names",
        each: 1,
    },
];

impl Bench {
    /// One round of every write.
    pub fn writes(&mut self, server: &Server) -> anyhow::Result<()> {
        for write in &WRITES {
            let baseline = self.baseline(write.script, &[])?;
            let (mut best, mut failed) = (0.0_f64, Vec::new());
            for connections in self.plan.connections.clone() {
                let found = self.sized(server, write, connections, baseline * write.goal)?;
                let throughput = found.number("/throughput");
                self.report.point(write.name, BY_CONNECTIONS, (plotted(connections), throughput));
                failed.push(found.errors);
                best = best.max(throughput);
            }
            let row = Target::new(write.name, write.against, "/s", Goal::AtLeast(write.goal));
            let target = self.report.target(row);
            target.add(best, Some(baseline));
            for errors in &failed {
                target.remark(errors);
            }
        }
        Ok(())
    }

    /// As many requests as are needed to last; a run that was over too soon is repeated with more.
    fn sized(
        &mut self,
        server: &Server,
        write: &Write,
        connections: usize,
        expected: f64,
    ) -> anyhow::Result<crate::tools::Found> {
        let seconds = f64::from(self.plan.seconds);
        let mut requests = whole(expected * seconds / 4.0);
        loop {
            requests = requests.clamp(200, self.plan.most);
            let size = requests.div_ceil(write.each);
            let found = self.loadtest(
                server,
                &format!("{} {size} --concurrency {connections} --duration {seconds}", write.scenario),
            )?;
            let short = found.number("/drain_ms") < seconds * 500.0 && found.errors.is_empty();
            if !short || requests == self.plan.most {
                return Ok(found);
            }
            requests = whole(found.number("/throughput") * seconds * 1.2).max(requests * 2);
        }
    }

    /// Everybody votes at once on one poll, every connection open.
    pub fn drains(&mut self, server: &Server) -> anyhow::Result<()> {
        let (times, voters) = self.plan.drains;
        for _ in 0..times {
            let found =
                self.loadtest(server, &format!("votes --participants {voters} --concurrency {voters}"))?;
            let row = Target::new("1,000 voters at once on one poll, drained", "", "ms", Goal::AtMost(100.0));
            let target = self.report.target(row);
            target.add(found.number("/drain_ms"), None);
            if voters != 1_000 {
                target.remark(&format!("{voters} voters only"));
            }
            target.remark(&found.errors);
        }
        Ok(())
    }
}

pub(super) fn plotted(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// A whole number of requests; the number is small and positive.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
fn whole(number: f64) -> u64 {
    number.clamp(0.0, 1e9) as u64
}
