//! Load on a running server, over HTTP, and the proof that nothing was lost: seeds tenants of its own, casts, mints or
//! resolves at a given concurrency or rate, and compares what was acknowledged with what is stored.
//!
//! Generator and server often share a machine, so the client here does little: one thread, prepared bytes, no
//! allocation a request. It knows no feature of the server but by its HTTP API; SQL is used to look, to seed names in
//! bulk, and to take away what a run made.

pub mod cleanup;
pub mod compare;
pub mod drive;
pub mod durability;
pub mod histogram;
pub mod http;
pub mod manifest;
pub mod pace;
pub mod process;
pub mod purls;
pub mod report;
pub mod resolve;
pub mod seats;
pub mod seed;
pub mod session;
pub mod stored;
pub mod votes;

/// A tenant that a run may do with as it likes.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Its id.
    pub tenant_id: i64,
    /// Its slug, which has the mark of the run.
    pub slug: String,
    /// An admin key of it.
    pub key: String,
    /// Its domains: id and path.
    pub domains: Vec<(i64, String)>,
}

/// Where the server is and how hard it is asked.
#[derive(Clone, Debug)]
pub struct Aim {
    /// `host:port`, both for connecting and as Host.
    pub address: String,
    /// More servers on the same database; connections are spread over all.
    pub replicas: Vec<String>,
    /// Connections, all open before the first request leaves.
    pub concurrency: usize,
    /// Requests a second of an open loop; none: each connection asks again as soon as it is answered.
    pub rate: Option<f64>,
    /// When to stop asking; none: when everything has been asked.
    pub duration: Option<std::time::Duration>,
    /// Threads of the generator.
    pub threads: usize,
}
