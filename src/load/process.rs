//! What a process has used, from Linux's /proc (nothing elsewhere).

use std::fs;

/// Linux reports processor time in hundredths of a second on every architecture (USER_HZ).
const TICKS: f64 = 100.0;

/// Processor time and memory of a process until now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// User and system time of all its threads, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// The most it has been.
    pub peak_bytes: u64,
}

/// Of a process; none where it is gone or /proc is not there.
pub fn find_usage(pid: u32) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(Usage {
        cpu_seconds: cpu_seconds(&stat)?,
        resident_bytes: kilobytes(&status, "VmRSS:")? * 1024,
        peak_bytes: kilobytes(&status, "VmHWM:")? * 1024,
    })
}

/// Fields 14 and 15; the second, the name, may itself have spaces and brackets.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some((f64::from(user) + f64::from(system)) / TICKS)
}

fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_a_name_with_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 4 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
    }

    #[test]
    fn memory_is_read_in_kilobytes() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n";
        assert_eq!((kilobytes(status, "VmHWM:"), kilobytes(status, "VmRSS:")), (Some(2048), Some(1024)));
        assert_eq!(kilobytes(status, "VmSwap:"), None);
    }
}
