//! Two server processes on one database against one, each at its best number of connections: every load test holds
//! what both acknowledged against what is stored, and together they are to do what one does.

use super::Bench;
use crate::report::{Goal, Target};
use crate::say;
use crate::stand::Server;

const GOAL: Goal = Goal::AtLeast(0.9);

/// A row, and the scenario with the share of the most requests that it takes: people of a meeting, or names.
const ROWS: [(&str, &str, u64); 3] = [
    ("ballots on one poll, two servers", "votes --participants", 4),
    ("ballots over 50 polls, two servers", "votes --polls 50 --participants", 200),
    ("PURL creation in one domain, two servers", "purls --names", 4),
];

impl Bench {
    /// In turn, as many rounds as the plan has.
    pub fn two_servers(&mut self, server: &Server) -> anyhow::Result<()> {
        say("two servers on one database");
        let second = Server::start(&self.stand, "info")?;
        for _ in 0..self.plan.rounds {
            for (name, scenario, share) in ROWS {
                let (mut alone, mut both) = (0.0_f64, 0.0_f64);
                for connections in self.plan.connections.clone() {
                    let one = format!("{scenario} {} --concurrency {connections}", self.plan.most / share);
                    let two = format!("{one} --replicas http://{}", second.address);
                    let (one, two) = (self.loadtest(server, &one)?, self.loadtest(server, &two)?);
                    (alone, both) =
                        (alone.max(one.number("/throughput")), both.max(two.number("/throughput")));
                    self.report.target(Target::new(name, "one server", "/s", GOAL)).remark(&two.errors);
                }
                self.report.target(Target::new(name, "one server", "/s", GOAL)).add(both, Some(alone));
            }
        }
        second.stop()?;
        Ok(())
    }
}
