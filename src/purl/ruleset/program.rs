//! The rules of a domain, compiled: which of them a path meets, found by index rather than one by one.

use std::borrow::Cow;

use regex::bytes::RegexSet;

use super::answer::{Outcome, Request, Tried};
use super::compiled::Compiled;
use super::index::Index;
use super::pass::Pass;
use super::{Fault, Pattern, PatternKind, Rule, Scope, regexes};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::QueryPolicy;
use crate::purl::target::OwnAddress;

/// The rules of a domain, ready to answer.
#[derive(Debug)]
pub struct Program {
    rules: Vec<Compiled>,
    index: Index,
    sets: Vec<Set>,
    /// The whole path before a name: `/domain/`.
    prefix: String,
}

/// Expressions that are searched for together, with the places of their rules.
#[derive(Debug)]
struct Set {
    on: Scope,
    regexes: RegexSet,
    places: Vec<usize>,
}

impl Program {
    /// Compiles the rules of the domain at `path`. Every fault at once; then nothing is compiled. Targets are judged only
    /// where `own`, the address of this server, is given: those that are in force were judged when they came.
    pub fn compile(
        rules: Vec<Rule>,
        path: &DomainPath,
        own: Option<&OwnAddress>,
    ) -> Result<Self, Vec<Fault>> {
        let (mut faults, mut index) = (Vec::new(), Index::default());
        let domain = if path.is_root() { String::new() } else { format!("/{path}") };
        let mut compiled = Vec::with_capacity(rules.len());
        for (place, rule) in rules.into_iter().enumerate() {
            match Compiled::new(rule, own) {
                Ok(rule) => {
                    add(&mut index, &domain, &rule.rule.pattern, place);
                    compiled.push(rule);
                }
                Err(mut found) => {
                    for fault in &mut found {
                        fault.pointer.insert_str(0, &format!("/rules/{place}"));
                    }
                    faults.append(&mut found);
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let sets = sets(&compiled).map_err(|detail| vec![Fault::new("/rules", detail)])?;
        Ok(Self { rules: compiled, index, sets, prefix: domain + "/" })
    }

    /// The rules that it was compiled from.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|compiled| &compiled.rule)
    }

    /// What the rules make of a request; `None` where none of them answers it. A path with a malformed escape meets none.
    pub fn answer(&self, request: &Request<'_>, default_query: QueryPolicy) -> Option<Outcome> {
        Pass::begin(self, request, default_query)?.run(|_| ())
    }

    /// The same, with every rule whose pattern was met on the way.
    pub fn explain(
        &self,
        request: &Request<'_>,
        default_query: QueryPolicy,
    ) -> (Option<Outcome>, Vec<Tried>) {
        let mut tried = Vec::new();
        let pass = Pass::begin(self, request, default_query);
        let outcome = pass.and_then(|pass| pass.run(|rule| tried.push(rule)));
        (outcome, tried)
    }

    /// The rule at a place.
    pub(super) fn rule(&self, place: usize) -> Option<&Compiled> {
        self.rules.get(place)
    }

    /// The places of the rules whose pattern is met, in no order. `scoped` gives what a scope is compared with, if anything.
    pub(super) fn places<'s>(&self, whole: &[u8], scoped: impl Fn(Scope) -> Option<&'s [u8]>) -> Vec<usize> {
        let mut found = Vec::new();
        self.index.find(whole, &mut found);
        for set in &self.sets {
            let Some(subject) = scoped(set.on) else { continue };
            found.extend(set.regexes.matches(subject).into_iter().filter_map(|at| set.places.get(at)));
        }
        found
    }

    /// Bytes of the whole path before a name.
    pub(super) fn before_name(&self) -> usize {
        self.prefix.len()
    }

    /// What follows the domain and its slash; of the domain's own address nothing does, with its slash or without. `None` where
    /// the path is of another domain.
    pub(super) fn name<'s>(&self, path: &'s [u8]) -> Option<&'s [u8]> {
        let is_own = path.len() + 1 == self.prefix.len();
        if is_own { Some(&[]) } else { path.strip_prefix(self.prefix.as_bytes()) }
    }

    /// A decoded path; the domain's own address with its slash.
    pub(super) fn with_slash<'s>(&self, path: &'s [u8]) -> Cow<'s, [u8]> {
        let is_own = path.len() + 1 == self.prefix.len() && !path.ends_with(b"/");
        if is_own { Cow::Owned([path, b"/"].concat()) } else { Cow::Borrowed(path) }
    }
}

fn add(index: &mut Index, domain: &str, pattern: &Pattern, place: usize) {
    let path = match pattern.on {
        Scope::Path => pattern.text.clone(),
        Scope::Name => format!("{domain}/{}", pattern.text),
    };
    match pattern.kind {
        PatternKind::Exact => {
            index.add_exact(path.as_bytes(), pattern.ignore_case, place);
            // A domain is asked for with its slash and without.
            if pattern.on == Scope::Name && pattern.text.is_empty() && !domain.is_empty() {
                index.add_exact(domain.as_bytes(), pattern.ignore_case, place);
            }
        }
        PatternKind::Prefix => index.add_prefix(path.as_bytes(), pattern.ignore_case, place),
        PatternKind::Regex => {}
    }
}

/// The expressions of all rules, those of one scope and case together.
fn sets(rules: &[Compiled]) -> Result<Vec<Set>, String> {
    let mut sets = Vec::new();
    for (on, ignore_case) in
        [(Scope::Name, false), (Scope::Name, true), (Scope::Path, false), (Scope::Path, true)]
    {
        let of_set = rules.iter().enumerate().filter(|(_, compiled)| {
            let Pattern { kind, on: scope, ignore_case: case, .. } = &compiled.rule.pattern;
            *kind == PatternKind::Regex && (*scope, *case) == (on, ignore_case)
        });
        let (places, texts): (Vec<usize>, Vec<&str>) =
            of_set.map(|(place, compiled)| (place, compiled.rule.pattern.text.as_str())).unzip();
        if !places.is_empty() {
            sets.push(Set { on, regexes: regexes::compile_set(&texts, ignore_case)?, places });
        }
    }
    Ok(sets)
}
