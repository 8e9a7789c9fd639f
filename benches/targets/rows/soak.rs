//! Whether memory stays where it is: everything at once through as many connections as there are, for as long as is
//! asked, resident memory once a second.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use resolute::load::process::find_usage;

use super::Bench;
use super::writing::plotted;
use crate::report::{Goal, Target, median};
use crate::say;
use crate::stand::Server;
use crate::tools::Running;

/// Beginning and end that are compared: a tenth, and so a minute of ten.
const PART: usize = 10;

impl Bench {
    /// Half of the connections resolve names that are in memory, a quarter names that mostly are not, the others make
    /// names and vote, on one poll after the other. On schedules: what the machine can do in a minute would fill its
    /// disk in ten.
    pub fn soak(
        &mut self,
        server: &Server,
        (few, many): (&Path, &Path),
        length: Duration,
    ) -> anyhow::Result<()> {
        say(&format!("memory for {} s", length.as_secs()));
        let all = self.plan.connections.iter().max().copied().unwrap_or(1).max(16);
        let (seconds, known, unknown, making) = (length.as_secs(), all / 2, all / 4, all / 16);
        let voting = all - known - unknown - making;
        let loads = [
            format!("resolve --reuse {} --concurrency {known} --rate {}", few.display(), all * 4),
            format!("resolve --reuse {} --concurrency {unknown} --rate {all}", many.display()),
            format!(
                "purls --names {} --concurrency {making} --rate {}",
                all / 4 * usize::try_from(seconds)?,
                all / 4
            ),
        ];
        let beside = loads
            .iter()
            .map(|load| Running::start(&self.stand, server, &format!("{load} --duration {seconds}")));
        let beside = beside.collect::<anyhow::Result<Vec<_>>>()?;
        let (begun, over, pid) = (Instant::now(), AtomicBool::new(false), server.pid());
        let samples = std::thread::scope(|scope| {
            let sampling = scope.spawn(|| sample(pid, begun, &over));
            let ballots = self.plan.most / 20;
            let votes = format!("votes --participants {ballots} --concurrency {voting} --rate {}", all * 2);
            let mut ended = Ok(());
            while ended.is_ok() && begun.elapsed() < length {
                ended = self.loadtest(server, &votes).map(drop);
            }
            over.store(true, Ordering::Relaxed);
            let samples = sampling.join().map_err(|_| anyhow!("the samples"));
            ended.and(samples)
        })?;
        let curve = "resident memory under load, by seconds";
        for (second, bytes) in &samples {
            self.report.point(curve, ("seconds", "MB"), (*second, bytes / 1e6));
        }
        for running in beside {
            self.finish(running)?;
        }
        let part = samples.len().div_ceil(PART);
        let of = |part: &[(f64, f64)]| median(part.iter().map(|(_, bytes)| bytes / 1e6)).context("a sample");
        // In the first minute what is remembered comes into memory.
        let (second, last) = (of(&samples[part..2 * part])?, of(&samples[samples.len() - part..])?);
        let row =
            Target::new("resident memory, last minute of ten", "second minute", "MB", Goal::AtMost(1.1));
        let target = self.report.target(row);
        target.add(last, Some(second));
        target.remark(&format!("{} connections", plotted(all)));
        if seconds < 600 {
            target.remark(&format!("tenths of {seconds} s only"));
        }
        Ok(())
    }
}

/// Seconds and bytes, once a second until it is over.
fn sample(pid: u32, begun: Instant, over: &AtomicBool) -> Vec<(f64, f64)> {
    let mut samples = Vec::new();
    while !over.load(Ordering::Relaxed) {
        if let Some(kilobytes) =
            find_usage(pid).and_then(|usage| u32::try_from(usage.resident_bytes / 1_024).ok())
        {
            samples.push((begun.elapsed().as_secs_f64().round(), f64::from(kilobytes) * 1_024.0));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    samples
}
