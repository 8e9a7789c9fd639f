//! `resolute import obo`: the rules of the OBO Foundry's PURLs, all or nothing.

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
use crate::purl::import::obo::run::{CatchAll, Import, ImportError, Report, Source};
use crate::purl::import::rule_files::Ground;
use crate::purl::target::OwnAddress;

#[derive(Debug, clap::Args)]
pub struct OboArgs {
    /// YAML files, one for each ontology. Rules of other files that were imported before stay.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Slug of the tenant whose domain `obo` is.
    #[arg(long)]
    tenant: String,
    /// Where paths lead that nothing answers: what follows `/obo/` is put behind it. Kept by later imports.
    #[arg(long, value_name = "URL")]
    catch_all: Option<String>,
    /// Answer 404 to what nothing answers, again.
    #[arg(long, conflicts_with = "catch_all")]
    no_catch_all: bool,
    /// Check and report, change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON, one document a line.
    #[arg(long)]
    json: bool,
}

pub async fn import(args: &OboArgs, place: &Place, db: &Db) -> Outcome {
    let mut sources = Vec::with_capacity(args.paths.len());
    for path in &args.paths {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| file.clone())?;
        sources.push(Source { file, text });
    }
    let own = OwnAddress::new(&place.config.server.origin());
    let clock = Clock::system();
    let import = Import {
        ground: Ground {
            db,
            clock: &clock,
            own: &own,
            tenant_id: tenant(db, &args.tenant).await?,
            quotas: Defaults::from(&place.config.quotas),
            dry_run: args.dry_run,
        },
        catch_all: match (&args.catch_all, args.no_catch_all) {
            (Some(target), _) => CatchAll::To(target.clone()),
            (None, true) => CatchAll::None,
            (None, false) => CatchAll::Keep,
        },
    };
    let mut out = std::io::stdout().lock();
    match import.files(&sources).await {
        Ok(report) => {
            for line in told(&report, args) {
                writeln!(out, "{line}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(ImportError::Faults(faults)) => {
            for fault in &faults {
                writeln!(out, "{}", finding(fault, "refused", args.json))?;
            }
            eprintln!("resolute: {}", ImportError::Faults(faults));
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error.into()),
    }
}

/// The report, line by line.
fn told(report: &Report, args: &OboArgs) -> Vec<String> {
    let mut lines: Vec<String> =
        report.warnings.iter().map(|warning| finding(warning, "warning", args.json)).collect();
    for (file, rules) in &report.files {
        lines.push(if args.json {
            json!({"file": file, "rules": rules}).to_string()
        } else {
            format!("{}: {rules} rules", shown(file))
        });
    }
    let Report { rules, checks, changed, made_domain, .. } = report;
    lines.push(if args.json {
        let summary = json!({
            "domain": "obo", "rules": rules, "checks": checks, "made_domain": made_domain, "changed": changed,
            "dry_run": args.dry_run,
        });
        summary.to_string()
    } else {
        let closing = match (changed, args.dry_run) {
            (_, true) => "; a dry run, nothing was changed",
            (true, false) => "",
            (false, false) => "; nothing to change",
        };
        format!("obo: {rules} rules, {checks} of {checks} stated answers are right{closing}")
    });
    lines
}
