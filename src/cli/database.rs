//! How a command reaches the database: the configured one, else the private cluster, running or started for the
//! command's own duration. Only `serve`, `migrate` and `tenant create` make a cluster where there is none: another
//! command in the wrong directory would answer from an empty database as if that were the one meant.

use std::ffi::OsString;

use anyhow::{Context, bail};

use crate::config::Config;
use crate::db::cluster::{Cluster, Settings};
use crate::db::{Db, PoolSettings, Target, migrate};

/// Said first when the private cluster fails: where DATABASE_URL was forgotten, nobody wanted one.
const WHY_PRIVATE: &str = "DATABASE_URL is not set, and the private PostgreSQL cannot be used";

/// The configuration, and where programs are searched.
#[derive(Debug)]
pub struct Place {
    /// Settings.
    pub config: Config,
    /// PATH.
    pub path: Option<OsString>,
}

/// Where the database is, with the private cluster that must be released when the work is done.
#[derive(Debug)]
pub struct Reached {
    /// For both drivers.
    pub target: Target,
    /// None with a configured database.
    pub cluster: Option<Cluster>,
}

/// A database ready to use, its schema checked.
#[derive(Debug)]
pub struct Connected {
    /// The pools.
    pub db: Db,
    reached: Reached,
}

impl Place {
    /// For `serve`: the configured database, else the private cluster, owned.
    pub async fn reach_to_serve(&self) -> anyhow::Result<Reached> {
        if let Some(reached) = self.configured()? {
            return Ok(reached);
        }
        Ok(Reached::private(Cluster::start(&self.private()).await.context(WHY_PRIVATE)?))
    }

    /// For commands that may come first: the configured database, else the private cluster, attached to, started or
    /// made.
    pub async fn reach(&self) -> anyhow::Result<Reached> {
        if let Some(reached) = self.configured()? {
            return Ok(reached);
        }
        Ok(Reached::private(Cluster::attach_or_start(&self.private()).await.context(WHY_PRIVATE)?))
    }

    /// Connects to a database that exists; see [`Self::connect_or_make`].
    pub async fn connect(&self) -> anyhow::Result<Connected> {
        if self.config.database.url.is_empty() && !Cluster::exists(&self.private())? {
            bail!(
                "there is no database: database.url is not set, and {} holds none. Change to the directory that the \
                 server was started in, or set DATABASE_URL",
                std::path::absolute(&self.config.database.data_dir)?.display()
            );
        }
        self.connect_or_make().await
    }

    /// Connects. The schema of a private cluster is brought up to date first; that of a configured one is refused
    /// when it is not this program's.
    pub async fn connect_or_make(&self) -> anyhow::Result<Connected> {
        let reached = self.reach().await?;
        let ready = if reached.cluster.as_ref().is_some_and(Cluster::owned) {
            migrate::migrate(&reached.target, migrate::PATIENCE).await.map(|_| ())
        } else {
            migrate::verify(&reached.target).await
        };
        let opened = match ready {
            Ok(()) => {
                Db::open(&reached.target, &PoolSettings::from(&self.config.database)).map_err(Into::into)
            }
            Err(error) => Err(anyhow::Error::from(error)),
        };
        match opened {
            Ok(db) => Ok(Connected { db, reached }),
            Err(error) => {
                reached.release().await?;
                Err(error)
            }
        }
    }

    fn configured(&self) -> anyhow::Result<Option<Reached>> {
        let url = &self.config.database.url;
        if url.is_empty() {
            return Ok(None);
        }
        let target = Target::parse(url).context("database.url")?;
        Ok(Some(Reached { target, cluster: None }))
    }

    fn private(&self) -> Settings {
        let database = &self.config.database;
        Settings {
            data_dir: database.data_dir.clone(),
            durable: true,
            path: self.path.clone(),
            binaries_dir: Some(database.binaries_dir.clone()).filter(|dir| !dir.as_os_str().is_empty()),
            // The pools of this process, a command beside it, and the three reserved for repairs.
            parameters: vec![("max_connections".into(), (database.max_connections + 40).to_string())],
        }
    }
}

impl Reached {
    fn private(cluster: Cluster) -> Self {
        let target = Target::socket(cluster.socket_dir(), cluster.port(), cluster.user(), cluster.database());
        Self { target, cluster: Some(cluster) }
    }

    /// Stops the private cluster if this process owns it.
    pub async fn release(self) -> anyhow::Result<()> {
        match self.cluster {
            Some(cluster) => Ok(cluster.stop().await?),
            None => Ok(()),
        }
    }

    /// Resolves when the private cluster has ended by itself; never with a configured database.
    pub async fn died(&self) {
        match &self.cluster {
            Some(cluster) => cluster.died().await,
            None => std::future::pending().await,
        }
    }
}

impl Connected {
    /// Closes the pools and releases the private cluster.
    pub async fn close(self) -> anyhow::Result<()> {
        self.db.close().await;
        self.reached.release().await
    }
}
