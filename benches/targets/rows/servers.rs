//! Two server processes on one database against one: every load test holds what both acknowledged against what is
//! stored, and together they are to do what one does.

use super::Bench;
use crate::report::{Goal, Target};
use crate::say;
use crate::stand::Server;

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
                let one = format!("{scenario} {} --concurrency 256", self.plan.most / share);
                let alone = self.loadtest(server, &one)?;
                let both = self.loadtest(server, &format!("{one} --replicas http://{}", second.address))?;
                let row = Target::new(name, "one server", "/s", Goal::AtLeast(0.9));
                let target = self.report.target(row);
                target.add(both.number("/throughput"), Some(alone.number("/throughput")));
                target.remark(&both.errors);
            }
        }
        second.stop()?;
        Ok(())
    }
}
