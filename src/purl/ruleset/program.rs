//! Rules, compiled: which of them a request meets, in their order, and what the first of them answers.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexSet};

use super::index::Index;
use super::template::Template;
use super::{Action, Condition, Fault, Pattern, PatternKind, Rule, Scope, Variable, regexes, subject};
use crate::purl::domain_path::DomainPath;
use crate::purl::location;
use crate::purl::model::QueryPolicy;
use crate::purl::target::{OwnAddress, Target};

/// The rules of a domain, ready to answer.
#[derive(Debug)]
pub struct Program {
    rules: Vec<Compiled>,
    index: Index,
    sets: Vec<Set>,
    /// Bytes of the whole path before a name: those of `/domain/`.
    before_name: usize,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    template: Template,
    conditions: Vec<Regex>,
    /// Compiled when it is first needed: that it compiles was seen before.
    captures: OnceLock<Option<Regex>>,
}

/// Expressions that are searched for together, with the places of their rules.
#[derive(Debug)]
struct Set {
    on: Scope,
    regexes: RegexSet,
    places: Vec<usize>,
}

/// What a request brings.
pub struct Request<'r> {
    /// The path as it was sent, with its leading slash.
    pub path: &'r str,
    /// The query as it was sent.
    pub query: Option<&'r str>,
    /// The value of a header by its name in lower case; empty where it is absent.
    pub header: &'r dyn Fn(&str) -> Vec<u8>,
}

/// What a rule answers to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Place of the rule, from 0.
    pub rule: usize,
    /// The status.
    pub status: u16,
    /// Where a redirect leads.
    pub location: Option<String>,
    /// Headers that were looked at on the way, in lower case, each once.
    pub vary: Vec<String>,
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
        Ok(Self { rules: compiled, index, sets, before_name: domain.len() + 1 })
    }

    /// The rules that it was compiled from.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|compiled| &compiled.rule)
    }

    /// The answer of the first rule that the request meets. A path with a malformed escape meets none.
    pub fn answer(&self, request: &Request<'_>, default_query: QueryPolicy) -> Option<Answer> {
        let path = subject::decode(request.path)?;
        let mut found = Vec::new();
        self.index.find(&path, &mut found);
        for set in &self.sets {
            let matched = set.regexes.matches(self.scoped(&path, set.on)?);
            found.extend(matched.into_iter().filter_map(|at| set.places.get(at)));
        }
        found.sort_unstable();
        let mut vary = Vec::new();
        let meets =
            |place: &usize| self.rules.get(*place).is_some_and(|rule| rule.holds(request, &path, &mut vary));
        let place = found.into_iter().find(meets)?;
        let rule = self.rules.get(place)?;
        let (status, location) = match &rule.rule.action {
            Action::Refuse(status) => (*status, None),
            Action::Redirect(status, target) => {
                let policy = rule.rule.query.unwrap_or(default_query);
                (status.code(), Some(self.location(rule, target, request, &path, policy)))
            }
        };
        Some(Answer { rule: place, status, location, vary })
    }

    fn location(
        &self,
        compiled: &Compiled,
        target: &str,
        request: &Request<'_>,
        path: &[u8],
        policy: QueryPolicy,
    ) -> String {
        let Pattern { kind, text, on, merge_tail, .. } = &compiled.rule.pattern;
        match kind {
            PatternKind::Exact => location::exact(target, request.query, policy),
            PatternKind::Prefix => {
                let before = if *on == Scope::Name { self.before_name } else { 0 };
                let tail = subject::raw_tail(request.path, before + text.len());
                let tail = if *merge_tail { Cow::Owned(subject::merged(tail)) } else { Cow::Borrowed(tail) };
                location::appended(target, &tail, request.query, policy)
            }
            PatternKind::Regex => {
                let captures = compiled.captures().and_then(|regex| regex.captures(self.scoped(path, *on)?));
                let capture = |number| captures.as_ref()?.get(number).map(|found| found.as_bytes());
                location::exact(&compiled.template.expand(capture), request.query, policy)
            }
        }
    }

    /// The part of the path that a pattern is compared with.
    fn scoped<'s>(&self, path: &'s [u8], on: Scope) -> Option<&'s [u8]> {
        match on {
            Scope::Path => Some(path),
            // The domain's own address without its slash has an empty name as well.
            Scope::Name => path.get(self.before_name.min(path.len())..),
        }
    }
}

impl Compiled {
    fn new(rule: Rule, own: Option<&OwnAddress>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let Pattern { kind, text, ignore_case, .. } = &rule.pattern;
        let mut template = Template::default();
        let mut captures = None;
        if *kind == PatternKind::Regex {
            match regexes::compile(text, *ignore_case) {
                Ok(regex) => captures = Some(regex.captures_len()),
                Err(detail) => faults.push(Fault::new("/regex", detail)),
            }
        }
        if let Action::Redirect(_, target) = &rule.action {
            if *kind == PatternKind::Regex {
                template = Template::parse(target);
            }
            let fault = own.and_then(|own| target_fault(target, &template, captures, own));
            faults.extend(fault.map(|detail| Fault::new("/target", detail)));
        }
        let mut conditions = Vec::with_capacity(rule.conditions.len());
        for (place, condition) in rule.conditions.iter().enumerate() {
            match regexes::compile(&condition.regex, condition.ignore_case) {
                Ok(regex) => conditions.push(regex),
                Err(detail) => faults.push(Fault::new(format!("/conditions/{place}/matches"), detail)),
            }
        }
        if faults.is_empty() {
            Ok(Self { rule, template, conditions, captures: OnceLock::new() })
        } else {
            Err(faults)
        }
    }

    fn captures(&self) -> Option<&Regex> {
        let Pattern { text, ignore_case, .. } = &self.rule.pattern;
        self.captures.get_or_init(|| regexes::compile(text, *ignore_case).ok()).as_ref()
    }

    fn holds(&self, request: &Request<'_>, path: &[u8], vary: &mut Vec<String>) -> bool {
        self.rule.conditions.iter().zip(&self.conditions).all(|(condition, regex)| {
            let Condition { of, not, .. } = condition;
            let found = match of {
                Variable::Path => regex.is_match(path),
                Variable::Query => regex.is_match(request.query.unwrap_or_default().as_bytes()),
                Variable::Header(name) => {
                    if !vary.contains(name) {
                        vary.push(name.clone());
                    }
                    regex.is_match(&(request.header)(name))
                }
            };
            found != *not
        })
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

/// What is wrong with the target of a rule, as it would be with any captures.
fn target_fault(
    target: &str,
    template: &Template,
    captures: Option<usize>,
    own: &OwnAddress,
) -> Option<String> {
    if let Some(captures) = captures {
        if let Some(highest) = template.highest().filter(|highest| *highest >= captures) {
            return Some(format!("there is no capture ${highest}; the expression has {}", captures - 1));
        }
        if !template.has_fixed_host() {
            return Some("a capture can be no part of scheme and host: write a slash before it".to_owned());
        }
        return Target::parse(&template.expand(|_| Some(b"x")), own).err().map(|fault| fault.to_string());
    }
    Target::parse(target, own).err().map(|fault| fault.to_string())
}
