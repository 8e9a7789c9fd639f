//! resolute: one server for the two records an organisation must never lose: where a name points
//! (persistent URLs) and what its members decided (votes).
//!
//! Dependencies point one way: `main → cli → app → {load, purl, voting, tenancy} → {http, db, telemetry}`.
//! `tests/it/architecture.rs` keeps these arrows. docs/architecture.md has the map.

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod db;
pub mod http;
pub mod ids;
pub mod lifecycle;
pub mod load;
pub mod purl;
pub mod secret;
pub mod telemetry;
pub mod tenancy;
pub mod voting;
