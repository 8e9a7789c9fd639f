//! What PostgreSQL writes about itself into `postmaster.pid` (src/include/utils/pidfile.h of PostgreSQL).
//! The file outlives a killed server: who reads it must check the process.

use std::path::{Path, PathBuf};

/// How far the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It accepts connections.
    Ready,
    /// It starts, perhaps replaying its log after a crash.
    Starting,
    /// It shuts down.
    Stopping,
}

/// The lines of `postmaster.pid` that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub pid: i32,
    pub port: u16,
    pub socket_dir: PathBuf,
    pub status: Status,
}

/// The file in a PostgreSQL data directory; `None` when there is none or it is not complete yet.
pub(super) fn find_pid_file(data: &Path) -> Option<PidFile> {
    parse(&std::fs::read_to_string(path(data)).ok()?)
}

pub(super) fn path(data: &Path) -> PathBuf {
    data.join("postmaster.pid")
}

fn parse(text: &str) -> Option<PidFile> {
    let line = |number: usize| text.lines().nth(number - 1).map(str::trim);
    let status = match line(8) {
        Some("ready" | "standby") => Status::Ready,
        Some("stopping") => Status::Stopping,
        _ => Status::Starting,
    };
    Some(PidFile {
        pid: line(1)?.parse().ok().filter(|pid| *pid > 0)?,
        port: line(4)?.parse().ok()?,
        socket_dir: PathBuf::from(line(5)?),
        status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str = "4711\n/d/postgres\n1764533000\n5432\n/d/socket\n\n  1234  5\nready   \n";

    #[test]
    fn a_complete_file_is_read() {
        let file = parse(READY).expect("complete");
        assert_eq!((file.pid, file.port, file.status), (4711, 5432, Status::Ready));
        assert_eq!(file.socket_dir, Path::new("/d/socket"));
        let stopping = READY.replace("ready   ", "stopping");
        assert_eq!(parse(&stopping).map(|file| file.status), Some(Status::Stopping));
    }

    #[test]
    fn a_file_that_is_still_written_is_no_file_or_not_ready() {
        for end in 0..READY.len() - 6 {
            let part = parse(&READY[..end]);
            assert!(part.is_none_or(|file| file.status == Status::Starting), "{end}");
        }
        assert_eq!(parse("-4711\n/d\n1\n5432\n/s\n"), None);
    }
}
