//! Every metric of this program: name, kind, help. docs/metrics.md lists the same, and a test compares both
//! with a running server. Labels are bounded: never a path, a name or an id.

use std::time::Duration;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution, in seconds.
    Seconds,
    /// A distribution of numbers of things.
    Sizes,
}

/// A metric as it is documented.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Full name.
    pub name: &'static str,
    /// What it counts.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
}

impl Metric {
    /// A gauge.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, help }
    }

    /// A counter.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Counter, help }
    }

    /// A distribution, in seconds.
    pub const fn seconds(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Seconds, help }
    }

    /// A distribution of numbers of things.
    pub const fn sizes(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Sizes, help }
    }
}

/// Requests answered.
pub const HTTP_REQUESTS: &str = "resolute_http_requests_total";
/// Time to answer.
pub const HTTP_REQUEST_SECONDS: &str = "resolute_http_request_duration_seconds";
/// Requests being answered.
pub const HTTP_IN_FLIGHT: &str = "resolute_http_requests_in_flight";
/// Open connections.
pub const HTTP_CONNECTIONS: &str = "resolute_http_connections";
/// Requests refused for coming too often.
pub const RATE_LIMITED: &str = "resolute_rate_limited_total";
/// Transactions of the hot path.
pub const DB_TRANSACTION_SECONDS: &str = "resolute_db_transaction_duration_seconds";
/// Connections of the pools.
pub const DB_POOL_CONNECTIONS: &str = "resolute_db_pool_connections";
/// Callers that wait for a connection.
pub const DB_POOL_WAITING: &str = "resolute_db_pool_waiting";
/// Whether the database answers the resolver.
pub const DB_REACHABLE: &str = "resolute_db_reachable";
/// Whether this process hears what the others announce.
pub const LISTEN_CONNECTED: &str = "resolute_listen_connected";
/// Look-ups in caches.
pub const CACHE_LOOKUPS: &str = "resolute_cache_lookups_total";
/// Entries that caches forgot.
pub const CACHE_EVICTIONS: &str = "resolute_cache_evictions_total";
/// Entries of caches.
pub const CACHE_ENTRIES: &str = "resolute_cache_entries";
/// Answers of the resolver.
pub const RESOLUTIONS: &str = "resolute_resolutions_total";
/// Verdicts on ballots.
pub const BALLOTS: &str = "resolute_ballots_total";
/// What this process is.
pub const BUILD_INFO: &str = "resolute_build_info";

/// The metrics of this list, in the order of docs/metrics.md; headroom has its own.
pub const ALL: &[Metric] = &[
    Metric::counter(HTTP_REQUESTS, "Requests answered, by route template, method and status code."),
    Metric::seconds(
        HTTP_REQUEST_SECONDS,
        "Time from the request head to the answer, by route template and method.",
    ),
    Metric::gauge(HTTP_IN_FLIGHT, "Requests that are being answered."),
    Metric::gauge(HTTP_CONNECTIONS, "Open connections, by listener."),
    Metric::counter(
        RATE_LIMITED,
        "Requests refused for coming too often, by policy (key, tenant, address, credential).",
    ),
    Metric::seconds(DB_TRANSACTION_SECONDS, "Time of a hot-path transaction, by its name and outcome."),
    Metric::gauge(DB_POOL_CONNECTIONS, "Connections, by pool and state (open, idle)."),
    Metric::gauge(DB_POOL_WAITING, "Callers that wait for a connection, by pool."),
    Metric::gauge(DB_REACHABLE, "1 while the database answers the resolver, 0 while it answers from memory."),
    Metric::gauge(LISTEN_CONNECTED, "1 while the LISTEN connection stands."),
    Metric::counter(CACHE_LOOKUPS, "Look-ups, by cache and outcome (hit, stale, miss)."),
    Metric::counter(CACHE_EVICTIONS, "Entries forgotten, by cache and reason (written, full)."),
    Metric::gauge(CACHE_ENTRIES, "Entries, by cache."),
    Metric::counter(
        RESOLUTIONS,
        "Answers of the resolver, by outcome (redirect, gone, not_found, unavailable).",
    ),
    Metric::counter(BALLOTS, "Casts, by verdict (accepted, replayed, or the problem code)."),
    Metric::gauge(BUILD_INFO, "1, with the version as label."),
];

/// Upper bounds of the duration histograms, in seconds.
const BUCKETS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds of the histograms of numbers.
const SIZES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Installs the recorder for the whole process and describes every metric. Fails if one is installed already.
pub fn install(all: &[&Metric]) -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_items".into()), SIZES)?
        .install_recorder()?;
    describe(all);
    Ok(handle)
}

/// How often samples are summed up.
const SUM_UP_EVERY: Duration = Duration::from_secs(5);

/// Sums up, without end, the samples of the histograms. They are kept one by one until then or until somebody reads the
/// metrics: a server that nobody scrapes would keep them all, 30 MB a minute at full load.
pub async fn sum_up(handle: PrometheusHandle) {
    loop {
        tokio::time::sleep(SUM_UP_EVERY).await;
        handle.run_upkeep();
    }
}

fn describe(all: &[&Metric]) {
    for metric in all {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help),
            Kind::Gauge => describe_gauge!(metric.name, metric.help),
            Kind::Seconds => describe_histogram!(metric.name, Unit::Seconds, metric.help),
            Kind::Sizes => describe_histogram!(metric.name, Unit::Count, metric.help),
        }
    }
    // Reachable until a question goes unanswered; deaf until LISTEN is answered.
    metrics::gauge!(DB_REACHABLE).set(1.0);
    metrics::gauge!(LISTEN_CONNECTED).set(0.0);
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}
