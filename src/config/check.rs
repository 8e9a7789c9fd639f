//! What no single key shows: impossible values stop the start, jointly risky ones warn, each by name.

use std::net::ToSocketAddrs;
use std::ops::RangeInclusive;

use super::{Config, Networks};
use crate::db::Target;

/// Warnings, or the faults that make a start impossible.
pub fn check(config: &Config) -> Result<Vec<String>, Vec<String>> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    server(config, &mut faults, &mut warnings);
    limits(config, &mut faults);
    quotas(config, &mut faults);
    database(config, &mut faults, &mut warnings);
    write(config, &mut faults, &mut warnings);
    cache(config, &mut faults);
    headroom(config, &mut faults);
    if !matches!(config.log.format.as_str(), "auto" | "text" | "json") {
        faults.push("log.format: expected auto, text or json".into());
    }
    if let Err(error) = config.log.level.parse::<tracing_subscriber::EnvFilter>() {
        faults.push(format!("log.level: {error}"));
    } else if let Some(word) = misspelt_level(&config.log.level) {
        faults.push(format!("log.level: `{word}` is neither a level (trace to error, off) nor target=level"));
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
    if !server.public_url.is_empty() && !is_origin(&server.public_url) {
        faults
            .push("server.public_url: expected http:// or https:// and a host, and nothing behind it".into());
    }
    match Networks::parse(&server.trusted_proxies) {
        Err(entry) => faults.push(format!(
            "server.trusted_proxies: `{entry}` is neither an address nor a block such as 10.0.0.0/8"
        )),
        Ok(networks) if networks.has_everybody() => warnings.push(
            "server.trusted_proxies: trusts everybody, so any client can claim any address; name the proxies"
                .into(),
        ),
        Ok(_) => {}
    }
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    for (name, value, range) in [
        ("server.request_timeout_seconds", server.request_timeout_seconds, 1..=DAY),
        ("server.header_timeout_seconds", server.header_timeout_seconds, 1..=DAY),
        ("server.drain_delay_seconds", server.drain_delay_seconds, 0..=DAY),
        ("server.stop_limit_seconds", server.stop_limit_seconds, 1..=DAY),
        // From one large name and target to what a process can hold in memory.
        ("server.body_limit_bytes", count(server.body_limit_bytes), 16_384..=1_073_741_824),
        ("server.max_connections", count(server.max_connections), 1..=1_000_000),
    ] {
        within(faults, name, value, range);
    }
    if config.ops.metrics_public {
        warnings.push(
            "ops.metrics_public: anybody can read /metrics; prefer ops.listen on a private address".into(),
        );
    }
}

fn limits(config: &Config, faults: &mut Vec<String>) {
    let limits = &config.limits;
    // A rate of 0 is no limit; a burst of 0 would let nobody pass. Above a million an interval is no longer exact.
    for (name, value, range) in [
        ("limits.key_per_second", limits.key_per_second, 0..=1_000_000),
        ("limits.key_burst", limits.key_burst, 1..=1_000_000),
        ("limits.address_per_second", limits.address_per_second, 0..=1_000_000),
        ("limits.address_burst", limits.address_burst, 1..=1_000_000),
    ] {
        within(faults, name, value.into(), range);
    }
}

fn quotas(config: &Config, faults: &mut Vec<String>) {
    let quotas = &config.quotas;
    for (name, value) in [
        ("quotas.domains", quotas.domains),
        ("quotas.names", quotas.names),
        ("quotas.meetings", quotas.meetings),
        ("quotas.participants", quotas.participants),
        ("quotas.api_keys", quotas.api_keys),
    ] {
        within(faults, name, value, 0..=MOST_OF_A_QUOTA);
    }
    within(faults, "quotas.requests_per_second", quotas.requests_per_second.into(), 0..=1_000_000);
    within(faults, "quotas.requests_burst", quotas.requests_burst.into(), 1..=1_000_000);
}

/// Highest quota: beyond it JavaScript loses integers.
pub const MOST_OF_A_QUOTA: u64 = 9_007_199_254_740_991;

/// Longest time-out in seconds; clocks and PostgreSQL overflow far beyond it.
const DAY: u64 = 86_400;

fn within(faults: &mut Vec<String>, name: &str, value: u64, range: RangeInclusive<u64>) {
    if !range.contains(&value) {
        faults.push(format!("{name}: must be from {} to {}", range.start(), range.end()));
    }
}

/// Scheme, host and perhaps port, with at most a final slash: names are appended to it as text.
fn is_origin(text: &str) -> bool {
    let plain =
        text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'@' | b'\\'));
    plain
        && url::Url::parse(text)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/")
}

/// The first directive that is neither a level nor `target=level`. The filter would take a misspelt level for the
/// name of a target, and log nothing.
fn misspelt_level(filter: &str) -> Option<&str> {
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    filter.split(',').map(str::trim).find(|directive| {
        !directive.contains(['=', '[', '{', '}', ']', '"'])
            && !levels.iter().any(|level| directive.eq_ignore_ascii_case(level))
    })
}

fn database(config: &Config, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let database = &config.database;
    if !database.url.is_empty()
        && let Err(error) = Target::parse(&database.url)
    {
        faults.push(format!("database.url: {error}"));
    }
    // Two for each pool; PostgreSQL itself ends at 262,143.
    within(faults, "database.max_connections", database.max_connections.into(), 4..=100_000);
    for (name, value) in [
        ("database.acquire_timeout_ms", database.acquire_timeout_ms),
        ("database.statement_timeout_ms", database.statement_timeout_ms),
        ("database.lock_timeout_ms", database.lock_timeout_ms),
    ] {
        // 0 would wait for ever.
        within(faults, name, value, 1..=DAY * 1000);
    }
    if database.lock_timeout_ms >= database.statement_timeout_ms {
        warnings.push("database.lock_timeout_ms: not below statement_timeout_ms, so waiting for a lock ends as a slow statement".into());
    }
    if database.statement_timeout_ms > config.server.request_timeout_seconds.saturating_mul(1000) {
        warnings.push("database.statement_timeout_ms: above server.request_timeout_seconds, so a client is answered while its statement still runs".into());
    }
}

fn cache(config: &Config, faults: &mut Vec<String>) {
    let cache = &config.cache;
    for (name, entries) in [
        ("cache.names", cache.names),
        ("cache.absent_names", cache.absent_names),
        ("cache.keys", cache.keys),
        ("cache.voters", cache.voters),
    ] {
        if !(1..=10_000_000).contains(&entries) {
            faults.push(format!("{name}: must be between 1 and 10000000"));
        }
    }
}

fn write(config: &Config, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let write = &config.write;
    if !(1..=10_000).contains(&write.batch_items) {
        faults.push("write.batch_items: must be between 1 and 10000".into());
    }
    if write.queue_bytes < config.server.body_limit_bytes {
        faults.push("write.queue_bytes: must not be below server.body_limit_bytes".into());
    }
    within(faults, "write.queue_wait_ms", write.queue_wait_ms, 1..=DAY * 1000);
    if write.queue_wait_ms > config.server.request_timeout_seconds.saturating_mul(1000) {
        warnings.push("write.queue_wait_ms: above server.request_timeout_seconds, so a client is answered while its write still waits".into());
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
    within(faults, "headroom.interval_seconds", headroom.interval_seconds, 1..=DAY);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(change: impl FnOnce(&mut Config)) -> Vec<String> {
        let mut config = Config::default();
        change(&mut config);
        check(&config).err().unwrap_or_default()
    }

    #[test]
    fn numbers_that_no_clock_or_database_could_take_are_refused_by_name() {
        let found = faults(|config| {
            config.server.max_connections = usize::MAX;
            config.server.header_timeout_seconds = u64::MAX;
            config.server.drain_delay_seconds = u64::MAX;
            config.server.body_limit_bytes = 1;
            config.database.max_connections = u32::MAX;
            config.database.statement_timeout_ms = 3_000_000_000;
            config.database.lock_timeout_ms = 0;
            config.headroom.interval_seconds = u64::MAX;
        });
        let names: Vec<&str> = found.iter().filter_map(|fault| Some(fault.split_once(':')?.0)).collect();
        assert_eq!(
            names,
            [
                "server.header_timeout_seconds",
                "server.drain_delay_seconds",
                "server.body_limit_bytes",
                "server.max_connections",
                "database.max_connections",
                "database.statement_timeout_ms",
                "database.lock_timeout_ms",
                "headroom.interval_seconds",
            ]
        );
    }

    #[test]
    fn a_public_url_is_an_origin_and_nothing_else() {
        for good in ["https://e.org", "http://e.org:8080/", "http://[::1]:80"] {
            assert_eq!(faults(|config| config.server.public_url = good.into()), [""; 0], "{good}");
        }
        for bad in [
            "https://u:p@e.org",
            "https://e.org/?x",
            "https://e.org#f",
            "https://e.org/a",
            "https://e.org\n",
            "e.org",
            "ftp://e.org",
        ] {
            assert_eq!(faults(|config| config.server.public_url = bad.into()).len(), 1, "{bad:?}");
        }
    }

    #[test]
    fn proxies_that_are_no_networks_and_bursts_that_let_nobody_pass_are_refused() {
        assert_eq!(faults(|config| config.server.trusted_proxies = "10.0.0.0/8, ::1".into()), [""; 0]);
        let found = faults(|config| {
            config.server.trusted_proxies = "10.0.0.0/8, proxy.example.org".into();
            config.limits.key_burst = 0;
            config.limits.address_per_second = 1_000_001;
        });
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("server.trusted_proxies: `proxy.example.org`"), "{found:?}");
        let everybody = Config {
            server: crate::config::Server { trusted_proxies: "0.0.0.0/0".into(), ..Default::default() },
            ..Config::default()
        };
        assert_eq!(check(&everybody).map(|warnings| warnings.len()), Ok(1));
    }

    #[test]
    fn a_misspelt_log_level_is_not_taken_for_a_target() {
        for good in ["info", "WARN", "resolute=debug,info", "off", "resolute[request{route=x}]=trace,error"] {
            assert_eq!(faults(|config| config.log.level = good.into()), [""; 0], "{good}");
        }
        for bad in ["inof", "resolute=debug,wran", "debug,"] {
            assert_eq!(faults(|config| config.log.level = bad.into()).len(), 1, "{bad}");
        }
    }
}
