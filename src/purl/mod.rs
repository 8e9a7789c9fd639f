//! Persistent URLs: domains with their rules, names and their targets, their resolution at the root path, their
//! history, and imports.

pub mod accept;
pub mod announce;
pub mod api;
pub mod change_preview;
pub mod checks;
pub mod directory;
pub mod domain_path;
pub mod import;
pub mod judge;
pub mod kind;
pub mod known;
pub mod location;
pub mod lookup;
pub mod model;
pub mod name;
pub mod negotiation;
pub mod raw_path;
pub mod resolve;
mod row;
pub mod rule_change;
pub mod rulebook;
pub mod rules;
pub mod ruleset;
mod segment;
pub mod store;
pub mod target;
pub mod variant;
pub mod write;

pub use api::{HANDOVER_ROUTES, Purls, RESOLUTION, ROUTES, RULE_ROUTES, resolution, router};
pub use segment::SegmentFault;

use crate::db::keyset::ListingEntry;
use crate::db::statement::Statement;

/// Every listing of this feature.
pub fn listings() -> Vec<ListingEntry> {
    vec![
        store::name_list::NAMES.entry(),
        store::name_list::NAMES_APART.entry(),
        store::domain_list::DOMAINS.entry(),
        store::revisions::REVISIONS.entry(),
        store::rule_sets::RULE_REVISIONS.entry(),
    ]
}

/// Every hot statement of this feature, for the census.
pub fn statements() -> Vec<&'static Statement> {
    [
        directory::STATEMENTS,
        rulebook::STATEMENTS,
        lookup::STATEMENTS,
        resolve::STATEMENTS,
        import::merge_statements::STATEMENTS,
        import::statements::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .chain(write::statements())
    .collect()
}
