//! HTTP of tenants, their quotas, keys and the audit log.

mod audit_log;
mod keys;
pub mod problems;
mod quotas;
mod routes;
mod schemas;
mod tenants;

use axum::Router;
use axum::routing::{get, post};

use crate::clock::Clock;
use crate::config;
use crate::db::Db;
use crate::ids::Ids;
use crate::tenancy::Keys;

pub use routes::ROUTES;

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
    /// What tenants may have that have no quotas of their own.
    pub quotas: config::Quotas,
}

/// The router, closed over its own state.
pub fn router(state: Tenancy) -> Router {
    Router::new()
        .route("/api/v1/tenants", post(tenants::create))
        .route("/api/v1/tenants/{slug}", get(tenants::read))
        .route("/api/v1/tenants/{slug}/quotas", get(quotas::read).put(quotas::replace))
        .route("/api/v1/quotas", get(quotas::own))
        .route("/api/v1/keys", get(keys::list).post(keys::create))
        .route("/api/v1/keys/{id}", get(keys::read).delete(keys::revoke))
        .route("/api/v1/audit-log", get(audit_log::list))
        .with_state(state)
}
