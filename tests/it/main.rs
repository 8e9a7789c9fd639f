//! Tests that need more than pure code: PostgreSQL, HTTP, processes.

mod cluster;
