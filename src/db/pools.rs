//! Both pools over one target, sized from one setting, so that the sum is what the operator wrote.
//! Nothing else opens connections, migrations (before the pools exist) and the one LISTEN apart.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres, Transaction};
use tokio_postgres::NoTls;

use super::BEGIN;
use super::connect::{SslMode, Target};
use super::error::Error;
use super::tls;
use crate::config;

/// Sizes and time-outs of the pools.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// Connections of both pools together.
    pub max_connections: u32,
    /// How long a caller waits for a connection.
    pub acquire_timeout: Duration,
    /// PostgreSQL's `statement_timeout`.
    pub statement_timeout: Duration,
    /// PostgreSQL's `lock_timeout`.
    pub lock_timeout: Duration,
}

impl From<&config::Database> for PoolSettings {
    fn from(database: &config::Database) -> Self {
        Self {
            max_connections: database.max_connections,
            acquire_timeout: Duration::from_millis(database.acquire_timeout_ms),
            statement_timeout: Duration::from_millis(database.statement_timeout_ms),
            lock_timeout: Duration::from_millis(database.lock_timeout_ms),
        }
    }
}

impl PoolSettings {
    /// (hot, management): the hot path gets two thirds, each at least two.
    pub fn shares(&self) -> (u32, u32) {
        let management = (self.max_connections / 3).max(2);
        (self.max_connections.saturating_sub(management).max(2), management)
    }

    /// Server settings of every connection, as (name, value).
    pub fn session(&self) -> [(&'static str, String); 5] {
        [
            ("statement_timeout", self.statement_timeout.as_millis().to_string()),
            ("lock_timeout", self.lock_timeout.as_millis().to_string()),
            ("idle_in_transaction_session_timeout", (2 * self.statement_timeout.as_millis()).to_string()),
            ("synchronous_commit", "on".to_owned()),
            // Compiling a statement takes a hundred times as long as running one of ours.
            ("jit", "off".to_owned()),
        ]
    }

    /// What connections of the hot path have beyond that. They look rows up by key and nothing else, and a plan is made
    /// once and kept: one that was made while a table was small, or its statistics out of date, must not read the
    /// whole table once it is large.
    pub fn hot_session() -> [(&'static str, &'static str); 2] {
        [("enable_seqscan", "off"), ("plan_cache_mode", "force_generic_plan")]
    }
}

/// The two pools. Cheap to clone.
#[derive(Clone)]
pub struct Db(Arc<Pools>);

struct Pools {
    management: PgPool,
    hot: Pool,
    target: Target,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("hot", &self.0.hot.status()).finish_non_exhaustive()
    }
}

impl Db {
    /// Makes the pools; connections are opened when they are first needed.
    pub fn open(target: &Target, settings: &PoolSettings) -> Result<Self, OpenError> {
        let (hot_size, management_size) = settings.shares();
        let session = settings.session();
        let management = PgPoolOptions::new()
            .max_connections(management_size)
            .acquire_timeout(settings.acquire_timeout)
            .connect_lazy_with(target.sqlx().options(session.iter().map(|(name, value)| (*name, value))));

        let mut config = target.tokio_postgres(settings.acquire_timeout);
        let session = session.iter().map(|(name, value)| (*name, value.as_str()));
        let session = session.chain(PoolSettings::hot_session());
        let options: Vec<String> = session.map(|(name, value)| format!("-c {name}={value}")).collect();
        config.options(options.join(" "));
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match target.ssl_mode() {
            SslMode::Disable => Manager::from_config(config, NoTls, recycling),
            mode => Manager::from_config(config, tls::connector(mode == SslMode::VerifyFull)?, recycling),
        };
        let timeouts = Timeouts {
            wait: Some(settings.acquire_timeout),
            create: Some(settings.acquire_timeout),
            recycle: Some(settings.acquire_timeout),
        };
        let hot = Pool::builder(manager)
            .max_size(usize::try_from(hot_size).unwrap_or(usize::MAX))
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build()?;
        Ok(Self(Arc::new(Pools { management, hot, target: target.clone() })))
    }

    /// The pool of management and listings (sqlx).
    pub fn management(&self) -> &PgPool {
        &self.0.management
    }

    /// A transaction of management, at the isolation that every write protocol needs.
    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.0.management.begin_with(BEGIN).await?)
    }

    /// A connection of the hot path (tokio-postgres).
    pub async fn hot(&self) -> Result<Object, Error> {
        Ok(self.0.hot.get().await?)
    }

    /// Most connections of the hot path.
    pub fn hot_connections(&self) -> usize {
        self.0.hot.status().max_size
    }

    /// Where the database is, for the one connection that is in no pool.
    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// Connections: (pool, open, idle, callers waiting).
    pub fn status(&self) -> [(&'static str, usize, usize, usize); 2] {
        let hot = self.0.hot.status();
        let open = usize::try_from(self.0.management.size()).unwrap_or(usize::MAX);
        [("hot", hot.size, hot.available, hot.waiting), ("management", open, self.0.management.num_idle(), 0)]
    }

    /// The pools whose connections are all in use.
    pub fn full_pools(&self) -> Vec<&'static str> {
        let hot = self.0.hot.status();
        let (management, most) =
            (self.0.management.size(), self.0.management.options().get_max_connections());
        let full = [
            ("hot", hot.available == 0 && hot.size == hot.max_size),
            ("management", self.0.management.num_idle() == 0 && management == most),
        ];
        full.into_iter().filter(|(_, full)| *full).map(|(pool, _)| pool).collect()
    }

    /// Closes both pools; connections in use are closed when they come back.
    pub async fn close(&self) {
        self.0.hot.close();
        self.0.management.close().await;
    }
}

/// Commits a transaction of management; a connection that breaks meanwhile leaves the outcome unknown.
pub async fn commit(tx: Transaction<'static, Postgres>) -> Result<(), Error> {
    tx.commit().await.map_err(|error| Error::from(error).during_commit())
}

/// Why the pools could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No TLS connector.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// The pool's own settings contradict each other.
    #[error("the connection pool cannot be made: {0}")]
    Build(#[from] deadpool_postgres::BuildError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_to_the_setting() {
        for max_connections in 4..200 {
            let second = Duration::from_secs(1);
            let settings = PoolSettings {
                max_connections,
                acquire_timeout: second,
                statement_timeout: second,
                lock_timeout: second,
            };
            let (hot, management) = settings.shares();
            assert_eq!(hot + management, max_connections);
            assert!(hot >= 2 && management >= 2);
        }
    }
}
