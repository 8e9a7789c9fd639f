//! The private PostgreSQL: a cluster of our own from the binaries on this machine, for a server without a
//! configured database, for the commands that work beside it, and for the tests. It listens on a Unix socket
//! only. It does not install PostgreSQL, upgrade data between major versions, or know what is in the
//! database.
//!
//! One process owns a cluster (a lock says so), starts it, or adopts it from an owner that was killed, and
//! stops it. Others attach and leave it alone.

mod account;
mod binaries;
mod database;
mod error;
mod initialise;
mod lock;
mod log;
mod pidfile;
mod place;
mod postmaster;
mod processes;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::binaries::MINIMUM_MAJOR;
pub use self::error::ClusterError;

use self::account::Account;
use self::lock::OwnerLock;
use self::pidfile::Status;
use self::place::{PORT, Place};
use self::postmaster::Postmaster;

/// The role that everything connects as.
const USER: &str = "resolute";
/// The database that is made in a new cluster.
const DATABASE: &str = "resolute";
/// How often `died` looks.
const WATCH: Duration = Duration::from_millis(250);
/// How long `attach_or_start` waits for a process that holds the lock and has no cluster to attach to.
const PATIENCE: Duration = Duration::from_mins(1);

/// What to run and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Holds the cluster, its socket, lock and log; made when missing. One cluster per directory.
    pub data_dir: PathBuf,
    /// Whether an acknowledged commit survives a crash of the machine. Off is for tests.
    pub durable: bool,
    /// Where to look for programs first (the value of PATH).
    pub path: Option<OsString>,
    /// The only directory to take PostgreSQL from, when given.
    pub binaries_dir: Option<PathBuf>,
    /// PostgreSQL parameters, name and value, over all others.
    pub parameters: Vec<(String, String)>,
}

/// A running private cluster. An owned one that is dropped without `stop` is asked to shut down and not
/// waited for.
#[derive(Debug)]
pub struct Cluster {
    socket_dir: PathBuf,
    port: u16,
    postmaster: Postmaster,
    lock: Option<OwnerLock>,
}

impl Cluster {
    /// Becomes the owner of the cluster: starts it, on new data if there are none, or adopts a running one
    /// that an owner left behind. Fails with `InUse` when another process owns it.
    pub async fn start(settings: &Settings) -> Result<Self, ClusterError> {
        let lock = OwnerLock::take(&settings.data_dir)?;
        let existing = Place::find(&lock.dir)?;
        let account = Account::choose(existing.as_ref().map(Place::data).as_deref())?;
        let place = match existing {
            Some(place) if account.may_enter(place.home()) => place,
            Some(place) => {
                return Err(ClusterError::Unreachable { path: place.home().into(), uid: account.uid });
            }
            None => Place::choose(&lock.dir, &account)?,
        };
        place.point_to(&lock.dir)?;

        if let Some((postmaster, file)) = Postmaster::find(&place, &account) {
            if file.status == Status::Stopping {
                postmaster.wait_until_gone().await;
            } else if let Ok(file) = postmaster.wait_until_ready(&place).await {
                tracing::info!(pid = file.pid, "a running private PostgreSQL was left over: adopted");
                let cluster =
                    Self { socket_dir: file.socket_dir, port: file.port, postmaster, lock: Some(lock) };
                database::ensure_database(&cluster.socket_dir, cluster.port).await?;
                return Ok(cluster);
            }
        }

        initialise::remove_unfinished(&place);
        let data = place.data();
        let version = initialise::find_data_version(&place)?;
        let binaries = binaries::get_binaries(settings, version.map(|major| (data.as_path(), major)))?;
        if version.is_none() {
            initialise::make_data(&place, &account, &binaries, settings).await?;
        }
        let socket_dir = place.make_socket_dir(&account)?;
        let postmaster = Postmaster::spawn(&place, &account, &binaries, settings, &socket_dir).await?;
        // From here on a failure, or a start that is given up, stops what was started.
        let cluster = Self { socket_dir, port: PORT, postmaster, lock: Some(lock) };
        cluster.postmaster.wait_until_ready(&place).await?;
        database::ensure_database(&cluster.socket_dir, cluster.port).await?;
        tracing::info!(
            pid = cluster.postmaster.pid,
            version = binaries.major,
            socket = %cluster.socket_dir.display(),
            "private PostgreSQL started"
        );
        Ok(cluster)
    }

    /// Whether there are data already, running or not.
    pub fn exists(settings: &Settings) -> Result<bool, ClusterError> {
        Ok(find_place(settings)?.is_some())
    }

    /// Attaches to the running cluster of a data directory, if there is one.
    pub async fn find_running(settings: &Settings) -> Result<Option<Self>, ClusterError> {
        let Some(place) = find_place(settings)? else { return Ok(None) };
        let account = Account::choose(Some(&place.data()))?;
        let Some((postmaster, file)) = Postmaster::find(&place, &account) else { return Ok(None) };
        if file.status == Status::Stopping {
            return Ok(None);
        }
        let Ok(file) = postmaster.wait_until_ready(&place).await else { return Ok(None) };
        database::ensure_database(&file.socket_dir, file.port).await?;
        Ok(Some(Self { socket_dir: file.socket_dir, port: file.port, postmaster, lock: None }))
    }

    /// Attaches to the running cluster, or starts it as its owner: what a command does. When several processes
    /// do this at once one starts it and the others attach.
    pub async fn attach_or_start(settings: &Settings) -> Result<Self, ClusterError> {
        let started = Instant::now();
        loop {
            if let Some(cluster) = Self::find_running(settings).await? {
                return Ok(cluster);
            }
            match Self::start(settings).await {
                Err(ClusterError::InUse { .. }) if started.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                result => return result,
            }
        }
    }

    /// Gives up ownership without stopping the cluster: for the tests, where processes come and go and share
    /// one.
    #[must_use]
    pub fn leave_running(mut self) -> Self {
        self.lock = None;
        self
    }

    /// The directory of the socket, absolute: the `host` of a connection.
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// The number in the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The role to connect as, a superuser of this cluster; no password.
    #[expect(clippy::unused_self, reason = "a property of the cluster, which happens to be the same for all")]
    pub fn user(&self) -> &str {
        USER
    }

    /// The database to connect to.
    #[expect(clippy::unused_self, reason = "a property of the cluster, which happens to be the same for all")]
    pub fn database(&self) -> &str {
        DATABASE
    }

    /// Whether this value started or adopted the cluster, and `stop` will end it.
    pub fn owned(&self) -> bool {
        self.lock.is_some()
    }

    /// Resolves when PostgreSQL has ended, for whatever reason; the owner should then say so and end too.
    pub async fn died(&self) {
        while self.postmaster.is_alive() {
            tokio::time::sleep(WATCH).await;
        }
    }

    /// Shuts the cluster down if it is owned, and waits until it is gone. Close the connections first: they
    /// are cut.
    pub async fn stop(mut self) -> Result<(), ClusterError> {
        // Held until PostgreSQL is gone, so that nobody starts a second one meanwhile.
        let Some(_lock) = self.lock.take() else { return Ok(()) };
        self.postmaster.stop().await?;
        // Empty now; in /tmp it would be litter. It is made again at each start.
        let _ = std::fs::remove_dir(&self.socket_dir);
        tracing::info!("private PostgreSQL stopped");
        Ok(())
    }
}

/// The place of the cluster that exists for a data directory.
fn find_place(settings: &Settings) -> Result<Option<Place>, ClusterError> {
    match settings.data_dir.canonicalize() {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClusterError::io("find the directory", &settings.data_dir)(source)),
        Ok(dir) => Place::find(&dir),
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.lock.is_some() {
            self.postmaster.ask_to_stop();
        }
    }
}
