//! SQL of management: making and changing domains, reading names and their history. Names are written by
//! `write` and resolved by `resolve`, over the other driver.

pub mod check_sets;
pub mod domain_list;
pub mod domains;
pub mod handover;
pub mod name_list;
pub mod names;
pub mod revisions;
pub mod rule_sets;
