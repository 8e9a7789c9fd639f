//! What the figures were measured on, so that nobody compares figures of different machines.

use std::fs;

use anyhow::Context;
use resolute::load::durability::Durability;
use serde_json::{Value, json};

use super::stand::Stand;

/// Processor, memory, kernel, load before the run, PostgreSQL and its settings, and how the product was built.
pub async fn describe(stand: &Stand, quick: bool) -> anyhow::Result<Value> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (processors, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown").trim().to_owned()
    };
    let durability = Durability::read(&stand.db.hot().await.context("the database")?).await?;
    Ok(json!({
        "processor": field(&processors, "model name"),
        "cores": std::thread::available_parallelism().map(usize::from).unwrap_or_default(),
        "memory": field(&memory, "MemTotal"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_before": read("/proc/loadavg").split(' ').next(),
        "durable": durability.is_durable(),
        "postgresql": durability,
        "version": env!("CARGO_PKG_VERSION"),
        "debug_build": cfg!(debug_assertions),
        "quick": quick,
    }))
}
