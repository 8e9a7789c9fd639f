//! Composition root: the only file that knows every feature. It gives each its state, joins their routers, route
//! tables and problem codes, and lays the shared layers around them.

use axum::routing::get;
use axum::{Extension, Router, middleware};
use http::header;
use metrics::gauge;
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::catch_panic::CatchPanicLayer;

use crate::clock::Clock;
use crate::config::Config;
use crate::db::Db;
use crate::http::request_log::{self, RequestLog};
use crate::http::route::{Access, Route};
use crate::http::{Problem, ProblemCode, health, problem_codes, problem_docs};
use crate::ids::Ids;
use crate::lifecycle::Tasks;
use crate::telemetry::metrics::{DB_POOL_CONNECTIONS, DB_POOL_WAITING};
use crate::{purl, tenancy};

/// Everything that a process serves with.
#[derive(Clone)]
pub struct App {
    /// Settings.
    pub config: Config,
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Ids and secrets.
    pub ids: Ids,
    /// Background tasks and the stop.
    pub tasks: Tasks,
    /// Where metrics are read.
    pub metrics: PrometheusHandle,
}

/// The table of all routes; resolution answers every other path.
pub fn routes() -> Vec<Route> {
    let shared = [health::ROUTES, problem_docs::ROUTES];
    let features = [tenancy::ROUTES, purl::ROUTES];
    shared.into_iter().chain(features).flatten().copied().collect()
}

/// Every problem code this program can answer with.
pub fn problem_codes() -> Vec<&'static ProblemCode> {
    [problem_codes::ALL, tenancy::api::problems::ALL, purl::api::problems::ALL]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}

impl App {
    /// What the public listener serves.
    pub fn public_router(&self) -> Router {
        let Self { db, clock, ids, .. } = self.clone();
        let purls = purl::Purls::new(db.clone(), clock.clone(), &self.config.server.origin());
        let mut router = self
            .health()
            .merge(problem_docs::router(&problem_codes()))
            .merge(tenancy::router(tenancy::api::Tenancy { db, clock, ids }))
            .merge(purl::router(purls.clone()));
        if self.config.ops.metrics_public {
            router = router.merge(self.metrics());
        }
        let authenticator = Extension(tenancy::authenticator(self.db.clone(), self.clock.clone()));
        self.layered(router.layer(authenticator).fallback_service(purl::resolution(purls)))
    }

    /// What the operator's listener serves.
    pub fn ops_router(&self) -> Router {
        let nothing_else = || std::future::ready(Problem::not_found());
        self.layered(self.health().merge(self.metrics()).fallback(nothing_else))
    }

    fn health(&self) -> Router {
        health::router(health::Health { db: self.db.clone(), tasks: self.tasks.clone() })
    }

    fn metrics(&self) -> Router {
        let (handle, db) = (self.metrics.clone(), self.db.clone());
        let scrape = move || {
            for (pool, open, idle, waiting) in db.status() {
                set(&gauge!(DB_POOL_CONNECTIONS, "pool" => pool, "state" => "open"), open);
                set(&gauge!(DB_POOL_CONNECTIONS, "pool" => pool, "state" => "idle"), idle);
                set(&gauge!(DB_POOL_WAITING, "pool" => pool), waiting);
            }
            std::future::ready((
                [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
                handle.render(),
            ))
        };
        Router::new().route("/metrics", get(scrape))
    }

    fn layered(&self, router: Router) -> Router {
        let log = RequestLog {
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            tasks: self.tasks.clone(),
            timeout: self.config.server.request_timeout(),
        };
        router
            .method_not_allowed_fallback(|| {
                std::future::ready(Problem::new(&problem_codes::METHOD_NOT_ALLOWED))
            })
            .layer(axum::extract::DefaultBodyLimit::max(self.config.server.body_limit_bytes))
            .layer(CatchPanicLayer::custom(request_log::panicked))
            .layer(middleware::from_fn_with_state(log, request_log::layer))
    }
}

fn set(gauge: &metrics::Gauge, value: usize) {
    gauge.set(f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
}

/// The route of metrics, on the operator's listener.
pub const METRICS_ROUTE: Route = Route::new("GET", "/metrics", Access::Public);
