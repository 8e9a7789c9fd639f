//! What can keep the private cluster from running, worded for the person at the terminal: each message
//! names the path or the process concerned and, where there is one, the command that cures it.

use std::io;
use std::path::{Path, PathBuf};

/// Why the private cluster could not be found, started, attached to or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No server binaries of a supported version are on this machine.
    #[error(
        "no PostgreSQL {minimum} or newer was found on this machine{older}; install it with: {command} \
         (or set DATABASE_URL to use a server you have)"
    )]
    NoBinaries {
        /// The oldest supported major version.
        minimum: u32,
        /// "" or a remark about the versions that are too old.
        older: String,
        /// The command that installs PostgreSQL on this machine.
        command: String,
    },
    /// The directory named in the settings does not hold usable binaries.
    #[error("{dir}: {reason}")]
    UnusableBinaries {
        /// The directory from the settings.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The data were made by another major version than any of the binaries.
    #[error(
        "the data in {data_dir} were made by PostgreSQL {data}, and this machine has {found}; \
         install PostgreSQL {data}, or move the data to another version with pg_upgrade or pg_dump"
    )]
    VersionMismatch {
        /// The PostgreSQL data directory.
        data_dir: PathBuf,
        /// The major version in its PG_VERSION.
        data: u32,
        /// The versions on this machine and where they are.
        found: String,
    },
    /// The server runs as root and there is no unprivileged account for PostgreSQL, which refuses root.
    #[error("PostgreSQL does not run as root and no account for it was found; make one with: {command}")]
    NoAccount {
        /// The command that makes the account.
        command: String,
    },
    /// The cluster's account may not enter the directory that already holds its data.
    #[error(
        "the account with user id {uid}, which owns the data in {path}, cannot enter that directory; \
         let it pass with chmod o+x on each directory above it, or move the data"
    )]
    Unreachable {
        /// The directory that cannot be entered.
        path: PathBuf,
        /// The owner of the data.
        uid: u32,
    },
    /// Another live process owns the data directory.
    #[error("{data_dir} is in use by {}: stop that first, or choose another database.data_dir", .pid.map_or_else(|| "another server".to_owned(), |pid| format!("the server with process id {pid}")))]
    InUse {
        /// The data directory from the settings.
        data_dir: PathBuf,
        /// The process that holds the lock, when it has written its id already.
        pid: Option<u32>,
    },
    /// The data directory is another user's.
    #[error(
        "{data_dir} belongs to the user with id {owner}: run this as that user or as root, \
         or choose another database.data_dir"
    )]
    Foreign {
        /// The data directory from the settings.
        data_dir: PathBuf,
        /// The id of its owner.
        owner: u32,
    },
    /// The data directory holds something that is not a PostgreSQL data directory.
    #[error("{path} is not empty and not a PostgreSQL data directory; it was left as it is")]
    NotADataDirectory {
        /// The directory that was meant to hold the data.
        path: PathBuf,
    },
    /// The directory for the socket exists and is not ours alone.
    #[error("{path} cannot hold the cluster's socket: {reason}")]
    SocketDirectory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// initdb failed.
    #[error("initdb failed: {output}")]
    Initialise {
        /// What initdb printed last.
        output: String,
    },
    /// PostgreSQL ended while it was starting.
    #[error("PostgreSQL did not start; the last lines of {log}:\n{tail}")]
    Start {
        /// The log file.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// PostgreSQL runs and refuses a connection.
    #[error("the private cluster runs but does not answer: {0}")]
    Connect(#[from] tokio_postgres::Error),
    /// PostgreSQL did not end although it was told to.
    #[error("PostgreSQL (process id {pid}) did not stop")]
    Stop {
        /// The postmaster.
        pid: i32,
    },
    /// A file or process operation failed.
    #[error("{path}: {what}: {cause}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// How it failed; not the `source`, because the message has it already.
        cause: io::Error,
    },
}

impl ClusterError {
    /// An adapter for `map_err`: what was tried, on which file.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { what, path: path.to_path_buf(), cause }
    }
}
