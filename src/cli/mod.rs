//! The command line: one file a subcommand. Exit status 0 done, 1 failed, 2 wrong usage. Results go to standard
//! output, everything else to standard error.

mod config;
mod database;
mod demo;
mod headroom;
mod healthcheck;
mod import;
mod key;
mod loadtest;
mod migrate;
mod openapi;
mod serve;
mod tenant;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::config::{Environment, Overrides};

/// One server for persistent URLs and for votes.
#[derive(Debug, Parser)]
#[command(name = "resolute", version, disable_help_subcommand = true)]
struct Cli {
    /// Settings file; default: config/resolute.toml if it exists.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server, with a private PostgreSQL unless a database is configured.
    Serve(serve::Args),
    /// Bring the schema up to date.
    Migrate(migrate::Args),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Ask the server at `server.listen` of this configuration whether it is ready; exit status 1 and the reason if not.
    Healthcheck,
    /// Show how many more rows the ids of each table can number.
    Headroom(headroom::Args),
    /// Manage tenants.
    #[command(subcommand)]
    Tenant(tenant::Command),
    /// Manage API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// Import names from files.
    #[command(subcommand)]
    Import(import::Command),
    /// Put load on a running server, and prove that nothing was lost.
    #[command(subcommand)]
    Loadtest(loadtest::Command),
    /// Print the OpenAPI document.
    Openapi,
}

/// How a command ended when it did not fail.
type Outcome = anyhow::Result<ExitCode>;

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(cli)));
    outcome.unwrap_or_else(|error| {
        eprintln!("resolute: {error:#}");
        ExitCode::FAILURE
    })
}

async fn run(cli: Cli) -> Outcome {
    let environment = Environment::of_process();
    let flags = match &cli.command {
        Command::Serve(args) => args.overrides(),
        _ => Overrides::new(),
    };
    if let Command::Config(config::Command::Check(args)) = &cli.command {
        return config::check(args, cli.config.as_deref(), &environment);
    }
    if matches!(cli.command, Command::Openapi) {
        return openapi::print();
    }
    let loaded = crate::config::load(cli.config.as_deref(), &environment, &flags)?;
    // Asked every few seconds: the warnings are the server's to log, once.
    if matches!(cli.command, Command::Healthcheck) {
        return healthcheck::run(&loaded.config).await;
    }
    crate::telemetry::logging::install(&loaded.config.log);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let place = database::Place { config: loaded.config, path: environment.path().cloned() };
    match cli.command {
        Command::Serve(args) => serve::run(&args, place).await,
        Command::Migrate(args) => migrate::run(&args, &place).await,
        Command::Headroom(args) => headroom::run(&args, &place).await,
        Command::Tenant(command) => tenant::run(&command, &place).await,
        Command::Key(command) => key::run(&command, &place).await,
        Command::Loadtest(command) => loadtest::run(&command, &place).await,
        Command::Import(command) => import::run(&command, &place).await,
        Command::Config(_) | Command::Openapi | Command::Healthcheck => Ok(ExitCode::SUCCESS),
    }
}

/// Prints a line of result. Unlike `println!` it fails where the reader is gone or the disk is full.
fn print_line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("standard output")
}

/// Prints a JSON document.
fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print_line(format_args!("{value:#}"))
}

/// A text that somebody else wrote, on one line and without what a terminal would obey.
fn shown(text: &str) -> String {
    let escaped = |character: char| {
        if character.is_control() { character.escape_default().collect() } else { character.to_string() }
    };
    text.chars().map(escaped).collect()
}
