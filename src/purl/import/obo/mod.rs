//! The configuration of the OBO Foundry's PURLs: a YAML file for each ontology. Together they are the rules of one
//! domain; a file that is imported alone replaces its own rules among those of the others.

mod document;
mod order;
pub mod run;
mod yaml;

use regex::escape;

use self::document::{Document, EntryKind, TermBrowser};
use self::order::{merge, merge_checks};
use crate::purl::model::Status;
use crate::purl::ruleset::{Action, Condition, Origin, Pattern, PatternKind, Rule, Scope, Variable};

/// The path of the domain.
pub const DOMAIN: &str = "obo";

/// Parts of a file, which are ordered apart.
mod part {
    /// Entries of an ontology.
    pub const ENTRY: &str = "entry";
    /// Entries of the whole domain.
    pub const SHARED: &str = "shared";
    /// Where an ontology's own address leads.
    pub const BASE: &str = "base_redirect";
    /// Its products.
    pub const PRODUCT: &str = "product";
    /// Its terms.
    pub const TERM: &str = "term";
    /// What nothing else answers; of no file.
    pub const CATCH_ALL: &str = "catch_all";
}

/// The file that a catch-all is said to be of: no file has this name.
const NO_FILE: &str = "";

/// Sends every path below the domain that nothing else answers on to another server, what follows the domain's slash
/// behind `target`.
fn catch_all(target: &str) -> Rule {
    let pattern = Pattern {
        kind: PatternKind::Prefix,
        text: format!("/{DOMAIN}/"),
        on: Scope::Path,
        ignore_case: false,
        merge_tail: true,
    };
    let origin = Origin { file: NO_FILE.to_owned(), part: part::CATCH_ALL.to_owned(), key: String::new() };
    let action = Action::Redirect(Status::FOUND, target.to_owned());
    Rule { origin: Some(origin), ..Rule::new(pattern, action) }
}

/// A rule and the line that it comes from; none of those that no line states by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Drawn {
    rule: Rule,
    line: Option<usize>,
}

/// The rules of a file, those of each part in its order.
fn rules(document: &Document) -> Vec<Drawn> {
    let mut rules = Vec::new();
    let is_shared = document.base_url == format!("/{DOMAIN}");
    let mut add = |part: &str, pattern: Pattern, conditions, status, target: String, line| {
        let origin =
            Origin { file: document.name.clone(), part: part.to_owned(), key: document.idspace.clone() };
        let action = Action::Redirect(status, target);
        rules.push(Drawn {
            rule: Rule { conditions, origin: Some(origin), ..Rule::new(pattern, action) },
            line,
        });
    };
    for entry in &document.entries {
        let text = &entry.pattern.text;
        let (pattern, target) = match entry.kind {
            EntryKind::Exact => (whole(format!("{}{text}", document.base_url)), entry.replacement.clone()),
            EntryKind::Prefix => (
                Pattern {
                    kind: PatternKind::Prefix,
                    merge_tail: true,
                    ..whole(format!("{}{text}", document.base_url))
                },
                entry.replacement.clone(),
            ),
            EntryKind::Regex => (expression(text.clone()), without_whole(&entry.replacement)),
        };
        let part = if is_shared { part::SHARED } else { part::ENTRY };
        let conditions = if is_shared || is_below(document, &pattern) {
            Vec::new()
        } else {
            vec![vec![own_segment(document)]]
        };
        add(part, pattern, conditions, entry.status, target, Some(entry.pattern.line));
    }
    if let Some(redirect) = &document.base_redirect {
        let target = redirect.text.clone();
        add(
            part::BASE,
            whole(document.base_url.clone()),
            Vec::new(),
            Status::FOUND,
            target,
            Some(redirect.line),
        );
    }
    for (product, target) in &document.products {
        let path = format!("/{DOMAIN}/{}", product.text);
        add(part::PRODUCT, whole(path), Vec::new(), Status::FOUND, target.clone(), Some(product.line));
    }
    if let Some(target) = term_target(document) {
        let terms = expression(format!(r"^/{DOMAIN}/{}_(\d+)$", escape(&document.idspace)));
        add(part::TERM, terms, Vec::new(), Status::SEE_OTHER, target, None);
    }
    rules
}

fn whole(text: String) -> Pattern {
    Pattern { kind: PatternKind::Exact, text, on: Scope::Path, ignore_case: true, merge_tail: false }
}

fn expression(text: String) -> Pattern {
    Pattern { kind: PatternKind::Regex, text, on: Scope::Path, ignore_case: false, merge_tail: false }
}

/// `$1` to `$9` are captures of an expression; no other dollar sign is.
fn without_whole(replacement: &str) -> String {
    let mut target = String::with_capacity(replacement.len());
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        target.push_str(&rest[..at]);
        let is_capture = rest[at + 1..].starts_with(|next: char| ('1'..='9').contains(&next));
        target.push_str(if is_capture { "$" } else { "$$" });
        rest = &rest[at + 1..];
    }
    target + rest
}

/// Whether the pattern says by itself that the second segment is the file's own.
fn is_below(document: &Document, pattern: &Pattern) -> bool {
    let segment = document.base_url.split('/').nth(2).unwrap_or_default();
    let is_own =
        segment.eq_ignore_ascii_case(&document.name) || segment.eq_ignore_ascii_case(&document.idspace);
    let after = pattern.text.strip_prefix(&document.base_url).filter(|_| pattern.kind != PatternKind::Regex);
    let bound = match pattern.kind {
        PatternKind::Exact => after.is_some_and(|after| after.is_empty() || after.starts_with('/')),
        _ => after.is_some_and(|after| after.starts_with('/')),
    };
    is_own && bound
}

/// An entry of an ontology is for paths whose second segment is the name of its file or its idspace.
fn own_segment(document: &Document) -> Condition {
    let (name, idspace) = (escape(&document.name), escape(&document.idspace));
    Condition {
        of: Variable::Path,
        regex: format!("^/{DOMAIN}/(?:{name}|{idspace})(?:/|$)"),
        ignore_case: true,
        not: false,
    }
}

fn term_target(document: &Document) -> Option<String> {
    let idspace = &document.idspace;
    match document.term_browser {
        TermBrowser::Ontobee => Some(format!(
            "http://www.ontobee.org/browser/rdf.php?o={idspace}&iri=http://purl.obolibrary.org/obo/{idspace}_$1"
        )),
        TermBrowser::Ols => Some(format!(
            "https://www.ebi.ac.uk/ols4/ontologies/{}/entities/http%253A%252F%252Fpurl.obolibrary.org%252Fobo%252F{idspace}_$1",
            idspace.to_lowercase()
        )),
        TermBrowser::Custom => None,
    }
}
