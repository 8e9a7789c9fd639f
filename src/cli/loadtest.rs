//! `resolute loadtest votes|purls|resolve|seats|cleanup`: load on a running server, and the proof that nothing was lost.
//! Exit status 0 only if every request was answered rightly and everything acknowledged is stored.

mod args;
mod ground;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

pub use self::args::{Command, Common};
use super::database::Place;
use super::{Outcome, print_json, print_line};
use crate::clock::Clock;
use crate::db::Db;
use crate::ids::Ids;
use crate::lifecycle::raise_open_files;
use crate::load::manifest::Manifest;
use crate::load::report::Report;
use crate::load::session::Session;
use crate::load::{Aim, Ground, cleanup};

/// Files that are open beside the connections: those of the database, of the runtimes, of the process.
const OTHER_FILES: usize = 64;

pub async fn run(command: &Command, place: &Place) -> Outcome {
    let database = place.connect().await?;
    let result = match command {
        Command::Cleanup(args) => clean(&database.db, &args.manifest).await.map(|()| ExitCode::SUCCESS),
        _ => test(command, place, &database.db).await,
    };
    database.close().await?;
    result
}

async fn test(command: &Command, place: &Place, db: &Db) -> Outcome {
    let common = command.common().context("a scenario")?;
    let files = raise_open_files().and_then(|files| usize::try_from(files).ok());
    if files.is_some_and(|files| files < common.concurrency + OTHER_FILES) {
        bail!(
            "{} connections are more than this process may open (ulimit -n: {})",
            common.concurrency,
            files.unwrap_or_default()
        );
    }
    let session = Session { db, aim: aim(common, place)?, run: run_id(), server_pid: common.server_pid };
    if let Command::Resolve(args) = command
        && let Some(kept) = &args.reuse
    {
        let kept = Manifest::read(kept)?;
        let domain = kept.tenants.first().and_then(|tenant| tenant.domains.first());
        let domain = domain.filter(|_| kept.names > 0).context("the manifest has no names to resolve")?;
        let report = session.resolve(domain, kept.names, interrupted()).await?;
        return show(report, common, place);
    }
    let (tenants, domains) = command.ground();
    let mut manifest = Manifest::plan(&session.run, format!("{:?}", db.target()), tenants, domains);
    let file = common
        .manifest
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("data/loadtest/{}.json", session.run)));
    manifest.write(&file)?;
    let tested = async {
        let ground = ground::make(db, &place.config.quotas, &mut manifest).await?;
        manifest.names = match command {
            Command::Resolve(args) => args.names(),
            Command::Purls(args) => args.existing,
            _ => 0,
        };
        manifest.write(&file)?;
        scenario(command, &session, &ground).await
    };
    let tested = tested.await;
    let cleaned = if common.keep {
        eprintln!("kept; `resolute loadtest cleanup {}` removes it", file.display());
        Ok(())
    } else {
        let left = || format!("what the run made is still there, see {}", file.display());
        clean(db, &file).await.with_context(left)
    };
    let shown = show(tested?, common, place)?;
    cleaned.map(|()| shown)
}

async fn scenario(command: &Command, session: &Session<'_>, ground: &[Ground]) -> anyhow::Result<Report> {
    let first = ground.first().context("a tenant")?;
    match command {
        Command::Votes(args) => {
            session.votes(ground, (args.participants, args.polls), args.before, interrupted()).await
        }
        Command::Purls(args) => session.purls(first, (args.names, args.existing), interrupted()).await,
        Command::Resolve(args) => {
            let names = args.names();
            session.make_names(first, names).await?;
            let (_, domain) = first.domains.first().context("a domain")?;
            session.resolve(domain, names, interrupted()).await
        }
        Command::Seats(args) => session.seats(first, (args.racers, args.seats), interrupted()).await,
        Command::Cleanup(_) => bail!("no scenario"),
    }
}

/// Ctrl-C: stop asking, then compare and report as usual.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn clean(db: &Db, file: &Path) -> anyhow::Result<()> {
    let manifest = Manifest::read(file)?;
    let removed = cleanup::clean(&mut db.hot().await?, &manifest).await?;
    std::fs::remove_file(file).with_context(|| file.display().to_string())?;
    eprintln!("run {}: {removed} rows removed", manifest.run);
    Ok(())
}

fn show(mut report: Report, common: &Common, place: &Place) -> Outcome {
    let most = place.config.server.max_connections;
    if common.concurrency > most {
        report.warnings.push(format!(
            "{} connections are more than the server takes at once (server.max_connections = {most})",
            common.concurrency
        ));
    }
    if common.json {
        print_json(&serde_json::to_value(&report)?)?;
    } else {
        print_line(report.to_string().trim_end())?;
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn aim(common: &Common, place: &Place) -> anyhow::Result<Aim> {
    let url = common.url.clone().unwrap_or_else(|| format!("http://{}", place.config.server.listen));
    Ok(Aim {
        address: address("--url", &url)?,
        replicas: common.replicas.iter().map(|url| address("--replicas", url)).collect::<Result<_, _>>()?,
        concurrency: common.concurrency,
        rate: common.rate,
        duration: common.duration.map(Duration::from_secs_f64),
        threads: common.threads,
    })
}

/// `host:port` of a server.
fn address(flag: &str, url: &str) -> anyhow::Result<String> {
    let parsed = url::Url::parse(url).with_context(|| format!("{flag} {url}"))?;
    if parsed.scheme() != "http" {
        bail!("{flag} {url}: only http:// is spoken; point it at the server itself, behind what does TLS");
    }
    let host = parsed.host_str().with_context(|| format!("{flag} {url}: no host"))?;
    Ok(format!("{host}:{}", parsed.port().unwrap_or(80)))
}

/// Ordered by time, and of another run's kind never: 48 bits of time and 32 of chance.
fn run_id() -> String {
    let id = Ids::os().uuid_v7(Clock::system().now()).simple().to_string();
    format!("{}{}", &id[..12], &id[24..])
}
