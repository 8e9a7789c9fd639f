//! `/health/live`, `/health/ready`, `/health/headroom`. Liveness asks only the process; readiness also asks the database, within one
//! second, whether the schema has what this binary needs, and says which condition fails.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use super::describe::Answer;
use super::health_schemas::{HEADROOM, LIVENESS, READINESS};
use super::route::{Access, Route};
use super::schema::CACHE_CONTROL;
use crate::db::headroom::Monitor;
use crate::db::notify::Hearing;
use crate::db::{Db, Error, migrate};
use crate::lifecycle::Tasks;

/// What readiness asks.
#[derive(Clone, Debug)]
pub struct Health {
    /// The database.
    pub db: Db,
    /// Whether the process is stopping.
    pub tasks: Tasks,
    /// What measures headroom.
    pub headroom: Arc<Monitor>,
    /// Whether other servers are heard.
    pub hearing: Hearing,
}

const TAG: &str = "Health";

/// The routes.
pub const ROUTES: &[Route] = &[
    Route::new("GET", "/health/live", Access::Public)
        .about(TAG, "Whether the process runs")
        .answers(&[Answer::json(200, "It does.", LIVENESS).headers(&[CACHE_CONTROL])]),
    Route::new("GET", "/health/ready", Access::Public)
        .about(TAG, "Whether the server can do its work")
        .answers(&[
            Answer::json(200, "It can.", READINESS).headers(&[CACHE_CONTROL]),
            Answer::json(503, "It cannot, and the members say why.", READINESS).headers(&[CACHE_CONTROL]),
        ]),
    Route::new("GET", "/health/headroom", Access::Public)
        .about(TAG, "How many more rows the ids can number")
        .answers(&[
            Answer::json(200, "Enough, or a warning.", HEADROOM).headers(&[CACHE_CONTROL]),
            Answer::json(503, "Too few are left, or nobody knows.", HEADROOM).headers(&[CACHE_CONTROL]),
        ]),
];

/// Longest time readiness waits for the database.
const PATIENCE: Duration = Duration::from_secs(1);

/// The router, closed over its own state.
pub fn router(state: Health) -> Router {
    Router::new()
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .route("/health/headroom", get(headroom))
        .with_state(state)
}

async fn live() -> Response {
    answer(StatusCode::OK, &json!({ "status": "ok" }))
}

async fn ready(State(state): State<Health>) -> Response {
    let (database, schema) =
        match tokio::time::timeout(PATIENCE, migrate::missing_from(state.db.management())).await {
            Ok(Ok(0)) => ("ok", "ok"),
            Ok(Ok(_)) => ("ok", "behind"),
            // It answered, and cannot say which migrations it has.
            Ok(Err(Error::Internal(_))) => ("ok", "unknown"),
            Ok(Err(_)) => ("unreachable", "unknown"),
            Err(_) if state.db.full_pools().contains(&"management") => ("pool_full", "unknown"),
            Err(_) => ("slow", "unknown"),
        };
    let draining = state.tasks.is_draining();
    let good = database == "ok" && schema == "ok" && !draining;
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if good { "ok" } else { "not_ready" };
    // The last two are told, but no reason to be taken out: without LISTEN names are remembered for a shorter
    // time, and a busy server that is taken out makes the others busier.
    answer(
        status,
        &json!({
            "status": word,
            "database": database,
            "schema": schema,
            "draining": draining,
            "listen": if state.hearing.is_connected() { "ok" } else { "lost" },
            "full_pools": state.db.full_pools(),
        }),
    )
}

/// The last measurement, never a new one: 503 when critical or unknown.
async fn headroom(State(state): State<Health>) -> Response {
    let health = state.headroom.health();
    let status = if health.status.is_failing() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    answer(status, &health.to_json())
}

fn answer(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
