//! The postmaster process: started, waited for, asked to stop. It does not know about ownership, that is
//! `Cluster`'s.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::Signal;

use super::Settings;
use super::account::Account;
use super::binaries::Binaries;
use super::error::ClusterError;
use super::lock::open_beside_others;
use super::log::Log;
use super::pidfile::{self, PidFile, Status, find_pid_file};
use super::place::{PORT, Place};
use super::processes::{POLL, end_orphans, is_postmaster, send};

/// How long a fast shutdown, which writes a checkpoint, may take before PostgreSQL is told to drop everything.
const FAST: Duration = Duration::from_mins(1);
/// How long that may take.
const IMMEDIATE: Duration = Duration::from_secs(10);

/// Who may connect: whoever can reach the socket. Its directory lets in nobody but the cluster's account and
/// root, which the kernel checks and which is all that `peer` would check again; a password would have to lie
/// beside the data, readable for the same two.
const HBA: &str = "# Written at each start. The socket's directory (mode 0700) decides who may connect.\n\
                   local all all trust\n";

/// One running postmaster.
#[derive(Debug)]
pub(super) struct Postmaster {
    pub pid: i32,
    uid: u32,
    marker: String,
    /// When it is our child it must be waited for; when it was found running there is nothing to wait for.
    child: Mutex<Option<Child>>,
    /// Of the run that we started.
    log: Option<Log>,
}

impl Postmaster {
    /// The running postmaster of a place, with what it says about itself.
    pub fn find(place: &Place, account: &Account) -> Option<(Self, PidFile)> {
        let file = find_pid_file(&place.data())?;
        let marker = place.marker();
        is_postmaster(file.pid, &marker, account.uid).then(|| {
            let child = Mutex::new(None);
            (Self { pid: file.pid, uid: account.uid, marker, child, log: None }, file)
        })
    }

    /// Starts PostgreSQL on existing data, after clearing what a killed one left. The caller holds the owner's
    /// lock and has found no running postmaster.
    pub async fn spawn(
        place: &Place,
        account: &Account,
        binaries: &Binaries,
        settings: &Settings,
        socket_dir: &Path,
    ) -> Result<Self, ClusterError> {
        let marker = place.marker();
        end_orphans(&marker, account.uid).await;
        // PostgreSQL refuses to start when the process id in a stale file is in use again, by whatever program.
        // We know that no process of this cluster is left; should one hide from the process table all the
        // same, its shared memory, found through the data directory, still stops a second one.
        let names = [format!(".s.PGSQL.{PORT}"), format!(".s.PGSQL.{PORT}.lock")];
        let sockets = names.iter().map(|name| socket_dir.join(name));
        for stale in sockets.chain([pidfile::path(&place.data())]) {
            match std::fs::remove_file(&stale) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(ClusterError::io("remove the stale file", &stale)(source));
                }
                _ => {}
            }
        }
        let hba = place.hba();
        let mut file = open_beside_others(&hba, OFlags::WRONLY | OFlags::TRUNC)?;
        let written = file.write_all(HBA.as_bytes()).and_then(|()| {
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            file.set_permissions(readable)
        });
        written.map_err(ClusterError::io("write", &hba))?;

        let program = binaries.program("postgres");
        let (log, output) = Log::open(&place.log())?;
        let errors = output.try_clone().map_err(ClusterError::io("open", &log.path))?;
        let mut command = account.command(&program);
        command.arg("-D").arg(place.data());
        for parameter in parameters(settings, &hba, socket_dir, &marker) {
            command.arg("-c").arg(parameter);
        }
        command.stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        let child = command.spawn().map_err(ClusterError::io("run", &program))?;
        let pid = i32::try_from(child.id()).map_err(|_| ClusterError::Start {
            log: log.path.clone(),
            tail: format!("process id {} is out of range", child.id()),
        })?;
        Ok(Self { pid, uid: account.uid, marker, child: Mutex::new(Some(child)), log: Some(log) })
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.as_mut() {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => is_postmaster(self.pid, &self.marker, self.uid),
        }
    }

    /// Waits until it accepts connections, which takes as long as replaying the log takes after a crash.
    pub async fn wait_until_ready(&self, place: &Place) -> Result<PidFile, ClusterError> {
        let mut reported = Instant::now();
        while self.is_alive() {
            if let Some(file) = find_pid_file(&place.data())
                && file.pid == self.pid
                && file.status == Status::Ready
            {
                return Ok(file);
            }
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                tracing::info!(log = %place.log().display(), "PostgreSQL is still starting");
            }
            tokio::time::sleep(POLL).await;
        }
        let tail = self.log.as_ref().map(Log::tail).unwrap_or_default();
        Err(ClusterError::Start { log: place.log(), tail })
    }

    /// Waits until the process is gone.
    pub async fn wait_until_gone(&self) {
        while self.is_alive() {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Asks for a fast shutdown (connections are cut, data are written) without waiting for it.
    pub fn ask_to_stop(&self) {
        if self.is_alive() {
            send(self.pid, Signal::INT);
        }
    }

    /// Shuts down and waits; when that takes too long, without writing the data out (the next start then
    /// recovers them from the log).
    pub async fn stop(&self) -> Result<(), ClusterError> {
        self.ask_to_stop();
        if tokio::time::timeout(FAST, self.wait_until_gone()).await.is_ok() {
            return Ok(());
        }
        tracing::warn!(pid = self.pid, "PostgreSQL takes too long to stop, dropping its connections");
        send(self.pid, Signal::QUIT);
        let gone = tokio::time::timeout(IMMEDIATE, self.wait_until_gone()).await;
        gone.map_err(|_| ClusterError::Stop { pid: self.pid })
    }
}

/// The settings that are ours, over those in postgresql.conf, which is left to the operator.
fn parameters(settings: &Settings, hba: &Path, socket_dir: &Path, marker: &str) -> Vec<OsString> {
    let path = |name: &str, path: &Path| {
        let mut parameter = OsString::from(name);
        parameter.push("=");
        parameter.push(path);
        parameter
    };
    let mut list = vec![path("hba_file", hba), path("unix_socket_directories", socket_dir)];
    let switch = if settings.durable { "on" } else { "off" };
    list.extend(
        [
            "listen_addresses=",
            "unix_socket_permissions=0700",
            &format!("port={PORT}"),
            &format!("cluster_name={marker}"),
            "update_process_title=on",
            "logging_collector=off",
            "log_destination=stderr",
            "timezone=UTC",
            &format!("fsync={switch}"),
            &format!("full_page_writes={switch}"),
            &format!("synchronous_commit={switch}"),
        ]
        .map(OsString::from),
    );
    list.extend(settings.parameters.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
    list
}
