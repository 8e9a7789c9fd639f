//! Database.

pub mod cluster;
