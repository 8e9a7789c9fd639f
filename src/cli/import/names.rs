//! `resolute import csv` and `jsonl`: names.

use std::path::PathBuf;
use std::process::ExitCode;

use super::printer::Printer;
use super::{Outcome, tenant};
use crate::cli::database::Place;
use crate::clock::Clock;
use crate::db::Db;
use crate::db::quota::Defaults;
use crate::ids::Ids;
use crate::purl::import::run::{Import, Options};
use crate::purl::import::source::Format;
use crate::purl::target::OwnAddress;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "four independent switches of a command line")]
pub struct Args {
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

pub async fn import(format: Format, args: &Args, place: &Place, db: &Db) -> Outcome {
    let own = OwnAddress::new(&place.config.server.origin());
    let import = Import {
        db,
        clock: &Clock::system(),
        ids: &Ids::os(),
        own: &own,
        tenant_id: tenant(db, &args.tenant).await?,
        quotas: Defaults::from(&place.config.quotas),
        format,
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
