//! `resolute config check`: says whether the configuration is good, and what is risky about it.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::{Outcome, print_json, print_line};
use crate::config::{Environment, Overrides, find_file, load};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check file and environment; every fault is listed.
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn check(args: &CheckArgs, file: Option<&Path>, environment: &Environment) -> Outcome {
    let (faults, warnings, file) = match load(file, environment, &Overrides::new()) {
        Ok(loaded) => (Vec::new(), loaded.warnings, loaded.file),
        Err(error) => (error.0, Vec::new(), find_file(file)),
    };
    let good = faults.is_empty();
    if args.json {
        print_json(&json!({ "ok": good, "file": file, "faults": faults, "warnings": warnings }))?;
    } else {
        let file = file.map_or_else(
            || "defaults (no file) and environment".to_owned(),
            |file| format!("{} and environment", file.display()),
        );
        print_line(format_args!("{file}: {}", if good { "good" } else { "faulty" }))?;
        for fault in &faults {
            print_line(format_args!("  fault    {fault}"))?;
        }
        for warning in &warnings {
            print_line(format_args!("  warning  {warning}"))?;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
