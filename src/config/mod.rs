//! Settings: their types and defaults. `load` lays file, environment and flags over these; `check` finds what
//! is impossible or jointly risky. config/resolute.toml shows the same keys and defaults, kept equal by test.

pub mod check;
pub mod environment;
pub mod load;
pub mod networks;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use environment::Environment;
pub use load::{ConfigError, Overrides, find_file, load};
pub use networks::Networks;

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The public listener.
    pub server: Server,
    /// The operator's listener: metrics and health.
    pub ops: Ops,
    /// How often somebody may ask.
    pub limits: Limits,
    /// How much a tenant may have.
    pub quotas: Quotas,
    /// PostgreSQL: where it is and how it is used.
    pub database: Database,
    /// How writes are gathered into transactions.
    pub write: Write,
    /// What is remembered of the database.
    pub cache: Cache,
    /// When the distance to an exhausted id is worth a warning.
    pub headroom: Headroom,
    /// Secrets.
    pub security: Security,
    /// Log lines.
    pub log: Log,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Address and port of the public listener.
    pub listen: String,
    /// How users reach this server, scheme and host, without a final slash; empty: `http://` and `listen`.
    pub public_url: String,
    /// Addresses and CIDR blocks, separated by commas, whose `X-Forwarded-For` is believed; empty: nobody's.
    pub trusted_proxies: String,
    /// Largest request body in bytes.
    pub body_limit_bytes: usize,
    /// A request that takes longer than this many seconds is answered 503, and a client that takes nothing of its answer
    /// for so long is dropped.
    pub request_timeout_seconds: u64,
    /// A client that has not sent its whole request head after this many seconds is dropped.
    pub header_timeout_seconds: u64,
    /// Open connections at once; more wait in the kernel's queue.
    pub max_connections: usize,
    /// Seconds between "not ready" and the end of accepting, for load balancers to notice.
    pub drain_delay_seconds: u64,
    /// Seconds after which a stop no longer waits for what is still running.
    pub stop_limit_seconds: u64,
}

/// `[ops]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ops {
    /// Address and port of the second listener; empty: none.
    pub listen: String,
    /// Whether `/metrics` also answers on the public listener.
    pub metrics_public: bool,
}

/// `[limits]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests a second of one API key in the long run; 0: no limit.
    pub key_per_second: u32,
    /// Requests of one API key at once.
    pub key_burst: u32,
    /// Writes without a credential and wrong credentials, a second, of one address or against one key or participant;
    /// 0: no limit.
    pub address_per_second: u32,
    /// The same at once.
    pub address_burst: u32,
}

/// `[quotas]`: what a tenant may have unless it has quotas of its own; 0: no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quotas {
    /// Domains.
    pub domains: u64,
    /// Names in all of its domains, tombstones included.
    pub names: u64,
    /// Meetings, over included.
    pub meetings: u64,
    /// Participants of all meetings, those who left included.
    pub participants: u64,
    /// API keys that are neither revoked nor expired.
    pub api_keys: u64,
    /// Requests a second with all of its API keys together, in the long run, at each server.
    pub requests_per_second: u32,
    /// The same at once.
    pub requests_burst: u32,
}

/// `[database]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// `postgres://…`; empty: a private PostgreSQL in `data_dir` is started.
    pub url: String,
    /// Directory of the private PostgreSQL.
    pub data_dir: PathBuf,
    /// Directory of PostgreSQL's programs; empty: they are searched.
    pub binaries_dir: PathBuf,
    /// Connections of this process, both pools together.
    pub max_connections: u32,
    /// Milliseconds a request waits for a connection.
    pub acquire_timeout_ms: u64,
    /// Milliseconds after which PostgreSQL ends a statement.
    pub statement_timeout_ms: u64,
    /// Milliseconds a statement waits for a lock.
    pub lock_timeout_ms: u64,
    /// Whether `serve` brings the schema up to date; false: only `resolute migrate` does.
    pub migrate_at_start: bool,
}

/// `[write]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// Most ballots of one tenant, or names of one domain, in a transaction.
    pub batch_items: usize,
    /// Bytes of ballots, and of names, that wait for their transaction at most; one tenant may hold half of it.
    pub queue_bytes: usize,
    /// Milliseconds a write waits for its transaction to begin.
    pub queue_wait_ms: u64,
}

/// `[cache]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Names that are remembered with where they point; these are what survives an outage of the database.
    pub names: usize,
    /// Names that are remembered not to exist.
    pub absent_names: usize,
    /// API keys that are remembered, for one second each.
    pub keys: usize,
    /// Voters of open polls that are remembered, of all polls together.
    pub voters: usize,
}

/// `[headroom]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// Share of ids left below which the status is `warn`.
    pub warn_ratio: f64,
    /// Share of ids left below which the status is `critical`.
    pub critical_ratio: f64,
    /// Seconds between measurements.
    pub interval_seconds: u64,
    /// Rows that the hosting plan allows in all tables together; 0: no limit.
    pub row_limit: u64,
    /// Bytes that the databases may take together; 0: no limit.
    pub disk_limit_bytes: u64,
}

/// `[security]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Security {
    /// The master secret, 64 hexadecimal digits; empty: it is in the file.
    pub master_secret: String,
    /// File of the master secret; made at the first start if it is missing.
    pub master_secret_file: PathBuf,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// `text`, `json`, or `auto`: text on a terminal, else JSON.
    pub format: String,
    /// A level or filter such as `info` or `resolute=debug,info`.
    pub level: String,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            public_url: String::new(),
            trusted_proxies: String::new(),
            body_limit_bytes: 2 * 1024 * 1024,
            request_timeout_seconds: 30,
            header_timeout_seconds: 10,
            max_connections: 10_000,
            drain_delay_seconds: 5,
            stop_limit_seconds: 30,
        }
    }
}

impl Default for Ops {
    fn default() -> Self {
        Self { listen: "127.0.0.1:9464".into(), metrics_public: false }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { key_per_second: 600, key_burst: 2_000, address_per_second: 5, address_burst: 50 }
    }
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            domains: 10_000,
            names: 0,
            meetings: 100_000,
            participants: 1_000_000,
            api_keys: 1_000,
            requests_per_second: 0,
            requests_burst: 10_000,
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: String::new(),
            data_dir: "data/postgres".into(),
            binaries_dir: PathBuf::new(),
            max_connections: 16,
            acquire_timeout_ms: 3_000,
            statement_timeout_ms: 10_000,
            lock_timeout_ms: 5_000,
            migrate_at_start: true,
        }
    }
}

impl Default for Write {
    fn default() -> Self {
        Self { batch_items: 200, queue_bytes: 33_554_432, queue_wait_ms: 5_000 }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self { names: 50_000, absent_names: 10_000, keys: 10_000, voters: 200_000 }
    }
}

impl Default for Headroom {
    fn default() -> Self {
        Self {
            warn_ratio: 0.20,
            critical_ratio: 0.05,
            interval_seconds: 60,
            row_limit: 0,
            disk_limit_bytes: 0,
        }
    }
}

impl Default for Security {
    fn default() -> Self {
        Self { master_secret: String::new(), master_secret_file: "data/master-secret".into() }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: "auto".into(), level: "info".into() }
    }
}

impl Server {
    /// How users reach this server: scheme and host without a final slash. Without `public_url` it is the listen
    /// address, and where that means every address of the machine, `localhost`.
    pub fn origin(&self) -> String {
        if !self.public_url.is_empty() {
            return self.public_url.trim_end_matches('/').to_owned();
        }
        match self.listen.rsplit_once(':') {
            Some(("0.0.0.0" | "[::]" | "", port)) => format!("http://localhost:{port}"),
            _ => format!("http://{}", self.listen),
        }
    }

    /// `trusted_proxies`, which were checked at the start; nobody if they are malformed.
    pub fn trusted_networks(&self) -> Networks {
        Networks::parse(&self.trusted_proxies).unwrap_or_default()
    }

    /// `request_timeout_seconds` as a duration.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_something_that_a_user_can_open() {
        let of = |listen: &str, public_url: &str| {
            Server { listen: listen.into(), public_url: public_url.into(), ..Server::default() }.origin()
        };
        assert_eq!(of("127.0.0.1:8080", ""), "http://127.0.0.1:8080");
        assert_eq!(of("0.0.0.0:80", ""), "http://localhost:80");
        assert_eq!(of("[::]:80", ""), "http://localhost:80");
        assert_eq!(of("0.0.0.0:80", "https://purl.example.org/"), "https://purl.example.org");
    }
}
