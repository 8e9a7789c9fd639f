//! What the tests stand on: a database of their own each, the real router, a frozen clock, seeded ids, and actors
//! whose calls read as stories (`acme.editor().post(…)`).
//!
//! Each test uses a part of it.
#![allow(dead_code)]

pub mod actor;
pub mod answer;
pub mod chaos;
pub mod contract;
pub mod database;
pub mod process;
pub mod wire;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use resolute::app::App;
use resolute::clock::Clock;
use resolute::config::Config;
use resolute::db::{Db, PoolSettings, Target, audit};
use resolute::ids::Ids;
use resolute::lifecycle::Tasks;
use resolute::secret::MasterSecret;
use resolute::tenancy::key::ApiKey;
use resolute::tenancy::slug::Slug;
use resolute::tenancy::store::{self, NewKey};
use time::OffsetDateTime;
use time::macros::datetime;

pub use actor::{Actor, Tenant};
pub use answer::Answer;
use database::TestDatabase;

/// When the tests' frozen clock stands.
pub const NOW: OffsetDateTime = datetime!(2026-11-30 20:00:00 UTC);

/// A server without a listener, over a database of its own.
pub struct TestApp {
    /// The composed program.
    pub app: App,
    router: Router,
    database: Option<TestDatabase>,
    target: Target,
}

impl TestApp {
    /// A fresh one with the defaults.
    pub async fn start() -> Self {
        Self::with_config(Config::default()).await
    }

    /// A fresh one with these settings.
    pub async fn with_config(config: Config) -> Self {
        let database = TestDatabase::create().await;
        let target = database.target().clone();
        let mut app = Self::seeded(&target, config, 0);
        app.database = Some(database);
        app
    }

    /// A second server process over the same database, with its own pools and other ids.
    pub fn twin(&self) -> Self {
        Self::over(&self.target, self.app.config.clone())
    }

    /// A server over a database that somebody else owns, such as through a proxy.
    pub fn over(target: &Target, config: Config) -> Self {
        static OTHERS: AtomicU64 = AtomicU64::new(1);
        Self::seeded(target, config, OTHERS.fetch_add(1, Ordering::Relaxed))
    }

    fn seeded(target: &Target, config: Config, seed: u64) -> Self {
        let db = Db::open(target, &PoolSettings::from(&config.database)).expect("pools");
        let (tasks, _) = Tasks::new();
        let app = App::new(
            config,
            db,
            Clock::frozen(NOW),
            Ids::seeded(seed),
            MasterSecret::new([7; 32]),
            tasks,
            metrics(),
        );
        let router = app.public_router();
        Self { app, router, database: None, target: target.clone() }
    }

    /// The database.
    pub fn db(&self) -> &Db {
        &self.app.db
    }

    /// Where the database is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Starts what runs beside requests, and waits until other processes are heard.
    pub async fn listen(&self) {
        self.app.start_tasks();
        let end = Instant::now() + Duration::from_secs(10);
        while !self.app.hearing.is_connected() {
            assert!(Instant::now() < end, "the LISTEN connection is not made");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Somebody without a key.
    pub fn stranger(&self) -> Actor {
        Actor::new(self.router.clone(), None)
    }

    /// Somebody with this bearer token.
    pub fn bearer(&self, token: &str) -> Actor {
        Actor::new(self.router.clone(), Some(token.to_owned()))
    }

    /// The operator.
    pub async fn operator(&self) -> Actor {
        self.key(None, "operator", &[]).await
    }

    /// A tenant of this slug, made if it is new.
    pub async fn tenant(&self, slug: &str) -> Tenant<'_> {
        let pool = self.db().management();
        let found = store::find_tenant(pool, slug).await.expect("tenant");
        let tenant = if let Some(tenant) = found {
            tenant
        } else {
            let mut tx = self.db().begin().await.expect("a transaction");
            let word = Slug::parse(slug).expect("slug");
            let made = store::insert_tenant(&mut tx, audit::Actor::CommandLine, &word, slug, NOW).await;
            tx.commit().await.expect("committed");
            made.expect("tenant")
        };
        Tenant::new(self, tenant.tenant_id, tenant.slug)
    }

    /// A holder of a fresh key.
    pub async fn key(&self, tenant_id: Option<i64>, scope: &str, domain_ids: &[i64]) -> Actor {
        let key = ApiKey::generate(&Ids::os(), NOW);
        let new = NewKey {
            api_key_id: key.id(),
            tenant_id,
            scope,
            label: "",
            secret_sha256: key.secret_sha256(),
            created_at: NOW,
            expires_at: None,
            domain_ids,
        };
        let mut tx = self.db().begin().await.expect("a transaction");
        store::insert_key(&mut tx, audit::Actor::CommandLine, &new).await.expect("key");
        tx.commit().await.expect("committed");
        self.bearer(&key.reveal())
    }
}

/// Asks until the answer is as wanted; the last answer after ten seconds.
pub async fn until<A: Future<Output = Answer>>(
    ask: impl Fn() -> A,
    wanted: impl Fn(&Answer) -> bool,
) -> Answer {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = ask().await;
        if wanted(&answer) || Instant::now() > end {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The one recorder of this test process.
pub fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| resolute::app::install_metrics().expect("a recorder")).clone()
}
