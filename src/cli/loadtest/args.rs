//! Flags of `resolute loadtest`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Everybody casts once on every poll; each receipt is held against the stored ballot.
    Votes(VotesArgs),
    /// Names are made; each acknowledgement is held against the stored name.
    Purls(PurlsArgs),
    /// Names are resolved; each redirect must lead where its name points.
    Resolve(ResolveArgs),
    /// Everybody wants one of few seats; exactly as many as there are must be given.
    Seats(SeatsArgs),
    /// Remove what a run made, by its manifest.
    Cleanup(CleanupArgs),
}

/// What all scenarios take.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Connections, all open before the first request leaves.
    #[arg(long, default_value_t = 64, value_parser = positive)]
    pub concurrency: usize,
    /// Where the server listens; default: server.listen of the configuration.
    #[arg(long, value_name = "http://HOST:PORT")]
    pub url: Option<String>,
    /// More servers on the same database, separated by commas; connections are spread over all.
    #[arg(long, value_name = "URL,URL", value_delimiter = ',')]
    pub replicas: Vec<String>,
    /// Requests a second on a fixed schedule, latency counted from it (an open loop); default: every connection asks
    /// again as soon as it is answered.
    #[arg(long, value_parser = above_zero)]
    pub rate: Option<f64>,
    /// Stop asking after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = above_zero)]
    pub duration: Option<f64>,
    /// Threads of the generator.
    #[arg(long, default_value_t = 1, value_parser = positive)]
    pub threads: usize,
    /// Process id of the server, to report its processor time and memory.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Leave what the run made; its manifest says what that is.
    #[arg(long)]
    pub keep: bool,
    /// File of the manifest; default: data/loadtest/RUN.json.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct VotesArgs {
    /// People in each tenant's meeting.
    #[arg(long)]
    pub participants: u64,
    /// Polls of each meeting.
    #[arg(long, default_value_t = 1)]
    pub polls: u64,
    /// Tenants.
    #[arg(long, default_value_t = 1, value_parser = positive)]
    pub tenants: usize,
    /// So many people of each meeting cast before anything is measured.
    #[arg(long, default_value_t = 0)]
    pub before: u64,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, clap::Args)]
pub struct PurlsArgs {
    /// Names to make.
    #[arg(long)]
    pub names: u64,
    /// Domains they are spread over.
    #[arg(long, default_value_t = 1, value_parser = positive)]
    pub domains: usize,
    /// Names that the first domain has already; `resolve --reuse` of the manifest resolves them.
    #[arg(long, default_value_t = 0)]
    pub existing: u64,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, clap::Args)]
pub struct ResolveArgs {
    /// Names that there are; default: 1,000, or a million with --uncached.
    #[arg(long)]
    names: Option<u64>,
    /// So many names that the server's cache does not help.
    #[arg(long)]
    uncached: bool,
    /// Resolve the names that an earlier run kept.
    #[arg(long, value_name = "MANIFEST", conflicts_with_all = ["names", "uncached", "keep"])]
    pub reuse: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, clap::Args)]
pub struct SeatsArgs {
    /// People who want one.
    #[arg(long)]
    pub racers: u64,
    /// Seats that there are.
    #[arg(long, default_value_t = 50, value_parser = seats)]
    pub seats: u64,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, clap::Args)]
pub struct CleanupArgs {
    /// The file that the run wrote.
    pub manifest: PathBuf,
}

impl ResolveArgs {
    pub fn names(&self) -> u64 {
        self.names.unwrap_or(if self.uncached { 1_000_000 } else { 1_000 })
    }
}

impl Command {
    /// None for what is no scenario.
    pub fn common(&self) -> Option<&Common> {
        match self {
            Self::Votes(args) => Some(&args.common),
            Self::Purls(args) => Some(&args.common),
            Self::Resolve(args) => Some(&args.common),
            Self::Seats(args) => Some(&args.common),
            Self::Cleanup(_) => None,
        }
    }

    /// Tenants, and domains of each.
    pub fn ground(&self) -> (usize, usize) {
        match self {
            Self::Votes(args) => (args.tenants, 0),
            Self::Purls(args) => (1, args.domains),
            Self::Resolve(_) => (1, 1),
            Self::Seats(_) => (1, 0),
            Self::Cleanup(_) => (0, 0),
        }
    }
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a whole number above 0".to_owned())
}

fn seats(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "expected 1 to 1000000".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}
