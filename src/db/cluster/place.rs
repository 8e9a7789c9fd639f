//! Where the files of a cluster are. Usually in the data directory of the settings:
//!
//! - `postgres/` PostgreSQL's own data directory, `socket/` its socket: owned by the cluster's account;
//! - `owner.lock`, `pg_hba.conf`, `postgres.log`: owned by whoever owns the data directory, so that a
//!   server which runs as root never writes where a lesser account could have laid a link.
//!
//! When that account cannot enter the data directory (a checkout below /root), the files live below
//! /var/lib/resolute under a name derived from the data directory, so that every command finds them again.

use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::account::Account;
use super::error::ClusterError;
use super::lock::open_beside_others;

/// Where the data of a root server go when the cluster's account cannot enter the chosen directory.
const FALLBACK: &str = "/var/lib/resolute";

/// The longest path of a Unix socket: `sun_path` has 108 bytes on Linux and 104 elsewhere, one for the end.
const MAX_SOCKET_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// PostgreSQL names its socket after a port even where it opens none.
pub(super) const PORT: u16 = 5432;

/// The directories of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    home: PathBuf,
}

impl Place {
    /// The cluster that exists for a data directory (absolute, without links), whoever made it.
    pub fn find(data_dir: &Path) -> Result<Option<Self>, ClusterError> {
        for home in [data_dir.to_path_buf(), fallback(data_dir)] {
            let place = Self { home };
            let data = place.data();
            if data.try_exists().map_err(ClusterError::io("look for the data", &data))? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The place for a new cluster: the data directory, or the fallback when the account cannot enter it.
    pub fn choose(data_dir: &Path, account: &Account) -> Result<Self, ClusterError> {
        if account.may_enter(data_dir) {
            return Ok(Self { home: data_dir.to_path_buf() });
        }
        let home = fallback(data_dir);
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(FALLBACK)
            .map_err(ClusterError::io("make the directory", Path::new(FALLBACK)))?;
        match DirBuilder::new().mode(0o711).create(&home) {
            Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(ClusterError::io("make the directory", &home)(source));
            }
            _ => {}
        }
        if !account.may_enter(&home) {
            return Err(ClusterError::Unreachable { path: home, uid: account.uid });
        }
        Ok(Self { home })
    }

    /// Says in the data directory where the files are when they are elsewhere: for people and `make clean-data`, the
    /// program derives the place again. Also for data that an earlier checkout of the same path left behind.
    pub fn point_to(&self, data_dir: &Path) -> Result<(), ClusterError> {
        let pointer = data_dir.join("location");
        if self.home == data_dir || pointer.exists() {
            return Ok(());
        }
        tracing::warn!(
            data_dir = %data_dir.display(),
            instead = %self.home.display(),
            "PostgreSQL's account cannot enter the data directory; the data are kept elsewhere"
        );
        let mut file = open_beside_others(&pointer, OFlags::WRONLY | OFlags::TRUNC)?;
        writeln!(file, "{}", self.home.display()).map_err(ClusterError::io("write", &pointer))
    }

    /// The directory that holds everything.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// PostgreSQL's data directory.
    pub fn data(&self) -> PathBuf {
        self.home.join("postgres")
    }

    /// What PostgreSQL prints.
    pub fn log(&self) -> PathBuf {
        self.home.join("postgres.log")
    }

    /// Who may connect.
    pub fn hba(&self) -> PathBuf {
        self.home.join("pg_hba.conf")
    }

    /// A word in the command lines of this cluster's processes, by which they are recognised. (`/proc/…/cwd`
    /// would be more direct, but root in a container may not read it.)
    pub fn marker(&self) -> String {
        format!("resolute-{}", digest(&self.home))
    }

    /// Makes the directory for the socket, which only the cluster's account (and root) may enter: beside the
    /// data, or a short one in /tmp when that path would be too long or needs quoting in the configuration.
    pub fn make_socket_dir(&self, account: &Account) -> Result<PathBuf, ClusterError> {
        let beside = self.home.join("socket");
        let longest = format!("/.s.PGSQL.{PORT}").len() + beside.as_os_str().len();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(byte);
        let dir = if longest <= MAX_SOCKET_PATH && beside.as_os_str().as_bytes().iter().all(plain) {
            beside
        } else {
            PathBuf::from(format!("/tmp/resolute-{}-{}", account.uid, digest(&self.home)))
        };
        make_private_dir(&dir, account)?;
        Ok(dir)
    }
}

/// Makes a directory that nobody but the account enters. An existing one is accepted only if it is exactly
/// that: in /tmp somebody else may have made it first, or a link to something of ours.
pub(super) fn make_private_dir(dir: &Path, account: &Account) -> Result<(), ClusterError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => return account.give(dir),
        Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(ClusterError::io("make the directory", dir)(source)),
    }
    let found = dir.symlink_metadata().map_err(ClusterError::io("read the owner", dir))?;
    let refuse = |reason| Err(ClusterError::SocketDirectory { path: dir.to_path_buf(), reason });
    if !found.is_dir() {
        return refuse("it exists and is not a directory");
    }
    if found.uid() != account.uid {
        // The gap between making the directory and giving it away, in a server that was killed.
        if found.uid() == 0 && account.switches {
            return account.give(dir);
        }
        return refuse("it belongs to another user");
    }
    if found.mode() & 0o077 != 0 {
        return refuse("others may enter it");
    }
    Ok(())
}

fn fallback(data_dir: &Path) -> PathBuf {
    Path::new(FALLBACK).join(digest(data_dir))
}

/// Sixteen hexadecimal digits that stand for a path.
fn digest(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_bytes());
    let (head, _) = hash.split_first_chunk::<8>().expect("SHA-256 has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*head))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn me() -> Account {
        Account {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            switches: false,
        }
    }

    #[test]
    fn a_private_directory_is_made_and_accepted_again() {
        let temporary = tempfile::tempdir().expect("temporary directory");
        let dir = temporary.path().join("socket");
        for _ in 0..2 {
            make_private_dir(&dir, &me()).expect("ours alone");
            assert_eq!(dir.metadata().expect("made").mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_directory_that_others_prepared_is_refused() {
        let temporary = tempfile::tempdir().expect("temporary directory");
        let dir = temporary.path().join("socket");
        make_private_dir(&dir, &me()).expect("ours alone");

        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("mode");
        assert!(matches!(make_private_dir(&dir, &me()), Err(ClusterError::SocketDirectory { .. })));
        let stranger = Account { uid: me().uid + 1, ..me() };
        assert!(matches!(make_private_dir(&dir, &stranger), Err(ClusterError::SocketDirectory { .. })));
        let link = temporary.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).expect("link");
        assert!(matches!(make_private_dir(&link, &me()), Err(ClusterError::SocketDirectory { .. })));
    }

    #[test]
    fn data_that_are_elsewhere_are_pointed_to_once() {
        let temporary = tempfile::tempdir().expect("temporary directory");
        let pointer = temporary.path().join("location");
        Place { home: temporary.path().into() }.point_to(temporary.path()).expect("nothing to write");
        assert!(!pointer.exists());
        for _ in 0..2 {
            Place { home: "/elsewhere".into() }.point_to(temporary.path()).expect("written");
            assert_eq!(std::fs::read_to_string(&pointer).expect("a file"), "/elsewhere\n");
        }
    }

    #[test]
    fn different_data_directories_have_different_markers_and_fallbacks() {
        let place = |home: &str| Place { home: PathBuf::from(home) };
        assert_ne!(place("/a").marker(), place("/b").marker());
        assert_ne!(fallback(Path::new("/a")), fallback(Path::new("/b")));
        assert_eq!(fallback(Path::new("/a")), fallback(Path::new("/a")));
    }
}
