//! `resolute import htaccess`: rules from a tree of `.htaccess` files, each directory whole or not at all.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::super::database::Place;
use super::super::{Outcome, shown};
use super::{finding, tenant};
use crate::clock::Clock;
use crate::db::Db;
use crate::db::quota::Defaults;
use crate::purl::import::htaccess::run::{self, Report};
use crate::purl::import::htaccess::tree;
use crate::purl::import::rule_files::Ground;
use crate::purl::target::OwnAddress;

#[derive(Debug, clap::Args)]
pub struct HtaccessArgs {
    /// The top of the tree: a file in `DIR/a/b` becomes the rules of the domain `a/b`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Slug of the tenant whose domains they are.
    #[arg(long)]
    tenant: String,
    /// Check and report, change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON, one document a line.
    #[arg(long)]
    json: bool,
}

pub async fn import(args: &HtaccessArgs, place: &Place, db: &Db) -> Outcome {
    let directories = tree::read(&args.directory).with_context(|| args.directory.display().to_string())?;
    if directories.is_empty() {
        anyhow::bail!("{} has no file .htaccess in it or below", args.directory.display());
    }
    let origin = place.config.server.origin();
    let (own, clock) = (OwnAddress::new(&origin), Clock::system());
    let ground = Ground {
        db,
        clock: &clock,
        own: &own,
        tenant_id: tenant(db, &args.tenant).await?,
        quotas: Defaults::from(&place.config.quotas),
        dry_run: args.dry_run,
    };
    let mut out = std::io::stdout().lock();
    let (mut rules, mut imported, mut changed) = (0, 0, 0);
    for directory in &directories {
        let report = run::import(&ground, &origin, directory).await?;
        if let Ok(done) = &report.outcome {
            rules += done.rules;
            imported += 1;
            changed += usize::from(done.changed);
        }
        for line in told(&report, args.json) {
            writeln!(out, "{line}")?;
        }
    }
    let refused = directories.len() - imported;
    if args.json {
        let summary = json!({
            "directories": directories.len(), "imported": imported, "refused": refused, "changed": changed,
            "rules": rules, "dry_run": args.dry_run,
        });
        writeln!(out, "{summary}")?;
    } else {
        let closing = match (args.dry_run, changed) {
            (true, _) => "; a dry run, nothing was changed".to_owned(),
            (false, 0) => "; nothing to change".to_owned(),
            (false, changed) => format!("; {changed} changed"),
        };
        writeln!(out, "{imported} of {} directories, {rules} rules{closing}", directories.len())?;
    }
    if refused > 0 {
        eprintln!("resolute: {refused} of {} directories were refused, each whole", directories.len());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of a directory, line by line.
fn told(report: &Report, as_json: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        report.remarks.iter().map(|remark| finding(remark, "warning", as_json)).collect();
    match &report.outcome {
        Err(faults) => lines.extend(faults.iter().map(|fault| finding(fault, "refused", as_json))),
        Ok(done) if as_json => {
            let line = json!({
                "file": report.file, "domain": report.path, "rules": done.rules,
                "made_domain": done.made_domain, "changed": done.changed,
            });
            lines.push(line.to_string());
        }
        Ok(done) => {
            let word = if done.changed { "" } else { "; nothing to change" };
            lines.push(format!("{}: {} rules{word}", shown(&report.file), done.rules));
        }
    }
    lines
}
