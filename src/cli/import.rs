//! `resolute import`, with the operator's rights. `csv`: names from files. One line on standard output for every line
//! of a file; exit status 0 only if every line was imported or had been before.

mod htaccess;
mod obo;

use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Subcommand;
use serde_json::{Value, json};

use super::database::Place;
use super::{Outcome, shown};
use crate::clock::Clock;
use crate::db::quota::Defaults;
use crate::ids::Ids;
use crate::purl::import::report::{self, Line, Watcher};
use crate::purl::import::rule_files::Finding;
use crate::purl::import::run::{FileReport, Import, Options};
use crate::purl::target::OwnAddress;
use crate::tenancy::store;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// CSV with the columns domain, name, target and, optional, status.
    Csv(CsvArgs),
    /// Rules of the OBO Foundry's PURLs, from its YAML files.
    Obo(obo::OboArgs),
    /// Rules from a tree of Apache's `.htaccess` files, as w3id.org keeps them.
    Htaccess(htaccess::HtaccessArgs),
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "four independent switches of a command line")]
pub struct CsvArgs {
    /// Files, each imported whole or not at all, in this order.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Slug of the tenant whose names they become.
    #[arg(long)]
    tenant: String,
    /// Check and report, change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Finish a merge that was interrupted; without one, import as usual.
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// Import the good lines of a file though others are refused.
    #[arg(long)]
    partial: bool,
    /// Print JSON, one document a line.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: &Command, place: &Place) -> Outcome {
    let database = place.connect().await?;
    let done = match command {
        Command::Csv(args) => import(args, place, &database.db).await,
        Command::Obo(args) => obo::import(args, place, &database.db).await,
        Command::Htaccess(args) => htaccess::import(args, place, &database.db).await,
    };
    database.close().await?;
    done
}

async fn import(args: &CsvArgs, place: &Place, db: &crate::db::Db) -> Outcome {
    let own = OwnAddress::new(&place.config.server.origin());
    let import = Import {
        db,
        clock: &Clock::system(),
        ids: &Ids::os(),
        own: &own,
        tenant_id: tenant(db, &args.tenant).await?,
        quotas: Defaults::from(&place.config.quotas),
        options: Options { dry_run: args.dry_run, resume: args.resume, partial: args.partial },
    };
    let mut clean = true;
    for path in &args.paths {
        let mut printer = Printer::new(path.display().to_string(), args.json);
        match import.file(path, &mut printer).await {
            Ok(report) => {
                clean &= report.counts.is_clean();
                printer.summary(&report, args.dry_run)?;
            }
            Err(error) => {
                clean = false;
                printer.failed(&error.to_string())?;
            }
        }
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Id of the tenant with this slug.
async fn tenant(db: &crate::db::Db, slug: &str) -> anyhow::Result<i64> {
    let tenant = store::find_tenant(db.management(), slug).await?;
    Ok(tenant.ok_or_else(|| anyhow!("there is no tenant `{slug}`"))?.tenant_id)
}

/// How often progress is redrawn.
const REDRAW: Duration = Duration::from_millis(200);

/// Prints the report of one file, and its progress where somebody watches.
struct Printer {
    file: String,
    json: bool,
    out: BufWriter<Stdout>,
    watched: bool,
    begun: Instant,
    drawn: Option<Instant>,
    failed: std::io::Result<()>,
}

impl Printer {
    fn new(file: String, json: bool) -> Self {
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

    fn summary(&mut self, report: &FileReport, dry_run: bool) -> anyhow::Result<()> {
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

    fn failed(&mut self, reason: &str) -> anyhow::Result<()> {
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

/// What is said about a line of a file of rules, as a line of the report.
fn finding(finding: &Finding, word: &str, as_json: bool) -> String {
    let Finding { file, line, detail } = finding;
    if as_json {
        let line = line.map_or(Value::Null, Value::from);
        return json!({"file": file, "line": line, "outcome": word, "reason": detail}).to_string();
    }
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}: {word}: {}", shown(file), shown(detail))
}
