//! What no single key shows: impossible values stop the start, jointly risky ones warn, each by name.

use std::net::ToSocketAddrs;

use super::Config;
use crate::db::Target;

/// Warnings, or the faults that make a start impossible.
pub fn check(config: &Config) -> Result<Vec<String>, Vec<String>> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    server(config, &mut faults, &mut warnings);
    database(config, &mut faults, &mut warnings);
    headroom(config, &mut faults);
    if !matches!(config.log.format.as_str(), "auto" | "text" | "json") {
        faults.push("log.format: expected auto, text or json".into());
    }
    if let Err(error) = config.log.level.parse::<tracing_subscriber::EnvFilter>() {
        faults.push(format!("log.level: {error}"));
    }
    if faults.is_empty() { Ok(warnings) } else { Err(faults) }
}

fn server(config: &Config, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let server = &config.server;
    if server.listen.to_socket_addrs().is_err() {
        faults.push(format!("server.listen: `{}` is not an address and port", server.listen));
    }
    if !config.ops.listen.is_empty() && config.ops.listen.to_socket_addrs().is_err() {
        faults.push(format!("ops.listen: `{}` is not an address and port", config.ops.listen));
    }
    if config.ops.listen == server.listen && !server.listen.ends_with(":0") {
        faults.push("ops.listen: must differ from server.listen".into());
    }
    if !server.public_url.is_empty() {
        match url::Url::parse(&server.public_url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/" => {}
            _ => faults
                .push("server.public_url: expected http:// or https:// and a host, without a path".into()),
        }
    }
    for (name, value, least) in [
        ("server.request_timeout_seconds", server.request_timeout_seconds, 1),
        ("server.header_timeout_seconds", server.header_timeout_seconds, 1),
        ("server.stop_limit_seconds", server.stop_limit_seconds, 1),
    ] {
        if value < least {
            faults.push(format!("{name}: must be at least {least}"));
        }
    }
    if server.body_limit_bytes < 16 * 1024 {
        faults.push(
            "server.body_limit_bytes: must be at least 16384, the size of one large name and target".into(),
        );
    }
    if server.max_connections == 0 {
        faults.push("server.max_connections: must be at least 1".into());
    }
    if config.ops.metrics_public {
        warnings.push(
            "ops.metrics_public: anybody can read /metrics; prefer ops.listen on a private address".into(),
        );
    }
}

fn database(config: &Config, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let database = &config.database;
    if !database.url.is_empty()
        && let Err(error) = Target::parse(&database.url)
    {
        faults.push(format!("database.url: {error}"));
    }
    if database.max_connections < 4 {
        faults.push("database.max_connections: must be at least 4, two for each pool".into());
    }
    for (name, value) in [
        ("database.acquire_timeout_ms", database.acquire_timeout_ms),
        ("database.statement_timeout_ms", database.statement_timeout_ms),
        ("database.lock_timeout_ms", database.lock_timeout_ms),
    ] {
        if value == 0 {
            faults.push(format!("{name}: 0 would wait for ever"));
        }
    }
    if database.lock_timeout_ms >= database.statement_timeout_ms {
        warnings.push("database.lock_timeout_ms: not below statement_timeout_ms, so waiting for a lock ends as a slow statement".into());
    }
    if database.statement_timeout_ms > config.server.request_timeout_seconds.saturating_mul(1000) {
        warnings.push("database.statement_timeout_ms: above server.request_timeout_seconds, so a client is answered while its statement still runs".into());
    }
}

fn headroom(config: &Config, faults: &mut Vec<String>) {
    let headroom = &config.headroom;
    let share = 0.0..=1.0;
    if !share.contains(&headroom.warn_ratio) || !share.contains(&headroom.critical_ratio) {
        faults.push("headroom.warn_ratio, headroom.critical_ratio: must be shares between 0 and 1".into());
    } else if headroom.critical_ratio > headroom.warn_ratio {
        faults.push("headroom.critical_ratio: must not be above warn_ratio".into());
    }
    if headroom.interval_seconds == 0 {
        faults.push("headroom.interval_seconds: must be at least 1".into());
    }
}
