//! HTTP of tenants and keys.

mod keys;
pub mod problems;
mod tenants;

use axum::Router;
use axum::routing::{get, post};

use crate::clock::Clock;
use crate::db::Db;
use crate::http::route::{Access, Route};
use crate::ids::Ids;
use crate::tenancy::Keys;

/// What the routes of this feature need.
#[derive(Clone, Debug)]
pub struct Tenancy {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Ids and secrets.
    pub ids: Ids,
    /// The keys that this process remembers.
    pub keys: Keys,
}

/// The routes.
pub const ROUTES: &[Route] = &[
    Route::new("POST", "/api/v1/tenants", Access::Operate),
    Route::new("GET", "/api/v1/tenants/{slug}", Access::Operate),
    Route::new("POST", "/api/v1/keys", Access::Administer),
    Route::new("GET", "/api/v1/keys", Access::Administer),
    Route::new("GET", "/api/v1/keys/{id}", Access::Administer),
    Route::new("DELETE", "/api/v1/keys/{id}", Access::Administer),
];

/// The router, closed over its own state.
pub fn router(state: Tenancy) -> Router {
    Router::new()
        .route("/api/v1/tenants", post(tenants::create))
        .route("/api/v1/tenants/{slug}", get(tenants::read))
        .route("/api/v1/keys", get(keys::list).post(keys::create))
        .route("/api/v1/keys/{id}", get(keys::read).delete(keys::revoke))
        .with_state(state)
}
