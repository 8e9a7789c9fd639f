//! What the features say about themselves, joined: routes, problem codes, statements, listings, jobs, metrics. Tests and
//! documents are made of these.

use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, PrometheusHandle};

use crate::db::jobs::{self, Done, Kinds};
use crate::db::keyset::ListingEntry;
use crate::db::notify;
use crate::db::statement::Statement;
use crate::db::{audit, batch, headroom, idempotency};
use crate::http::route::{Access, Route};
use crate::http::{ProblemCode, api_docs, health, problem_codes as codes, problem_docs, stats};
use crate::telemetry::metrics::{self as telemetry, Metric};
use crate::voting::{self, Voting};
use crate::{purl, secret, tenancy};

/// The table of all routes of the public listener; resolution answers every other path.
pub fn routes() -> Vec<Route> {
    let parts = [
        tenancy::ROUTES,
        purl::ROUTES,
        purl::RULE_ROUTES,
        purl::HANDOVER_ROUTES,
        voting::ROUTES,
        secret::ROUTES,
        stats::ROUTES,
        health::ROUTES,
        problem_docs::ROUTES,
        api_docs::ROUTES,
    ];
    parts.into_iter().flatten().copied().collect()
}

/// Everything that the document of the API describes: the table, and resolution.
pub fn operations() -> Vec<Route> {
    routes().into_iter().chain(purl::RESOLUTION.iter().copied()).collect()
}

/// The route of metrics, on the operator's listener and, if configured, on the public one.
pub const METRICS_ROUTE: Route = Route::new("GET", "/metrics", Access::Public);

/// Every problem code this program can answer with.
pub fn problem_codes() -> Vec<&'static ProblemCode> {
    let features = [tenancy::api::problems::ALL, purl::api::problems::ALL, voting::api::problems::ALL];
    codes::ALL.iter().chain(features.into_iter().flatten()).copied().collect()
}

/// Every statement of the hot path, for the census.
pub fn statements() -> Vec<&'static Statement> {
    let shared =
        [audit::STATEMENTS, idempotency::STATEMENTS, notify::STATEMENTS].into_iter().flatten().copied();
    shared.chain(purl::statements()).chain(voting::statements()).collect()
}

/// Every listing of this program.
pub fn listings() -> Vec<ListingEntry> {
    [tenancy::listings(), purl::listings(), voting::listings()].into_iter().flatten().collect()
}

/// Every kind of job.
pub(super) fn job_kinds(voting: Voting) -> Kinds {
    let clock = voting.clock.clone();
    Kinds::default()
        .on_demand(jobs::probe::KIND, jobs::probe::run)
        .recurring(jobs::prune::KIND, Duration::from_hours(1), jobs::prune::run)
        .recurring(idempotency::PRUNE_KIND, Duration::from_hours(1), move |_, conn| {
            let now = clock.now();
            Box::pin(async move {
                Ok(if idempotency::prune(conn, now).await? { Done::More } else { Done::Finished })
            })
        })
        .recurring("close_due_polls", Duration::from_secs(1), move |_, conn| {
            let voting = voting.clone();
            Box::pin(async move {
                Ok(if voting.close_due_polls(conn).await? { Done::More } else { Done::Finished })
            })
        })
}

/// Every metric of this program.
pub fn metrics() -> Vec<&'static Metric> {
    telemetry::ALL.iter().chain(batch::METRICS).chain(jobs::METRICS).chain(headroom::METRICS).collect()
}

/// Installs the metrics recorder of the process and describes every metric.
pub fn install_metrics() -> Result<PrometheusHandle, BuildError> {
    let handle = telemetry::install(&metrics())?;
    headroom::zero_metrics();
    Ok(handle)
}
