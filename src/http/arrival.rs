//! What a request carries from the listener to whoever needs it: one extension for all of it, because every
//! extension is an allocation and a layer of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Extensions;

use super::auth::Authenticator;
use super::cursor::Cursors;
use super::idempotency::Replays;
use super::rate_limit::Visit;

/// What the routes of one listener are given.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Checks credentials.
    pub authenticator: Authenticator,
    /// Makes and opens cursors.
    pub cursors: Cursors,
    /// Gives first answers again.
    pub replays: Replays,
}

/// A request on its way to its handler.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    /// The other end of the connection; none for a request that came over no connection.
    pub peer: Option<SocketAddr>,
    /// Most bytes of its body.
    pub body_limit: usize,
    /// What its handler may use; none on the operator's listener.
    pub tools: Option<Arc<Tools>>,
    /// Counts it, if it has the credential of an API key.
    pub visit: Option<Visit>,
}

impl Arrival {
    /// The arrival of the request with these extensions.
    pub fn find(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// What the handler may use.
    pub fn tools(extensions: &Extensions) -> Option<&Tools> {
        Self::find(extensions)?.tools.as_deref()
    }
}
