//! Sends the requests of a scenario over all connections and gathers what came back. It does not know what a request
//! means: the scenario writes the bytes and judges the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::Value;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use super::Aim;
use super::histogram::Histogram;
use super::http::{self, Answer, Connection};
use super::pace::Pace;

/// Longer than a server takes for its own time-out.
const PATIENCE: Duration = Duration::from_mins(1);
/// Connections that are being made at once by one thread: fewer than a listener's queue holds.
const CONNECTING: usize = 64;
/// How often a lost connection is made again, one after the other, before it is given up.
const RECONNECTS: u32 = 20;

/// A scenario: what to send and what must come back.
pub trait Work: Send + Sync + 'static {
    /// What is kept of an acknowledgement, to be compared with what is stored.
    type Ack: Send + 'static;
    /// How many turns there are.
    fn turns(&self) -> u64;
    /// Appends the request of a turn.
    fn write(&self, turn: u64, out: &mut Vec<u8>);
    /// Judges its answer.
    fn judge(&self, turn: u64, answer: &Answer<'_>) -> Judgement<Self::Ack>;
}

/// What an answer is worth.
#[derive(Debug)]
pub enum Judgement<A> {
    /// As it must be; what is kept of it.
    Right(Option<A>),
    /// A success that is not what was asked for.
    Wrong(&'static str),
    /// Another status; nothing was acknowledged.
    Refused,
}

/// What came back.
#[derive(Debug)]
pub struct Driven<A> {
    /// Latencies of right answers.
    pub latencies: Histogram,
    /// How often each kind of failure came.
    pub errors: BTreeMap<String, u64>,
    /// Turns that were acknowledged, with what is kept.
    pub acks: Vec<(u64, A)>,
    /// Turns whose outcome nobody told: the connection broke, or the server said that it does not know.
    pub unknown: Vec<u64>,
    /// From the first request to the last answer.
    pub elapsed: Duration,
}

impl<A> Default for Driven<A> {
    fn default() -> Self {
        Self {
            latencies: Histogram::default(),
            errors: BTreeMap::new(),
            acks: Vec::new(),
            unknown: Vec::new(),
            elapsed: Duration::ZERO,
        }
    }
}

impl<A> Driven<A> {
    fn failed(&mut self, class: String) {
        *self.errors.entry(class).or_default() += 1;
    }

    fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        for (class, times) in other.errors {
            *self.errors.entry(class).or_default() += times;
        }
        self.acks.extend(other.acks);
        self.unknown.extend(other.unknown);
        self.elapsed = self.elapsed.max(other.elapsed);
    }
}

/// What the connections of a run share.
struct Run<W> {
    work: W,
    addresses: Vec<String>,
    /// Connections that have chosen theirs.
    placed: AtomicUsize,
    concurrency: usize,
    pace: Pace,
    /// Nobody begins before everybody is connected.
    ready: Barrier,
    connecting: Semaphore,
}

/// Does all the work. Every connection is open, and has been answered once, before the first request leaves. `stop`
/// ends the asking; answers are still awaited.
pub async fn drive<W: Work>(
    work: W,
    aim: &Aim,
    stop: impl Future<Output = ()> + Send,
) -> anyhow::Result<(Driven<W::Ack>, W)> {
    let run = Arc::new(Run {
        pace: Pace::new(work.turns(), aim.rate, aim.duration),
        work,
        addresses: std::iter::once(&aim.address).chain(&aim.replicas).cloned().collect(),
        placed: AtomicUsize::new(0),
        concurrency: aim.concurrency,
        ready: Barrier::new(aim.concurrency),
        connecting: Semaphore::new(CONNECTING),
    });
    let threads = aim.threads.clamp(1, aim.concurrency);
    let mut running = JoinSet::new();
    for thread in 0..threads {
        let run = Arc::clone(&run);
        let share = aim.concurrency / threads + usize::from(thread < aim.concurrency % threads);
        running.spawn_blocking(move || on_one_thread(&run, share));
    }
    let all = async {
        let mut driven = Driven::default();
        while let Some(ended) = running.join_next().await {
            driven.merge(ended.context("a thread of the generator")??);
        }
        anyhow::Ok(driven)
    };
    tokio::pin!(all);
    let driven = tokio::select! {
        driven = &mut all => driven?,
        () = stop => {
            run.pace.stop();
            all.await?
        }
    };
    let run = Arc::into_inner(run).ok_or_else(|| anyhow!("a connection outlived its run"))?;
    Ok((driven, run.work))
}

/// One runtime of one thread for a share of the connections: nothing crosses processors but the turn.
fn on_one_thread<W: Work>(run: &Arc<Run<W>>, share: usize) -> anyhow::Result<Driven<W::Ack>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connections = JoinSet::new();
        for _ in 0..share {
            connections.spawn(on_one_connection(Arc::clone(run)));
        }
        let mut driven = Driven::default();
        while let Some(ended) = connections.join_next().await {
            driven.merge(ended.context("a connection of the generator")??);
        }
        Ok(driven)
    })
}

async fn on_one_connection<W: Work>(run: Arc<Run<W>>) -> anyhow::Result<Driven<W::Ack>> {
    let address = &run.addresses[run.placed.fetch_add(1, Ordering::Relaxed) % run.addresses.len()];
    let opened = open(&run, address).await;
    // Also after a failure: the others wait here.
    let first = run.ready.wait().await.is_leader();
    let mut connection = Some(opened?);
    let begun = run.pace.begun();
    let keeper = first.then(|| {
        let run = Arc::clone(&run);
        tokio::task::spawn_blocking(move || run.pace.keep(run.concurrency))
    });
    let (mut driven, mut request) = (Driven::default(), Vec::with_capacity(512));
    while let Some((turn, since)) = run.pace.next().await {
        request.clear();
        run.work.write(turn, &mut request);
        let Some(mut open) = reopen(connection.take(), address).await else {
            driven.failed("cannot connect".to_owned());
            break;
        };
        match tokio::time::timeout(PATIENCE, open.exchange(&request)).await {
            Ok(Ok(answer)) => {
                let latency = since.elapsed();
                match run.work.judge(turn, &answer) {
                    Judgement::Right(ack) => {
                        driven.latencies.record(latency);
                        driven.acks.extend(ack.map(|ack| (turn, ack)));
                    }
                    Judgement::Wrong(reason) => {
                        driven.unknown.push(turn);
                        driven.failed(format!("wrong answer: {reason}"));
                    }
                    Judgement::Refused => {
                        let (class, unknown) = class(&answer);
                        driven.failed(class);
                        driven.unknown.extend(unknown.then_some(turn));
                    }
                }
                if !answer.closing {
                    connection = Some(open);
                }
            }
            Ok(Err(error)) => {
                driven.unknown.push(turn);
                driven.failed(format!("connection: {}", error.kind()));
            }
            Err(_) => {
                driven.unknown.push(turn);
                driven.failed("no answer in time".to_owned());
            }
        }
        driven.elapsed = begun.elapsed();
    }
    if let Some(keeper) = keeper {
        keeper.await?;
    }
    Ok(driven)
}
/// A connection that the server has taken from its queue: it has answered once.
async fn open<W>(run: &Run<W>, address: &str) -> anyhow::Result<Connection> {
    let _slot = run.connecting.acquire().await?;
    let mut connection =
        Connection::open(address).await.with_context(|| format!("connecting to {address}"))?;
    let mut request = Vec::new();
    http::get(&mut request, address, format_args!("/health/live"));
    let status = connection.exchange(&request).await.context("asking /health/live")?.status;
    anyhow::ensure!(status == 200, "/health/live answers {status}");
    Ok(connection)
}

async fn reopen(connection: Option<Connection>, address: &str) -> Option<Connection> {
    if connection.is_some() {
        return connection;
    }
    for attempt in 0..RECONNECTS {
        if let Ok(connection) = Connection::open(address).await {
            return Some(connection);
        }
        tokio::time::sleep(Duration::from_millis(10) * attempt).await;
    }
    None
}

/// Status and problem code, and whether the outcome is unknown.
fn class(answer: &Answer<'_>) -> (String, bool) {
    let problem: Value = serde_json::from_slice(answer.body).unwrap_or_default();
    let code = problem["code"].as_str().unwrap_or_default();
    let unknown = matches!(code, "outcome_unknown" | "request_timeout") || answer.status == 500;
    (format!("{} {code}", answer.status).trim_end().to_owned(), unknown)
}
