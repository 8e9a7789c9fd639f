//! The real binary as a process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use resolute::db::Target;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::wire::{self, WireAnswer};

/// A command of the binary that inherits nothing of this process's environment but PATH.
pub fn resolute(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_resolute"));
    command.args(arguments).env_clear();
    if let Some(path) = resolute::config::Environment::of_process().path() {
        command.env("PATH", path);
    }
    // Away from the checkout's own config/resolute.toml.
    command.envs(environment.iter().copied()).current_dir("/").stdin(Stdio::null());
    command
}

/// What `DATABASE_URL` is for this database.
pub fn url(target: &Target) -> String {
    let socket = target.socket_path().expect("the test cluster has a socket");
    let dir = socket.parent().expect("a directory").to_string_lossy().replace('%', "%25").replace('/', "%2F");
    format!("postgres://resolute@{dir}:5432/{}", target.database())
}

/// The master secret of test servers, unless a test sets another.
const TEST_SECRET: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// A running server; killed with this value.
pub struct Server {
    child: Child,
    lines: Mutex<Receiver<String>>,
    seen: Vec<String>,
    /// Address of the public listener.
    pub address: String,
    /// Address of the operator's listener.
    pub ops: String,
}

impl Server {
    /// Starts `resolute serve` on free ports and waits until it serves.
    pub fn start(environment: &[(&str, &str)]) -> Self {
        let mut all = vec![
            ("RESOLUTE__SERVER__LISTEN", "127.0.0.1:0"),
            ("RESOLUTE__OPS__LISTEN", "127.0.0.1:0"),
            ("RESOLUTE__LOG__FORMAT", "json"),
            ("RESOLUTE__SECURITY__MASTER_SECRET", TEST_SECRET),
        ];
        all.extend_from_slice(environment);
        let mut child = resolute(&["serve"], &all)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = child.stderr.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut server = Self {
            child,
            lines: Mutex::new(lines),
            seen: Vec::new(),
            address: String::new(),
            ops: String::new(),
        };
        let ops = server.wait_for("operator's listener")["address"].as_str().expect("address").to_owned();
        let address = server.wait_for("serving")["address"].as_str().expect("address").to_owned();
        (server.address, server.ops) = (address, ops);
        server
    }

    /// The log line with this message.
    #[track_caller]
    pub fn wait_for(&mut self, message: &str) -> Value {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.lock().expect("one reader").recv_timeout(left) else {
                panic!("no line `{message}` in:\n{}", self.seen.join("\n"));
            };
            let json: Value = serde_json::from_str(&line).unwrap_or_default();
            self.seen.push(line);
            if json["message"] == message {
                return json;
            }
        }
    }

    /// One request to the public listener.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<WireAnswer> {
        wire::request(&self.address, method, path, headers, body)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the process is ours");
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < end, "the server does not end:\n{}", self.seen.join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
