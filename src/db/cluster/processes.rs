//! The processes of one cluster, found in the process table: the postmaster by its arguments, the others by
//! the title that PostgreSQL gives them. A process id in a file alone proves nothing, ids are used again.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long processes without a postmaster may take to leave before they are killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the process table is read while waiting.
pub(super) const POLL: Duration = Duration::from_millis(20);

/// Every live process of the cluster with this marker that runs as this user.
fn list_processes(marker: &str, uid: u32) -> Vec<i32> {
    let table = if has_proc() { from_proc(uid) } else { from_ps(uid) };
    table.into_iter().filter(|(_, title)| role(title, marker).is_some()).map(|(pid, _)| pid).collect()
}

/// Whether this process is the cluster's postmaster and has not ended.
pub(super) fn is_postmaster(pid: i32, marker: &str, uid: u32) -> bool {
    let title = if has_proc() {
        title_from_proc(&PathBuf::from(format!("/proc/{pid}")), uid)
    } else {
        from_ps(uid).into_iter().find_map(|(other, title)| (other == pid).then_some(title))
    };
    title.is_some_and(|title| role(&title, marker) == Some(true))
}

/// Ends what a killed postmaster left behind: its children hold the shared memory, and with them alive
/// PostgreSQL refuses to start. They have nothing to save, the next start recovers from the log anyway.
pub(super) async fn end_orphans(marker: &str, uid: u32) {
    let started = std::time::Instant::now();
    let mut signal = Signal::QUIT;
    loop {
        let orphans = list_processes(marker, uid);
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            send(orphan, signal);
        }
        if started.elapsed() > 2 * PATIENCE {
            return; // PostgreSQL itself will say what is in the way.
        }
        signal = if started.elapsed() > PATIENCE { Signal::KILL } else { signal };
        tokio::time::sleep(POLL).await;
    }
}

/// Sends a signal; a process that is gone by now is what was wanted.
pub(super) fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// `Some(true)` for the postmaster, `Some(false)` for its children, `None` for other programs.
fn role(title: &str, marker: &str) -> Option<bool> {
    if title.strip_prefix("postgres: ").is_some_and(|rest| rest.starts_with(&format!("{marker}: "))) {
        return Some(false);
    }
    let program = title.split_whitespace().next()?;
    let is_server = Path::new(program).file_name().is_some_and(|name| name == "postgres");
    (is_server && title.contains(&format!("cluster_name={marker}"))).then_some(true)
}

fn has_proc() -> bool {
    Path::new("/proc/self/cmdline").exists()
}

/// Process ids and titles of a user, from Linux's process table.
fn from_proc(uid: u32) -> Vec<(i32, String)> {
    let Ok(entries) = Path::new("/proc").read_dir() else { return Vec::new() };
    let process = |dir: PathBuf| -> Option<(i32, String)> {
        let pid = dir.file_name()?.to_str()?.parse().ok()?;
        Some((pid, title_from_proc(&dir, uid)?))
    };
    entries.flatten().filter_map(|entry| process(entry.path())).collect()
}

/// The title of a process that belongs to the user. Titles are readable for everybody, and empty for a
/// process that has ended and was not waited for.
fn title_from_proc(dir: &Path, uid: u32) -> Option<String> {
    if dir.metadata().ok()?.uid() != uid {
        return None;
    }
    let title = std::fs::read(dir.join("cmdline")).ok()?;
    Some(String::from_utf8_lossy(&title).replace('\0', " "))
}

/// The same where there is no /proc.
fn from_ps(uid: u32) -> Vec<(i32, String)> {
    let list = Command::new("ps").args(["-axww", "-o", "pid=,uid=,command="]).stderr(Stdio::null()).output();
    let Ok(output) = list else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let process = |line: &str| -> Option<(i32, String)> {
        let (pid, rest) = line.trim_start().split_once(' ')?;
        let (owner, title) = rest.trim_start().split_once(' ')?;
        (owner.parse() == Ok(uid)).then_some((pid.parse().ok()?, title.trim_start().to_owned()))
    };
    text.lines().filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_this_cluster_are_recognised() {
        let marker = "resolute-0011223344556677";
        let server = "/usr/lib/postgresql/15/bin/postgres -D /d -c cluster_name=resolute-0011223344556677";
        assert_eq!(role(server, marker), Some(true));
        assert_eq!(role("postgres: resolute-0011223344556677: walwriter ", marker), Some(false));
        assert_eq!(role("postgres: 15/main: walwriter ", marker), None);
        assert_eq!(role("grep cluster_name=resolute-0011223344556677", marker), None);
        assert_eq!(role("postgres -D /d -c cluster_name=resolute-ffffffffffffffff", marker), None);
        assert_eq!(role("", marker), None);
    }
}
