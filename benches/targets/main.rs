//! `make bench`: every row of the table of targets, baseline and product in turn on this machine. It writes
//! `report.json` and `report.html` and exits with 1 only where data were lost or wrong: how fast this machine is today
//! is no defect.

mod bare;
mod machine;
mod page;
mod report;
mod rows;
mod stand;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

use resolute::lifecycle::raise_open_files;

use report::{Goal, Report, Target, shown};
use rows::curves::Reach;
use rows::{Bench, Plan};
use stand::{Server, Stand};

#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a command")]
struct Args {
    /// Each path once, in seconds: the figures say nothing.
    #[arg(long)]
    quick: bool,
    /// The curves in place of the targets: how the figures go as the work grows.
    #[arg(long)]
    curves: bool,
    /// Watch memory for so many seconds at the end of the curves.
    #[arg(long)]
    soak: Option<u64>,
    /// Rounds of the targets in which baseline and product take turns; medians count.
    #[arg(long)]
    rounds: Option<u32>,
    /// Directory of PostgreSQL's programs; default: they are searched in PATH.
    #[arg(long)]
    postgres: Option<PathBuf>,
    /// Serve a fixed redirect.
    #[arg(long, hide = true)]
    bare: bool,
    /// What cargo passes.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.map_err(Into::into).and_then(|runtime| {
        if args.bare {
            return runtime.block_on(bare::serve()).map(|()| ExitCode::SUCCESS);
        }
        runtime.block_on(run(&args))
    });
    ended.unwrap_or_else(|error| {
        eprintln!("bench: {error:#}");
        ExitCode::FAILURE
    })
}

async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("the target directory")?;
    let directory = target.join("bench");
    // The servers inherit it.
    raise_open_files();
    let stand = Stand::start(&directory).await?;
    let report = Report { machine: machine::describe(&stand, args.quick).await?, ..Report::default() };
    let pgbench = args.postgres.as_deref().unwrap_or(Path::new("")).join("pgbench");
    let mut plan = if args.quick { Plan::quick() } else { Plan::full() };
    plan.rounds = args.rounds.unwrap_or(plan.rounds).max(1);
    let mut bench = Bench::new(stand, plan, report, pgbench).await?;
    let measured = if args.curves { curves(&mut bench, args) } else { measure(&mut bench).await };
    let Bench { stand, mut report, .. } = bench;
    stand.stop().await?;
    if !args.curves {
        headlines(&mut report);
        for (name, against, goal) in PENDING {
            report.target(Target::new(name, against, "", goal));
        }
    }
    let file = directory.join(if args.curves { "curves" } else { "report" });
    std::fs::write(file.with_extension("json"), format!("{:#}\n", report.to_json()))?;
    std::fs::write(file.with_extension("html"), page::render(&report))?;
    print(&report, args.curves);
    println!("\n{0}.json and {0}.html", file.display());
    measured?;
    Ok(if report.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Rows whose feature is not there yet.
const PENDING: [(&str, &str, Goal); 1] =
    [("listing page at depth 1,000,000", "first page", Goal::AtMost(1.5))];

fn curves(bench: &mut Bench, args: &Args) -> anyhow::Result<()> {
    let server = Server::start(&bench.stand, "info")?;
    let reach = if args.quick { Reach::quick() } else { Reach::full() };
    let (few, many) = bench.curves(&server, &reach)?;
    bench.two_servers(&server)?;
    server.stop()?;
    if let Some(seconds) = args.soak.or(args.quick.then_some(3)) {
        // A fresh one, so that it is not what the curves left behind that is watched.
        let server = Server::start(&bench.stand, "info")?;
        bench.soak(&server, (&few, &many), Duration::from_secs(seconds))?;
        server.stop()?;
    }
    Ok(())
}

async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let mut peak = 0;
    let mut stopped = |server: Server| -> anyhow::Result<u64> {
        peak = peak.max(server.stop()?.unwrap_or_default());
        Ok(peak)
    };
    let server = Server::start(&bench.stand, "info")?;
    say("names");
    let (few, _) = bench.keep_names(&server, 1_000)?;
    let (many, manifest) = bench.keep_names(&server, bench.plan.names)?;
    let tenant = manifest.tenants.first().context("a tenant")?;
    let (tenant_id, path) =
        (tenant.tenant_id.context("its id")?, tenant.domains.first().context("a domain")?.clone());
    let domain_id = bench.domain_id(&path).await?;
    stopped(server)?;

    for round in 1..=bench.plan.rounds {
        say(&format!("round {round} of {}", bench.plan.rounds));
        let server = Server::start(&bench.stand, "info")?;
        bench.writes(&server)?;
        bench.uncached(&server, (&many, tenant_id, domain_id, manifest.names))?;
        bench.cached(&server, &path, ("cached resolve", 0.6))?;
        stopped(server)?;
        let server = Server::start(&bench.stand, "warn")?;
        bench.cached(&server, &path, ("cached resolve, access log off", 0.8))?;
        stopped(server)?;
    }

    say("latencies");
    let server = Server::start(&bench.stand, "info")?;
    bench.drains(&server)?;
    bench.half_load(&server, &few)?;
    bench.fairness(&server).await?;
    bench.creates_beside_import(&server).await?;
    let peak = stopped(server)?;
    let row = Target::new("resident memory at 1,000 connections", "", "MB", Goal::AtMost(150.0));
    let bytes = u32::try_from(peak / 1_000).context("a server of terabytes")?;
    bench.report.target(row).add(f64::from(bytes) / 1e3, None);
    Ok(())
}

/// What the systems that this one learnt from reached, on machines of their own; higher on two cores is the goal.
fn headlines(report: &mut Report) {
    let rows = [
        ("votes, absolute", "ballots on one poll", 150.0),
        ("writes, absolute", "ballots over 50 polls", 10_632.0),
        ("reads, absolute", "uncached resolve, 1 million names", 26_517.0),
        ("creates, absolute", "PURL creation, one domain", 3_173.0),
    ];
    for (name, of, goal) in rows {
        let measured = report.targets.iter().find(|target| target.name == of).and_then(Target::product);
        let target = report.target(Target::new(name, "", "/s", Goal::AtLeast(goal)));
        if let Some(figure) = measured {
            target.add(figure, None);
        }
    }
}

fn say(what: &str) {
    eprintln!("bench: {what}");
}

fn print(report: &Report, curves: bool) {
    if curves {
        for curve in &report.curves {
            let points = curve.medians();
            let points = points.iter().map(|(x, y)| format!("{}: {}", shown(*x), shown(*y)));
            let points = if points.len() > 20 {
                "see the page".to_owned()
            } else {
                points.collect::<Vec<_>>().join("  ")
            };
            println!("{:<66} {:<3} {points}", curve.name, curve.unit);
        }
        println!();
    }
    println!("{:<50} {:>12} {:>12} {:>10} {:>10}", "work", "product", "baseline", "figure", "goal");
    for target in &report.targets {
        let number = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), shown);
        let word = match target.pass() {
            Some(true) => "pass",
            Some(false) => "misses",
            None => "pending",
        };
        println!(
            "{:<50} {:>12} {:>12} {:>10} {:>10} {word} {}",
            target.name,
            number(target.product()),
            number(target.baseline()),
            number(target.figure()),
            shown(target.goal.number()),
            target.note
        );
    }
    for fault in &report.faults {
        println!("LOST OR WRONG DATA: {fault}");
    }
}
