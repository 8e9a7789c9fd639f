//! The generators: pgbench and wrk for baselines, `resolute loadtest` for the product. Each is run as a person would
//! run it, and its own words are read.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::stand::{Server, Stand};

/// Transactions a second of one script with so many clients.
pub fn pgbench(
    program: &Path,
    stand: &Stand,
    script: &str,
    variables: &[(&str, i64)],
    (clients, seconds): (u32, u32),
) -> anyhow::Result<f64> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pgbench").join(script);
    let mut command = Command::new(program);
    command
        .args(["-n", "-M", "prepared", "-U", "resolute", "-p", &stand.socket.1.to_string(), "-h"])
        .arg(&stand.socket.0)
        .args([
            "-c",
            &clients.to_string(),
            "-j",
            &clients.min(2).to_string(),
            "-T",
            &seconds.to_string(),
            "-f",
        ])
        .arg(file);
    for (name, value) in variables {
        command.args(["-D", &format!("{name}={value}")]);
    }
    let output = command.arg("bench").output().with_context(|| program.display().to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tps = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    match tps {
        Some(tps) if output.status.success() => Ok(tps),
        _ => bail!("pgbench {script}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Answers a second to a GET of `path`; every one a redirect.
pub fn wrk(address: &str, path: &str, connections: usize, seconds: u32) -> anyhow::Result<f64> {
    let output = Command::new("wrk")
        .args(["-t", "1", "-c", &connections.to_string(), "-d", &format!("{seconds}s")])
        .arg(format!("http://{address}{path}"))
        .output()
        .context("wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("Non-2xx or 3xx") || text.contains("Socket errors") {
        bail!("wrk {path}: {text}");
    }
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok());
    rate.ok_or_else(|| anyhow!("wrk {path}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Load tests so far: each has a manifest of its own.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// A load test that is running.
pub struct Running {
    child: Child,
    scenario: String,
    /// Where its manifest is.
    pub manifest: PathBuf,
}

/// What a load test found.
#[derive(Debug)]
pub struct Found {
    /// Its report.
    pub report: Value,
    /// Lost or wrong data, in words.
    pub fault: Option<String>,
    /// Requests that failed, in words; empty when none did.
    pub errors: String,
}

impl Running {
    /// Starts `resolute loadtest` with `arguments`, split at spaces, on a server.
    pub fn start(stand: &Stand, server: &Server, arguments: &str) -> anyhow::Result<Self> {
        let scenario = arguments.to_owned();
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let manifest = stand.directory.join(format!("manifest-{number}.json"));
        let _ = std::fs::remove_file(&manifest);
        let (url, file) = (format!("http://{}", server.address), manifest.to_string_lossy().into_owned());
        let pid = server.pid().to_string();
        let mut all = vec!["loadtest"];
        all.extend(arguments.split(' '));
        // What was made goes with the database; taking it away row by row would disturb what is measured next.
        if !arguments.contains("--reuse") {
            all.extend(["--keep", "--manifest", &file]);
        }
        all.extend(["--json", "--url", &url, "--server-pid", &pid]);
        let child = stand.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(Self { child, scenario, manifest })
    }

    /// Asks it to end soon, as Ctrl-C does.
    pub fn interrupt(&self) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::INT)?)
    }

    /// Waits for its report.
    pub fn finish(self) -> anyhow::Result<Found> {
        let output = self.child.wait_with_output()?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("loadtest {}: {errors}", self.scenario))?;
        Ok(Found::new(report, &self.scenario))
    }
}

impl Found {
    fn new(report: Value, scenario: &str) -> Self {
        let count = |member: &str| report["integrity"][member].as_u64().unwrap_or_default();
        let names =
            ["acknowledged_but_missing", "stored_but_not_acknowledged", "stored_otherwise", "log_faults"];
        let mut words: Vec<String> = names
            .iter()
            .filter(|name| count(name) > 0)
            .map(|name| format!("{} {}", count(name), name.replace('_', " ")))
            .collect();
        let failures = report["errors"].as_object().cloned().unwrap_or_default();
        words.extend(failures.keys().filter(|class| class.starts_with("wrong answer")).cloned());
        let fault = (!words.is_empty()).then(|| format!("loadtest {scenario}: {}", words.join(", ")));
        let errors: Vec<String> =
            failures.iter().map(|(class, times)| format!("{times} × {class}")).collect();
        let errors = if errors.is_empty() { String::new() } else { format!("failed: {}", errors.join(", ")) };
        Self { report, fault, errors }
    }

    /// A number of the report by its JSON pointer.
    pub fn number(&self, pointer: &str) -> f64 {
        self.report.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }
}
