//! One owner per data directory: the process that starts, adopts and stops the cluster holds a file lock,
//! which the kernel lets go when that process ends in whatever way. The process id in the file is only for
//! the message to the second one.

use std::fs::{File, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::error::ClusterError;

/// Its name in the data directory.
const FILE: &str = "owner.lock";

/// The right to start and stop the cluster of one data directory.
#[derive(Debug)]
pub(super) struct OwnerLock {
    /// The data directory from the settings, absolute and without symbolic links.
    pub dir: PathBuf,
    file: File,
}

impl OwnerLock {
    /// Takes the lock, making the directory when there is none.
    pub fn take(data_dir: &Path) -> Result<Self, ClusterError> {
        let dir = make_data_dir(data_dir)?;
        let path = dir.join(FILE);
        let mut file = open_beside_others(&path, OFlags::RDWR).map_err(|error| foreign(&dir, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _unreadable_is_unknown = file.read_to_string(&mut text);
                return Err(ClusterError::InUse { data_dir: dir, pid: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(source)) => return Err(ClusterError::io("lock", &path)(source)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(ClusterError::io("write", &path))?;
        Ok(Self { dir, file })
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing would do; saying so keeps the id of a process that left from being shown.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Says whose directory it is when we may not write there.
fn foreign(dir: &Path, error: ClusterError) -> ClusterError {
    match (&error, dir.metadata()) {
        (ClusterError::Io { cause, .. }, Ok(found))
            if cause.kind() == std::io::ErrorKind::PermissionDenied
                && found.uid() != rustix::process::geteuid().as_raw() =>
        {
            ClusterError::Foreign { data_dir: dir.to_path_buf(), owner: found.uid() }
        }
        _ => error,
    }
}

/// Opens a file of ours for writing, made when missing. Root may work in a directory of somebody else:
/// no symbolic link is followed out of it, and the file belongs to the directory's owner, who may be the
/// next to start the server.
pub(super) fn open_beside_others(path: &Path, flags: OFlags) -> Result<File, ClusterError> {
    let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(|errno| ClusterError::io("open for writing", path)(errno.into()))?;
    if rustix::process::geteuid().is_root()
        && let Some(parent) = path.parent()
    {
        let owner = parent.metadata().map_err(ClusterError::io("read the owner", parent))?;
        std::os::unix::fs::fchown(&file, Some(owner.uid()), Some(owner.gid()))
            .map_err(ClusterError::io("change the owner", path))?;
    }
    Ok(file)
}

/// The data directory from the settings, made when missing, as one absolute path without symbolic links:
/// names of sockets and fallback directories are derived from it.
fn make_data_dir(data_dir: &Path) -> Result<PathBuf, ClusterError> {
    // Root's cluster runs as another account, which must pass through (not look around), whatever the umask.
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    if let Some(parent) = data_dir.parent()
        && !data_dir.exists()
    {
        let created = std::fs::create_dir_all(parent).and_then(|()| std::fs::create_dir(data_dir));
        match created.and_then(|()| std::fs::set_permissions(data_dir, Permissions::from_mode(mode))) {
            Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(ClusterError::io("make the directory", data_dir)(source));
            }
            _ => {}
        }
    }
    data_dir.canonicalize().map_err(ClusterError::io("find the directory", data_dir))
}
