//! `resolute headroom`: measures now, and prints what `/health/headroom` would say. Exit status 1 when critical.

use std::process::ExitCode;

use super::database::Place;
use super::{Outcome, print_json, print_line};
use crate::db::headroom::{self, Settings, Status};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: &Args, place: &Place) -> Outcome {
    let database = place.connect().await?;
    let measured = headroom::measure(database.db.management(), &Settings::from(&place.config.headroom)).await;
    database.close().await?;
    let report = measured?;
    if args.json {
        print_json(&serde_json::to_value(&report)?)?;
    } else {
        print_line(headroom::render_table(&report).trim_end())?;
    }
    Ok(if report.status == Status::Critical { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
