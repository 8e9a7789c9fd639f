//! What an operator can decide about headroom. Defaults are safe for a small and a large database alike.

use std::time::Duration;

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
