//! What waits and what was done since this process started, for people: `/api/v1/stats` for a tenant's admins, of their
//! tenant; `/stats` on the operator's listener, of all. What is watched and alerted on is in the metrics.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::auth::MayAdminister;
use super::describe::{Answer, Schema};
use super::route::{Access, Route};
use super::schema::{CACHE_CONTROL, about, array, instant, integer, object, words};
use crate::db::Db;
use crate::db::batch::Stats;

/// The kinds of queues, as their metrics are labelled.
pub const QUEUES: [&str; 4] = ["ballots", "names", "changes", "lookups"];

const STATS: Schema = Schema::new("Stats", || {
    let count = |help: &str| about(integer(0, None), help);
    let waiting = object(json!({
        "items": count("Now."),
        "bytes": count("Of these."),
        "peak_items": count("Most at once since the start."),
    }));
    let queue = object(json!({
        "queue": words(&QUEUES),
        "waiting": waiting,
        "batches": count("Transactions."),
        "items": count("Items in them."),
        "largest": count("Items of the largest."),
        "refused": count("Items refused because a bound was reached."),
    }));
    object(
        json!({"since": about(instant(), "Start of the process that answers."), "queues": array(queue, 0, None)}),
    )
});

/// The routes.
pub const ROUTES: &[Route] = &[Route::new("GET", "/api/v1/stats", Access::Administer)
    .about("Tenants and keys", "What of the tenant's waits to be written, and what was written")
    .help("Of the process that answers, since its start; another server has counts of its own.")
    .answers(&[Answer::json(200, "The counts.", STATS).headers(&[CACHE_CONTROL])])];

/// What the routes answer from.
#[derive(Clone)]
pub struct Source {
    /// When the process started.
    pub since: OffsetDateTime,
    /// The queues, of a tenant or of all.
    pub queues: Arc<dyn Fn(Option<i64>) -> Vec<Stats> + Send + Sync>,
    /// What caches hold.
    pub caches: Arc<dyn Fn() -> Vec<(&'static str, usize)> + Send + Sync>,
    /// The pools.
    pub db: Db,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Source {
    fn view(&self, tenant_id: Option<i64>) -> Value {
        let since = self.since.format(&Rfc3339).unwrap_or_default();
        json!({"since": since, "queues": (self.queues)(tenant_id)})
    }
}

/// The route of the public listener.
pub fn router(source: Source) -> Router {
    Router::new().route(ROUTES[0].path, get(of_tenant)).with_state(source)
}

/// The route of the operator's listener.
pub fn ops_router(source: Source) -> Router {
    Router::new().route("/stats", get(of_all)).with_state(source)
}

async fn of_tenant(State(source): State<Source>, MayAdminister(caller): MayAdminister) -> Response {
    answer(source.view(Some(caller.tenant_id)))
}

async fn of_all(State(source): State<Source>) -> Response {
    let mut view = source.view(None);
    let pools = source.db.status().into_iter().map(
        |(pool, open, idle, waiting)| json!({"pool": pool, "open": open, "idle": idle, "waiting": waiting}),
    );
    view["pools"] = pools.collect();
    let caches = (source.caches)();
    view["caches"] =
        caches.into_iter().map(|(cache, entries)| json!({"cache": cache, "entries": entries})).collect();
    answer(view)
}

fn answer(view: Value) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(view)).into_response()
}
