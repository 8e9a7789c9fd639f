//! The order in which the rules of all files are tried, whichever way they came: rules of no file, entries of
//! ontologies, then what is shared, and the catch-all. What is shared goes by idspace, in which a longer one comes before its own beginning.

use std::collections::HashSet;

use super::part;
use crate::purl::checks::Check;
use crate::purl::ruleset::{Origin, Rule};

/// The rules of a domain once `imported` are its rules of `files`; the others stay.
pub fn merge<'r>(
    current: impl IntoIterator<Item = &'r Rule>,
    files: &HashSet<&str>,
    imported: Vec<Rule>,
) -> Vec<Rule> {
    let of_file =
        |rule: &&Rule| rule.origin.as_ref().is_some_and(|origin| files.contains(origin.file.as_str()));
    let kept = current.into_iter().filter(|rule| !of_file(rule)).cloned();
    let mut rules: Vec<Rule> = kept.chain(imported).collect();
    // Stable, so that those of one part of one file keep their order.
    rules.sort_by_cached_key(|rule| rule.origin.as_ref().map(place));
    rules
}

/// The checks of a domain once `imported` are those of `files`; the others stay. In order of file, those of no file first.
pub fn merge_checks(current: &[Check], files: &HashSet<&str>, imported: Vec<Check>) -> Vec<Check> {
    let of_file = |check: &&Check| check.origin.as_ref().is_some_and(|file| files.contains(file.as_str()));
    let kept = current.iter().filter(|check| !of_file(check)).cloned();
    let mut checks: Vec<Check> = kept.chain(imported).collect();
    checks.sort_by(|one, other| one.origin.cmp(&other.origin));
    checks
}

fn place(origin: &Origin) -> (u8, String, String) {
    let parts = [part::ENTRY, part::SHARED, part::BASE, part::PRODUCT, part::TERM, part::CATCH_ALL];
    let rank = parts.iter().position(|part| *part == origin.part).unwrap_or(parts.len());
    // Every character comes before the last one, and so does whatever continues this key.
    let key = format!("{}{}", origin.key.to_ascii_lowercase(), char::MAX);
    (u8::try_from(rank).unwrap_or(u8::MAX), key, origin.file.clone())
}
