//! Headroom against a real PostgreSQL: every way in which a column can be fed, and where it ends.

mod agree;
mod database;
mod discovery;
mod limits;
mod monitor;
mod samples;
