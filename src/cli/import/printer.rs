//! Prints what becomes of each line of a file, and the progress where somebody watches.

use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use crate::cli::shown;
use crate::purl::import::report::{self, Line, Watcher};
use crate::purl::import::run::FileReport;

/// How often progress is redrawn.
const REDRAW: Duration = Duration::from_millis(200);

/// Prints the report of one file, and its progress where somebody watches.
pub struct Printer {
    file: String,
    json: bool,
    out: BufWriter<Stdout>,
    watched: bool,
    begun: Instant,
    drawn: Option<Instant>,
    failed: std::io::Result<()>,
}

impl Printer {
    /// Of this file.
    pub fn new(file: String, json: bool) -> Self {
        Self {
            file,
            json,
            out: BufWriter::new(std::io::stdout()),
            watched: std::io::stderr().is_terminal(),
            begun: Instant::now(),
            drawn: None,
            failed: Ok(()),
        }
    }

    fn write_line(&mut self, line: &Line) -> std::io::Result<()> {
        let (file, word) = (&self.file, line.outcome.as_str());
        let reason = match &line.outcome {
            report::Outcome::Refused(reason) => Some(reason.as_str()),
            _ => None,
        };
        if self.json {
            let document = json!({ "file": file, "line": line.line, "path": line.path, "outcome": word, "reason": reason });
            return writeln!(self.out, "{document}");
        }
        // A cell may hold anything, such as a line end and what looks like another line of the report.
        let (file, path) = (shown(file), shown(&line.path));
        match reason.map(shown) {
            Some(reason) => writeln!(self.out, "{file}:{}: {word} {path}: {reason}", line.line),
            None => writeln!(self.out, "{file}:{}: {word} {path}", line.line),
        }
    }

    /// What became of the file.
    pub fn summary(&mut self, report: &FileReport, dry_run: bool) -> anyhow::Result<()> {
        self.clear();
        std::mem::replace(&mut self.failed, Ok(())).context("standard output")?;
        let counts = report.counts;
        if self.json {
            let summary = json!({
                "file": self.file, "lines": counts.total(), "created": counts.created, "updated": counts.updated,
                "unchanged": counts.unchanged, "refused": counts.refused, "held": counts.held,
                "dry_run": dry_run, "resumed_after_line": report.resumed_after,
            });
            writeln!(self.out, "{summary}")?;
        } else {
            if let Some(line) = report.resumed_after {
                writeln!(self.out, "{}: resumed behind line {line}", self.file)?;
            }
            writeln!(
                self.out,
                "{}: {} lines: {} created, {} updated, {} unchanged, {} refused, {} held{}",
                self.file,
                counts.total(),
                counts.created,
                counts.updated,
                counts.unchanged,
                counts.refused,
                counts.held,
                closing(report, dry_run),
            )?;
        }
        Ok(self.out.flush()?)
    }

    /// Why it was not imported.
    pub fn failed(&mut self, reason: &str) -> anyhow::Result<()> {
        self.clear();
        if self.json {
            writeln!(self.out, "{}", json!({ "file": self.file, "error": reason }))?;
        }
        self.out.flush()?;
        eprintln!("resolute: {}: {reason}", self.file);
        Ok(())
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

/// What the counts mean.
fn closing(report: &FileReport, dry_run: bool) -> &'static str {
    let counts = report.counts;
    if dry_run {
        "; a dry run, nothing was changed"
    } else if counts.held > 0 {
        "; nothing was imported (--partial imports the lines that are held)"
    } else if counts.refused > 0 && counts.refused == counts.total() {
        "; nothing was imported"
    } else if counts.created + counts.updated == 0 && counts.is_clean() {
        "; nothing to change"
    } else {
        ""
    }
}

impl Watcher for Printer {
    fn line(&mut self, line: &Line) {
        if self.failed.is_ok() {
            self.failed = self.write_line(line);
        }
    }

    fn progress(&mut self, phase: &'static str, done: u64, total: u64) {
        if !self.watched || self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        let millis = self.begun.elapsed().as_millis().max(1);
        let rate = u128::from(done) * 1000 / millis;
        let left = u128::from(total.saturating_sub(done)) / rate.max(1);
        eprint!("\r\x1b[K{}: {phase} {done} of {total} lines, {rate}/s, {left} s left", self.file);
    }
}
