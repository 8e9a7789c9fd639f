//! `resolute migrate`: applies what the schema lacks.

use std::process::ExitCode;

use serde_json::json;

use super::database::Place;
use super::{Outcome, print_json, print_line};
use crate::db::migrate;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: &Args, place: &Place) -> Outcome {
    let reached = place.reach().await?;
    let applied = migrate::migrate(&reached.target, migrate::PATIENCE).await;
    reached.release().await?;
    let applied = applied?;
    if args.json {
        print_json(&json!({ "applied": applied }))?;
    } else if applied.is_empty() {
        print_line("the schema is up to date")?;
    } else {
        print_line(format_args!("applied {} migration(s): {applied:?}", applied.len()))?;
    }
    Ok(ExitCode::SUCCESS)
}
