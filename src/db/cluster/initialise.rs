//! Makes a new PostgreSQL data directory. The work is done under another name and renamed at the end, so
//! that a directory under the final name is always complete, however often making it was interrupted.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use super::account::Account;
use super::binaries::Binaries;
use super::error::ClusterError;
use super::place::Place;
use super::{Settings, USER};

/// How unfinished data directories are called, followed by the id of the process that made them.
const UNFINISHED: &str = "postgres.unfinished-";

/// The major version of the data at this place; `None` when there are none yet.
pub(super) fn find_data_version(place: &Place) -> Result<Option<u32>, ClusterError> {
    let data = place.data();
    let file = data.join("PG_VERSION");
    match std::fs::read_to_string(&file) {
        Ok(text) => match text.trim().parse() {
            Ok(major) => Ok(Some(major)),
            Err(_) => Err(ClusterError::NotADataDirectory { path: data }),
        },
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClusterError::io("read", &file)(source)),
    }
}

/// Runs initdb for a place that has no data.
pub(super) async fn make_data(
    place: &Place,
    account: &Account,
    binaries: &Binaries,
    settings: &Settings,
) -> Result<(), ClusterError> {
    let data = place.data();
    // An empty directory of that name is replaced by the rename, a filled one is not.
    if data.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(ClusterError::NotADataDirectory { path: data });
    }
    let unfinished = make_unfinished(place)?;
    account.give(&unfinished)?;
    tracing::info!(data_dir = %place.home().display(), version = binaries.major, "making a PostgreSQL cluster");

    // Upper and lower case of all of Unicode where the platform has this locale, of ASCII elsewhere. Sorting
    // is by bytes in both: the order of other locales changes with the platform and corrupts indexes.
    let mut output = initdb(&unfinished, account, binaries, settings, "C.UTF-8").await?;
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("invalid locale") {
        output = initdb(&unfinished, account, binaries, settings, "C").await?;
    }
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let output = lines[lines.len().saturating_sub(5)..].join("\n");
        return Err(ClusterError::Initialise { output });
    }

    std::fs::rename(&unfinished, &data).map_err(ClusterError::io("rename", &data))?;
    if settings.durable {
        let home = File::open(place.home()).and_then(|dir| dir.sync_all());
        home.map_err(ClusterError::io("write", place.home()))?;
    }
    Ok(())
}

/// A new directory. That of an earlier attempt of this process may still be there, if its initdb has not ended.
fn make_unfinished(place: &Place) -> Result<PathBuf, ClusterError> {
    let mut attempt = 0;
    loop {
        let path = place.home().join(format!("{UNFINISHED}{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(ClusterError::io("make the directory", &path)(error)),
        }
    }
}

async fn initdb(
    dir: &Path,
    account: &Account,
    binaries: &Binaries,
    settings: &Settings,
    ctype: &str,
) -> Result<Output, ClusterError> {
    let program = binaries.program("initdb");
    let mut command = account.command(&program);
    command.arg("--pgdata").arg(dir).args([
        "--encoding=UTF8",
        "--locale=C",
        &format!("--lc-ctype={ctype}"),
        "--data-checksums",
        "--auth=trust", // replaced by our own pg_hba.conf
        "--no-instructions",
        &format!("--username={USER}"),
    ]);
    if !settings.durable {
        command.arg("--no-sync");
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await;
    output.map_err(ClusterError::io("run", &program))
}

/// Clears up after servers that were killed while they ran initdb. One that is still in use (initdb outlived
/// its server) stays until the next time: nobody waits for it.
pub(super) fn remove_unfinished(place: &Place) {
    let Ok(entries) = place.home().read_dir() else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "an unfinished data directory stays");
        }
    }
}
