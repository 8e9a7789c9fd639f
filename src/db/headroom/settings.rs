//! What an operator can decide about headroom. Defaults are safe for a small and a large database alike.

use std::time::Duration;

use crate::config;

/// Settings of the measurement (`headroom.*` in the configuration).
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Time between two measurements. The result counts as stale after three of them.
    pub interval: Duration,
    /// Share of ids left (0..1) below which a table is `warn`.
    pub warn_ratio: f64,
    /// Share of ids left (0..1) below which a table is `critical`.
    pub critical_ratio: f64,
    /// Rows that the hosting plan allows in the whole database, if it has such a limit.
    pub row_limit: Option<i64>,
    /// Bytes that the databases of the cluster may occupy together, if the operator names a limit.
    pub disk_limit_bytes: Option<i64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Duration::from_mins(1),
            warn_ratio: 0.20,
            critical_ratio: 0.05,
            row_limit: None,
            disk_limit_bytes: None,
        }
    }
}

impl From<&config::Headroom> for Settings {
    fn from(headroom: &config::Headroom) -> Self {
        // 0 stands for "no limit" in the file, because TOML has no null.
        let limit = |number: u64| (number > 0).then(|| i64::try_from(number).unwrap_or(i64::MAX));
        Self {
            interval: Duration::from_secs(headroom.interval_seconds),
            warn_ratio: headroom.warn_ratio,
            critical_ratio: headroom.critical_ratio,
            row_limit: limit(headroom.row_limit),
            disk_limit_bytes: limit(headroom.disk_limit_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_configuration_are_the_defaults_here() {
        assert_eq!(Settings::from(&config::Headroom::default()), Settings::default());
    }

    #[test]
    fn zero_in_the_configuration_is_no_limit() {
        let configured = config::Headroom { row_limit: 10_000, ..config::Headroom::default() };
        let settings = Settings::from(&configured);
        assert_eq!((settings.row_limit, settings.disk_limit_bytes), (Some(10_000), None));
    }
}
