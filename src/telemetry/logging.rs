//! Sets up `tracing`: to standard error, as text or JSON.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::request::SqlxStatements;
use super::{json, text};
use crate::clock::Clock;
use crate::config;

/// Installs the subscriber for the whole process. A second call changes nothing.
pub fn install(log: &config::Log) {
    let filter = log.level.parse::<EnvFilter>().unwrap_or_else(|_| EnvFilter::new("info"));
    let terminal = std::io::stderr().is_terminal();
    let json = log.format == "json" || (log.format == "auto" && !terminal);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = if json {
        lines.event_format(json::Line(Clock::system())).with_filter(filter).boxed()
    } else {
        lines.with_ansi(terminal).compact().fmt_fields(text::Fields).with_filter(filter).boxed()
    };
    let statements =
        SqlxStatements.with_filter(Targets::new().with_target("sqlx::query", LevelFilter::DEBUG));
    let _ = tracing_subscriber::registry().with(lines).with(statements).try_init();
}
