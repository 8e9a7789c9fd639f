//! `resolute migrate`: applies what the schema lacks.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::database::Place;
use super::{Outcome, print_json};
use crate::db::migrate;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: &Args, place: &Place) -> Outcome {
    let (target, cluster) = place.target().await?;
    let applied = migrate::migrate(&target, Duration::from_secs(60)).await;
    super::database::release(cluster).await?;
    let applied = applied?;
    if args.json {
        print_json(&json!({ "applied": applied }));
    } else if applied.is_empty() {
        println!("the schema is up to date");
    } else {
        println!("applied {} migration(s): {applied:?}", applied.len());
    }
    Ok(ExitCode::SUCCESS)
}
