//! What processes tell each other through PostgreSQL's LISTEN and NOTIFY: that something was written which
//! others may remember. Only ever a hint that makes them forget sooner; correctness rests on the lifetimes of
//! what they remember. It knows no feature: a message is a topic and items.

mod hearing;
mod listen;
mod message;

pub use hearing::Hearing;
pub use listen::{APPLICATION, listen};
pub use message::{Message, payloads};

use tokio_postgres::types::Type;

use super::statement::Statement;

/// The channel. All topics share it, so that one order holds for all.
pub const CHANNEL: &str = "resolute";

/// Sends payloads to the channel. `$1` the payloads.
pub const NOTIFY: Statement = Statement {
    name: "notify",
    sql: "/* notify */ SELECT pg_notify('resolute', payload) FROM unnest($1::text[]) AS p (payload)",
    types: &[Type::TEXT_ARRAY],
};

/// The statements of this module, for the census.
pub const STATEMENTS: &[&Statement] = &[&NOTIFY];
