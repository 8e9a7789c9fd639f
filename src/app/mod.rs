//! Composition root: the only place that knows every feature. It gives each its state, joins their routers and lays
//! the shared layers around them; `tables` joins what they say about themselves.

mod tables;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use http::header;
use metrics::gauge;
use metrics_exporter_prometheus::PrometheusHandle;
use time::OffsetDateTime;
use tower_http::catch_panic::CatchPanicLayer;

use tables::job_kinds;
pub use tables::{
    METRICS_ROUTE, install_metrics, listings, metrics, operations, problem_codes, routes, statements,
};

use crate::clock::Clock;
use crate::config::Config;
use crate::db::batch::{Batcher, Bounds, Turns};
use crate::db::jobs::{Pace, Worker};
use crate::db::notify::{self, Hearing, Message};
use crate::db::quota::{Defaults, Quota};
use crate::db::{Db, headroom};
use crate::http::arrival::Tools;
use crate::http::cursor::Cursors;
use crate::http::front::{self, Front};
use crate::http::idempotency::Replays;
use crate::http::rate_limit::{Claim, RateLimits};
use crate::http::request_log::{self, RequestLog};
use crate::http::{Problem, api_docs, health, problem_codes as codes, problem_docs, stats};
use crate::ids::Ids;
use crate::lifecycle::Tasks;
use crate::purl::lookup::Lookups;
use crate::purl::resolve::Resolver;
use crate::purl::write::Writer;
use crate::purl::{self, Purls, known};
use crate::secret::{self, MasterSecret};
use crate::telemetry;
use crate::telemetry::metrics::{CACHE_ENTRIES, DB_POOL_CONNECTIONS, DB_POOL_WAITING};
use crate::tenancy::key::ApiKey;
use crate::tenancy::{self, KEYS_TOPIC, Keys, Tenancy};
use crate::voting::cast::Casting;
use crate::voting::known::KnownPolls;
use crate::voting::token::claimed;
use crate::voting::{self, Voting};

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
    /// What cursors, seals and signatures are derived from.
    pub secret: MasterSecret,
    /// Background tasks and the stop.
    pub tasks: Tasks,
    /// Where metrics are read.
    pub metrics: PrometheusHandle,
    /// What measures headroom, once [`App::start_tasks`] has started it.
    pub headroom: Arc<headroom::Monitor>,
    /// What does jobs, once [`App::start_tasks`] has started it.
    pub jobs: Worker,
    /// Whether other processes are heard, once [`App::start_tasks`] has begun to listen.
    pub hearing: Hearing,
    /// Resolution, with the names it remembers.
    pub resolver: Resolver,
    /// Names on their way into the database.
    pub writer: Writer,
    /// The API keys it remembers.
    pub keys: Keys,
    /// Voting, with the ballots on their way and the polls it remembers.
    pub voting: Voting,
    /// When it was made.
    pub started_at: OffsetDateTime,
}

impl App {
    /// A process that serves with these.
    pub fn new(
        config: Config,
        db: Db,
        clock: Clock,
        ids: Ids,
        secret: MasterSecret,
        tasks: Tasks,
        metrics: PrometheusHandle,
    ) -> Self {
        let settings = headroom::Settings::from(&config.headroom);
        let headroom = Arc::new(headroom::Monitor::new(db.management().clone(), settings));
        let started_at = clock.now();
        let quotas = Defaults::from(&config.quotas);
        let turns = Turns::for_pool(db.hot_connections());
        let bounds = Bounds::from(&config);
        let writer = Writer::new(&db, &ids, &tasks, &turns, bounds, quotas.of(Quota::Names));
        let casting = Batcher::new(Casting, db.clone(), ids.clone(), tasks.clone(), turns.clone(), bounds);
        let known_polls = KnownPolls::new(config.cache.voters, turns.clone());
        let parts = voting::Parts {
            db: db.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            quotas,
            tasks: tasks.clone(),
            turns,
            casting,
            known_polls,
        };
        let voting = Voting::new(parts);
        let (pool, kinds) = (db.management().clone(), job_kinds(voting.clone()));
        let jobs = Worker::new(pool, kinds, ids.clone(), tasks.clone(), Pace::default());
        let hearing = Hearing::new();
        let lookups = Lookups::new(&db, &ids, &tasks, bounds);
        let resolver = Resolver::new(db.clone(), lookups, &config.cache, hearing.clone());
        let keys = Keys::new(db.clone(), clock.clone(), &config.cache, &config.quotas);
        Self {
            config,
            db,
            clock,
            ids,
            secret,
            tasks,
            metrics,
            headroom,
            jobs,
            hearing,
            resolver,
            writer,
            keys,
            voting,
            started_at,
        }
    }

    /// Starts what runs beside requests.
    pub fn start_tasks(&self) {
        let monitor = Arc::clone(&self.headroom);
        self.tasks.spawn("headroom", async move { monitor.run().await });
        self.jobs.start();
        let metrics = self.metrics.clone();
        self.tasks.spawn("metrics", async move { telemetry::metrics::sum_up(metrics).await });
        let Self { db, hearing, resolver, keys, .. } = self.clone();
        self.tasks.spawn("listen", async move {
            let heard = |message: &Message<'_>| match message.topic {
                known::TOPIC => resolver.known().heard(message),
                KEYS_TOPIC => keys.heard(message),
                // A later version's.
                _ => {}
            };
            notify::listen(db.target(), &hearing, heard).await;
        });
        let Self { db, resolver, .. } = self.clone();
        self.tasks.spawn("announce", async move { resolver.announcer.run(&db).await });
    }

    /// What the public listener serves.
    pub fn public_router(&self) -> Router {
        let Self { db, clock, ids, keys, .. } = self.clone();
        let (origin, quotas) = (self.config.server.origin(), Defaults::from(&self.config.quotas));
        let purls = Purls::new(
            db.clone(),
            clock.clone(),
            self.resolver.clone(),
            self.writer.clone(),
            &origin,
            quotas,
        );
        let tenancy = Tenancy { db: db.clone(), clock, ids, keys, quotas: self.config.quotas.clone() };
        let mut router = self
            .health()
            .merge(problem_docs::router(&problem_codes()))
            .merge(api_docs::router(&operations()))
            .merge(secret::router(db))
            .merge(purl::router(purls.clone()))
            .merge(voting::router(self.voting.clone()))
            .merge(tenancy::router(tenancy))
            .merge(stats::router(self.stats()));
        if self.config.ops.metrics_public {
            router = router.merge(self.metrics());
        }
        let tools = Tools {
            authenticator: self.keys.authenticator(),
            cursors: Cursors::new(&self.secret),
            replays: Replays::new(self.db.clone(), self.clock.clone(), self.ids.clone(), &self.secret),
        };
        let limits = &self.config.limits;
        let limits =
            RateLimits::new(limits, self.config.server.trusted_networks(), recognise, self.clock.clone());
        self.fronted(router.merge(purl::resolution(purls)), Some(limits), Some(Arc::new(tools)))
    }

    /// What the operator's listener serves.
    pub fn ops_router(&self) -> Router {
        let nothing_else = || std::future::ready(Problem::not_found());
        let stats = stats::ops_router(self.stats());
        self.fronted(self.health().merge(self.metrics()).merge(stats).fallback(nothing_else), None, None)
    }

    /// What waits and what is remembered.
    fn stats(&self) -> stats::Source {
        let (app, caches) = (self.clone(), self.clone());
        let queues = move |tenant_id| {
            let mut queues = vec![app.voting.casting.stats(tenant_id)];
            queues.extend(app.writer.stats(tenant_id));
            // Look-ups are nobody's.
            queues.extend(tenant_id.is_none().then(|| app.resolver.lookups().stats()));
            queues
        };
        let since = self.started_at;
        let db = self.db.clone();
        stats::Source { since, queues: Arc::new(queues), caches: Arc::new(move || caches.caches()), db }
    }

    /// Entries of the caches, by name.
    fn caches(&self) -> Vec<(&'static str, usize)> {
        let others = [("keys", self.keys.entries()), ("voters", self.voting.known_polls.len())];
        self.resolver.known().entries().into_iter().chain(others).collect()
    }

    fn health(&self) -> Router {
        let Self { db, tasks, headroom, hearing, .. } = self.clone();
        health::router(health::Health { db, tasks, headroom, hearing })
    }

    fn metrics(&self) -> Router {
        let app = self.clone();
        let scrape = move || {
            for (pool, open, idle, waiting) in app.db.status() {
                set(&gauge!(DB_POOL_CONNECTIONS, "pool" => pool, "state" => "open"), open);
                set(&gauge!(DB_POOL_CONNECTIONS, "pool" => pool, "state" => "idle"), idle);
                set(&gauge!(DB_POOL_WAITING, "pool" => pool), waiting);
            }
            app.voting.casting.export();
            app.writer.export();
            app.resolver.lookups().export();
            for (cache, entries) in app.caches() {
                set(&gauge!(CACHE_ENTRIES, "cache" => cache), entries);
            }
            std::future::ready((
                [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
                app.metrics.render(),
            ))
        };
        Router::new().route(METRICS_ROUTE.path, get(scrape))
    }

    fn fronted(&self, router: Router, limits: Option<RateLimits>, tools: Option<Arc<Tools>>) -> Router {
        let Self { clock, ids, tasks, config, .. } = self.clone();
        let log = RequestLog::new(clock, ids, tasks, config.server.request_timeout());
        let front = front::Parts { log, limits, body_limit: config.server.body_limit_bytes, tools };
        router
            .method_not_allowed_fallback(|| std::future::ready(Problem::new(&codes::METHOD_NOT_ALLOWED)))
            .layer((Front::new(front), CatchPanicLayer::custom(request_log::panicked)))
    }
}

/// What a bearer token claims to be.
fn recognise(token: &str) -> Claim {
    if let Some((tenant_id, participant_id)) = claimed(token) {
        return Claim::Participant(tenant_id, participant_id);
    }
    ApiKey::parse(token).map_or(Claim::Nothing, |key| Claim::Key(key.id()))
}

fn set(gauge: &metrics::Gauge, value: usize) {
    gauge.set(f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
}
