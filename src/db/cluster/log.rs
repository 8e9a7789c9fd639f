//! The file that takes what PostgreSQL prints: appended to over the starts, cut when it has grown, read back
//! when a start fails.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::ClusterError;
use super::lock::open_beside_others;

/// Above this size (bytes) a start begins a new file and keeps one old one.
const MAX_SIZE: u64 = 16 << 20;
/// How much of the end of the file is looked at (bytes) and shown (lines).
const TAIL: (u64, usize) = (16 << 10, 20);

/// The log of one run of the postmaster.
#[derive(Debug)]
pub(super) struct Log {
    pub path: PathBuf,
    /// Where this run began in the file.
    begin: u64,
}

impl Log {
    /// Opens the log for a new run.
    pub fn open(path: &Path) -> Result<(Self, File), ClusterError> {
        if path.symlink_metadata().is_ok_and(|found| found.len() > MAX_SIZE) {
            std::fs::rename(path, path.with_extension("log.1")).map_err(ClusterError::io("rename", path))?;
        }
        let file = open_beside_others(path, OFlags::WRONLY | OFlags::APPEND)?;
        let begin = file.metadata().map_err(ClusterError::io("read the size", path))?.len();
        Ok((Self { path: path.to_path_buf(), begin }, file))
    }

    /// The last lines of this run.
    pub fn tail(&self) -> String {
        self.read_tail().unwrap_or_else(|error| format!("(unreadable: {error})"))
    }

    fn read_tail(&self) -> std::io::Result<String> {
        let mut file = File::open(&self.path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.begin.max(size.saturating_sub(TAIL.0))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        Ok(lines[lines.len().saturating_sub(TAIL.1)..].join("\n"))
    }
}
