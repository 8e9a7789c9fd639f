//! The database: two pools sized from one setting, migrations, the private cluster, and what both drivers
//! need around a statement. It knows no feature.

pub mod audit;
pub mod batch;
pub mod cache;
pub mod cluster;
pub mod connect;
pub mod error;
pub mod headroom;
pub mod idempotency;
pub mod jobs;
pub mod keyset;
pub mod migrate;
pub mod notify;
pub mod pools;
pub mod quota;
pub mod reachability;
pub mod statement;
pub mod tls;
pub mod tx;

/// Opens every transaction with its isolation level: a database default of repeatable read would fail every
/// waiter on a lock.
pub const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Opens a transaction on several lock rows: those whose locks are free shall not wait long for one that is not. Above
/// what a batch of another server takes, below what anybody would notice.
pub const BEGIN_SEVERAL: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '100ms'";

/// For a transaction that joins whole electorates. Statistics may be older than the electorate, which then has one row for
/// all that PostgreSQL knows; a nested loop reads it once for each voter, and no other join can. Where a nested loop cannot
/// be avoided this changes nothing for the better: keep it away from statements that only look up.
pub const NO_NESTED_LOOPS: &str = "SET LOCAL enable_nestloop = off";

pub use connect::Target;
pub use error::Error;
pub use pools::{Db, PoolSettings, commit};
