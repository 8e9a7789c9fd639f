//! What is measured on: a private PostgreSQL with the durable settings that are shipped, a fresh database with the
//! product's schema, and servers started as an operator starts them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use resolute::config::Environment;
use resolute::db::cluster::{Cluster, Settings};
use resolute::db::{Db, PoolSettings, Target, migrate};
use resolute::load::process::find_usage;
use rustix::process::{Pid, Signal, kill_process};

/// Any master secret: the data live as long as the run.
const SECRET: &str = "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b";
/// Beyond what one key can ask for; the limiter itself is on.
const UNLIMITED: &str = "1000000";

/// Cluster, database and directory.
pub struct Stand {
    cluster: Cluster,
    /// Connections of the bench itself.
    pub db: Db,
    /// Where everything is written.
    pub directory: PathBuf,
    /// Directory of the cluster's socket, and its port.
    pub socket: (PathBuf, u16),
    url: String,
}

impl Stand {
    /// Starts the cluster and makes a fresh database.
    pub async fn start(directory: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)?;
        let settings = Settings {
            data_dir: directory.join("postgres"),
            durable: true,
            path: Environment::of_process().path().cloned(),
            binaries_dir: None,
            parameters: vec![("max_connections".into(), "200".into())],
        };
        let cluster = Cluster::start(&settings).await?;
        let socket = (cluster.socket_dir().to_path_buf(), cluster.port());
        let target = Target::socket(&socket.0, socket.1, cluster.user(), "bench");
        let pools = PoolSettings::from(&resolute::config::Database::default());
        let maintenance = Db::open(&target.with_database("postgres"), &pools)?;
        let client = maintenance.hot().await?;
        client.batch_execute("DROP DATABASE IF EXISTS bench WITH (FORCE)").await?;
        client.batch_execute("CREATE DATABASE bench").await?;
        drop(client);
        maintenance.close().await;
        migrate::migrate(&target, migrate::PATIENCE).await?;
        let db = Db::open(&target, &pools)?;
        db.hot().await?.batch_execute(include_str!("../pgbench/setup.sql")).await?;
        let dir = socket.0.to_string_lossy().replace('%', "%25").replace('/', "%2F");
        let url = format!("postgres://{}@{dir}:{}/bench", cluster.user(), socket.1);
        Ok(Self { cluster, db, directory: directory.to_path_buf(), socket, url })
    }

    /// A command of the product on this database, that inherits nothing but PATH.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_resolute"));
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null()).env_clear();
        if let Some(path) = Environment::of_process().path() {
            command.env("PATH", path);
        }
        command
            .env("DATABASE_URL", &self.url)
            .env("RESOLUTE__SECURITY__MASTER_SECRET", SECRET)
            .env("RESOLUTE__LOG__LEVEL", "warn");
        command
    }

    /// Stops everything.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.db.close().await;
        Ok(self.cluster.stop().await?)
    }
}

/// Servers so far: each has a log of its own.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running server.
pub struct Server {
    child: Child,
    /// Address of its listener.
    pub address: String,
}

impl Server {
    /// Starts one with the settings that are shipped, but for the rate of a key; `level` is that of its log, which goes
    /// to a file as it would go to a pipe.
    pub fn start(stand: &Stand, level: &str) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        // There may be two at once.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let file = stand.directory.join(format!("server-{number}.log"));
        let log = File::create(&file)?;
        let child = stand
            .command(&["serve", "--listen", &address])
            .env("RESOLUTE__OPS__LISTEN", "")
            .env("RESOLUTE__LOG__LEVEL", level)
            .env("RESOLUTE__SERVER__DRAIN_DELAY_SECONDS", "0")
            .env("RESOLUTE__LIMITS__KEY_PER_SECOND", UNLIMITED)
            .env("RESOLUTE__LIMITS__KEY_BURST", UNLIMITED)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("the server")?;
        let server = Self { child, address };
        let end = Instant::now() + Duration::from_mins(1);
        while !is_ready(&server.address) {
            if Instant::now() > end {
                let log = fs::read_to_string(&file).unwrap_or_default();
                bail!("the server does not get ready:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as an operator does; the most memory it ever had, in bytes.
    pub fn stop(mut self) -> anyhow::Result<Option<u64>> {
        let peak = find_usage(self.child.id()).map(|usage| usage.peak_bytes);
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(peak)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(address: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}
