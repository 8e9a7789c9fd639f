//! `resolute serve`: starts everything in order and stops it in the opposite one.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Outcome;
use super::database::{Place, Reached};
use crate::app::{self, App};
use crate::clock::Clock;
use crate::config::{Config, Overrides};
use crate::db::{Db, PoolSettings, migrate};
use crate::http::serve::{Limits, serve};
use crate::ids::Ids;
use crate::lifecycle::{Deaths, Tasks, raise_open_files};
use crate::secret;

/// Open files that are no clients.
const FILES_ASIDE: u64 = 100;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and port of the public listener.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// On an empty database, make tenant and domain `demo` and an admin key, and print what to try.
    #[arg(long)]
    demo: bool,
}

impl Args {
    pub fn overrides(&self) -> Overrides {
        self.listen.iter().map(|listen| ("server", "listen", listen.clone())).collect()
    }
}

pub async fn run(args: &Args, place: Place) -> Outcome {
    let (files, wanted) = (raise_open_files(), place.config.server.max_connections);
    if files
        .is_some_and(|files| files < u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(FILES_ASIDE))
    {
        tracing::warn!(
            files,
            wanted,
            "server.max_connections is more than the open files that the system allows"
        );
    }
    // The ports first: a second server must not even touch the database.
    let listener = bind("server.listen", &place.config.server.listen).await?;
    let ops = match place.config.ops.listen.as_str() {
        "" => None,
        address => Some(bind("ops.listen", address).await?),
    };
    let mut signals = Signals::listen()?;
    let reached = tokio::select! {
        reached = place.reach_to_serve() => reached?,
        // A private cluster that was starting is told to stop as its start is dropped.
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    let served = with_database(args, place.config, &reached, listener, ops, signals).await;
    reached.release().await?;
    served
}

async fn with_database(
    args: &Args,
    config: Config,
    reached: &Reached,
    listener: TcpListener,
    ops: Option<TcpListener>,
    mut signals: Signals,
) -> Outcome {
    let target = &reached.target;
    let schema = async {
        if config.database.migrate_at_start {
            migrate::migrate(target, migrate::PATIENCE).await.map(|_| ())
        } else {
            migrate::verify(target).await
        }
    };
    tokio::select! {
        ready = schema => ready?,
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    }
    let metrics = app::install_metrics().context("metrics")?;
    let db = Db::open(target, &PoolSettings::from(&config.database))?;
    let (tasks, deaths) = Tasks::new();
    let (clock, ids) = (Clock::system(), Ids::os());
    let secret = secret::load(&config.security, &ids)?;
    secret::verify(db.management(), &secret, clock.now()).await?;
    let app = App::new(config, db.clone(), clock, ids, secret, tasks.clone(), metrics);
    app.start_tasks();

    let limits = Limits {
        name: "public",
        max_connections: app.config.server.max_connections,
        header_timeout: Duration::from_secs(app.config.server.header_timeout_seconds),
        write_timeout: app.config.server.request_timeout(),
    };
    let address = listener.local_addr()?;
    tasks.spawn_stopping_itself(
        "public listener",
        serve(listener, app.public_router(), limits, tasks.clone()),
    );
    if let Some(ops) = ops {
        tracing::info!(address = %ops.local_addr()?, "operator's listener");
        let limits = Limits { name: "ops", max_connections: 64, ..limits };
        tasks.spawn_stopping_itself("ops listener", serve(ops, app.ops_router(), limits, tasks.clone()));
    }
    tracing::info!(%address, database = ?target, version = env!("CARGO_PKG_VERSION"), "serving");
    if args.demo {
        let origin = if app.config.server.public_url.is_empty() {
            format!("http://{address}")
        } else {
            app.config.server.origin()
        };
        super::demo::greet(&app, &origin).await?;
    }
    let outcome = wait_and_stop(&app.config, &tasks, deaths, reached, signals).await;
    db.close().await;
    outcome
}

async fn bind(setting: &str, address: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("{setting} = {address}: cannot listen"))
}

/// The signals that end a server, heard from before its start, so that Ctrl-C while it starts leaves nothing behind.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        }
    }
}

/// Waits for a signal or a death, then stops gracefully. SIGTERM keeps accepting for the drain delay, so that load
/// balancers notice; SIGINT comes from a person at a terminal and skips it; a second signal ends the wait.
async fn wait_and_stop(
    config: &Config,
    tasks: &Tasks,
    mut deaths: Deaths,
    reached: &Reached,
    mut signals: Signals,
) -> Outcome {
    let (delay, outcome) = tokio::select! {
        name = deaths.next() => (0, Err(anyhow::anyhow!("the task `{name}` died; see the log"))),
        () = reached.died() => (0, Err(anyhow::anyhow!("the private PostgreSQL ended; its log says why"))),
        kind = signals.next() => {
            let at_terminal = kind == SignalKind::interrupt();
            (if at_terminal { 0 } else { config.server.drain_delay_seconds }, Ok(ExitCode::SUCCESS))
        }
    };
    tracing::info!(drain_delay_seconds = delay, "stopping");
    tasks.drain();
    let limit = Duration::from_secs(config.server.stop_limit_seconds);
    let stop = async {
        tokio::time::sleep(Duration::from_secs(delay)).await;
        tasks.stop(limit).await
    };
    let finished = tokio::select! {
        finished = stop => finished,
        _ = signals.next() => false,
    };
    if !finished {
        tracing::warn!("stopped before everything had ended");
    }
    outcome
}
