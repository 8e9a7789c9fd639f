//! HTTP of domains and names under `/api/v1`, and resolution on every path that nothing else takes.

mod addressed;
mod by_rule;
mod by_variant;
mod checks;
mod domain_body;
mod domain_create;
mod domain_list;
mod domain_read;
mod domain_update;
mod explain;
mod gone;
mod handover;
mod handover_routes;
mod history;
mod info;
mod info_forms;
mod negotiate;
pub mod problems;
mod purl_body;
mod purl_copy;
mod purl_create;
mod purl_list;
mod purl_read;
mod purl_restore;
mod purl_update;
mod purl_variants;
mod purl_withdraw;
mod root;
mod routes;
mod rule_routes;
mod rule_schemas;
mod rules_history;
mod rules_read;
mod rules_told;
mod rules_update;
mod schemas;

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::clock::Clock;
use crate::db::Db;
use crate::db::quota::Defaults;
use crate::purl::resolve::Resolver;
use crate::purl::target::OwnAddress;
use crate::purl::write::Writer;

pub use handover_routes::HANDOVER_ROUTES;
pub use routes::{RESOLUTION, ROUTES};
pub use rule_routes::RULE_ROUTES;

/// What the routes of this feature need. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Purls(Arc<Parts>);

impl Deref for Purls {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// What they need.
#[derive(Debug)]
pub struct Parts {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Resolution and what it remembers; every write tells it.
    pub resolver: Resolver,
    /// Names on their way into the database.
    pub writer: Writer,
    /// How users reach this server: scheme and host, without a final slash.
    pub origin: Arc<str>,
    /// The same, as what no target may point at.
    pub own: OwnAddress,
    /// What tenants may have that have no quotas of their own.
    pub quotas: Defaults,
}

impl Purls {
    /// State for a server that is reached at `origin`.
    pub fn new(
        db: Db,
        clock: Clock,
        resolver: Resolver,
        writer: Writer,
        origin: &str,
        quotas: Defaults,
    ) -> Self {
        let own = OwnAddress::new(origin);
        Self(Arc::new(Parts { db, clock, resolver, writer, origin: origin.into(), own, quotas }))
    }
}

/// The router of the API, closed over its own state. Wildcards only route: handlers read the raw path.
pub fn router(state: Purls) -> Router {
    let domain = || get(domain_read::read).put(domain_update::update);
    let rules = || get(rules_read::read).put(rules_update::update);
    let handover = || get(handover::read).post(handover::offer).delete(handover::withdraw);
    let checks = || get(checks::read).put(checks::update);
    Router::new()
        .route("/api/v1/domains", get(domain_list::list).post(domain_create::create))
        .route("/api/v1/domains/", domain())
        .route("/api/v1/domains/{*path}", domain())
        .route("/api/v1/domain-rules/", rules())
        .route("/api/v1/domain-rules/{*path}", rules())
        .route("/api/v1/domain-rule-revisions/", get(rules_history::list))
        .route("/api/v1/domain-rule-revisions/{*path}", get(rules_history::list))
        .route("/api/v1/domain-rule-rollbacks/", post(rules_update::roll_back))
        .route("/api/v1/domain-rule-rollbacks/{*path}", post(rules_update::roll_back))
        .route("/api/v1/domain-handovers/", handover())
        .route("/api/v1/domain-handovers/{*path}", handover())
        .route("/api/v1/domain-acceptances/", post(handover::accept))
        .route("/api/v1/domain-acceptances/{*path}", post(handover::accept))
        .route("/api/v1/explain", get(explain::explain))
        .route("/api/v1/domain-checks/", checks())
        .route("/api/v1/domain-checks/{*path}", checks())
        .route("/api/v1/purls", get(purl_list::list).post(purl_create::create))
        .route(
            "/api/v1/purls/{*path}",
            get(purl_read::read).put(purl_update::update).delete(purl_withdraw::withdraw),
        )
        .route("/api/v1/purl-revisions/{*path}", get(history::list).post(purl_restore::restore))
        .with_state(state)
}

/// Resolution: the fallback for every path that no route takes.
pub fn resolution(state: Purls) -> Router {
    Router::new().fallback(root::resolve).with_state(state)
}
