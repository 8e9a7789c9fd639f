//! How a command reaches the database: the configured one, else the private cluster, running or started for the
//! command's own duration.

use std::ffi::OsString;

use anyhow::Context;

use crate::config::Config;
use crate::db::{Db, PoolSettings, Target, migrate};

/// The configuration, and where programs are searched.
#[derive(Debug)]
pub struct Place {
    /// Settings.
    pub config: Config,
    /// PATH.
    pub path: Option<OsString>,
}

/// The private cluster of a command, if it uses one. (Filled in when the cluster lands.)
pub type Private = Option<()>;

/// A database ready to use, its schema checked.
#[derive(Debug)]
pub struct Connected {
    /// The pools.
    pub db: Db,
    cluster: Private,
}

impl Place {
    /// Where the database is, and the private cluster that must be released afterwards.
    pub async fn target(&self) -> anyhow::Result<(Target, Private)> {
        let target = Target::parse(&self.config.database.url).context("database.url")?;
        Ok((target, None))
    }

    /// Connects, and refuses a schema that is not this program's.
    pub async fn connect(&self) -> anyhow::Result<Connected> {
        let (target, cluster) = self.target().await?;
        migrate::verify(&target).await?;
        let db = Db::open(&target, &PoolSettings::from(&self.config.database))?;
        Ok(Connected { db, cluster })
    }
}

impl Connected {
    /// Closes the pools and releases the private cluster.
    pub async fn close(self) -> anyhow::Result<()> {
        self.db.close().await;
        release(self.cluster).await
    }
}

/// Stops a private cluster that was started for this command.
pub async fn release(_: Private) -> anyhow::Result<()> {
    Ok(())
}
