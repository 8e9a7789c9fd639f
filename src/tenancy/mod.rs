//! Tenants, API keys and scopes: who there is and what they may do.

pub mod api;
pub mod authenticate;
pub mod key;
pub mod slug;
pub mod store;

pub use api::{ROUTES, Tenancy, router};
pub use authenticate::Keys;
pub use store::KEYS_TOPIC;

use crate::db::keyset::ListingEntry;

/// Every listing of this feature.
pub fn listings() -> Vec<ListingEntry> {
    vec![store::key_list::KEYS.entry(), store::audit_list::AUDIT_LOG.entry()]
}
