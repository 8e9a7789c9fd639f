//! Durable jobs: work that outlives the request and the process that asked for it. A job is a row; any server
//! takes it, and its effects are written in the transaction that marks it done.
//!
//! What a kind of job does is registered by the composition root ([`Kinds`]); nothing here knows a feature.
//! Times are the database's, so that servers whose clocks differ agree on what is due.

pub mod backoff;
pub mod enqueue;
pub mod kinds;
pub mod probe;
pub mod prune;
mod run;
mod store;
pub mod survey;
pub mod worker;

pub use enqueue::{NewJob, enqueue};
pub use kinds::{Done, Failure, Job, Kinds, Running};
pub use survey::METRICS;
pub use worker::{Pace, Worker};
