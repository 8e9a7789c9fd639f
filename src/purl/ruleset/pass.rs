//! One request asked of the rules of a domain, from the first to the one that answers. A rule that goes on leaves an address
//! or a path to those after it, as a rule of Apache without `L` does; where nothing does so there is one look at the index.

use std::borrow::Cow;

use super::answer::{Again, Answer, Outcome, Request, Tried, Verdict};
use super::compiled::{Compiled, Found};
use super::program::Program;
use super::template::{Insert, Template};
use super::{Action, Condition, PatternKind, Scope, Variable, subject};
use crate::purl::location;
use crate::purl::model::QueryPolicy;

/// What a request has become by the rules that went on.
#[derive(Debug, Clone)]
enum Current<'r> {
    /// A path of this server, as it is sent and decoded.
    Path { raw: Cow<'r, str>, decoded: Vec<u8> },
    /// An address that a redirect leads to, without its query.
    Address { status: u16, whole: String },
}

/// One request on its way through the rules.
pub(super) struct Pass<'p, 'r> {
    program: &'p Program,
    request: &'r Request<'r>,
    default_query: QueryPolicy,
    /// The decoded path that was sent.
    sent: Vec<u8>,
    current: Current<'r>,
    query: Option<Cow<'r, str>>,
    /// The last rule that changed what is current.
    changed_by: Option<usize>,
    vary: Vec<String>,
}

impl<'p, 'r> Pass<'p, 'r> {
    /// A request that no rule has seen; `None` where an escape of its path is malformed: such a path meets no rule.
    pub fn begin(program: &'p Program, request: &'r Request<'r>, default_query: QueryPolicy) -> Option<Self> {
        let raw = subject::without_dot_segments(request.path);
        let sent = subject::decode(&raw)?;
        Some(Self {
            program,
            request,
            default_query,
            current: Current::Path { raw, decoded: sent.clone() },
            sent,
            query: request.query.map(Cow::Borrowed),
            changed_by: None,
            vary: Vec::new(),
        })
    }

    /// Tries the rules in their order, and tells of each whose pattern was met.
    pub fn run(mut self, mut tell: impl FnMut(Tried)) -> Option<Outcome> {
        let mut next = 0;
        loop {
            let (places, mut found) = (self.places(), None);
            for place in places.into_iter().filter(|place| *place >= next) {
                let Some(rule) = self.program.rule(place) else { continue };
                if rule.rule.untouched && self.changed_by.is_some() {
                    tell(Tried { rule: place, verdict: Verdict::PassedOver });
                    continue;
                }
                match self.holds(rule) {
                    Ok(captures) => {
                        tell(Tried { rule: place, verdict: Verdict::Met });
                        found = Some((place, rule, captures));
                        break;
                    }
                    Err(unmet) => tell(Tried { rule: place, verdict: Verdict::Unmet(unmet) }),
                }
            }
            let Some((place, compiled, captured)) = found else { return self.end() };
            match &compiled.rule.action {
                Action::Leave => return self.end(),
                Action::Refuse(status) => {
                    let answer = Answer { rule: place, status: *status, location: None, vary: self.vary };
                    return Some(Outcome::Answered(answer));
                }
                Action::Redirect(status, _) => {
                    // What no host can have leads nowhere, and no later rule was meant for it.
                    let whole = self.target(compiled, &captured)?;
                    self.current = Current::Address { status: status.code(), whole };
                }
                Action::Rewrite(_) => {
                    let whole = self.target(compiled, &captured)?;
                    let (path, query) = divided(&whole);
                    self.query = query.map(|query| Cow::Owned(query.to_owned()));
                    let raw = format!("/{}", path.trim_start_matches('/'));
                    let raw = subject::without_dot_segments(&raw).into_owned();
                    let decoded = subject::decode(&raw)?;
                    self.current = Current::Path { raw: Cow::Owned(raw), decoded };
                }
            }
            self.changed_by = Some(place);
            if !compiled.rule.go_on {
                return self.end();
            }
            if let Current::Address { whole, .. } = &self.current {
                self.query = divided(whole).1.map(|query| Cow::Owned(query.to_owned()));
            }
            next = place + 1;
        }
    }

    /// What stands once no rule is left.
    fn end(self) -> Option<Outcome> {
        let rule = self.changed_by?;
        match self.current {
            Current::Address { status, whole } => {
                let answer = Answer { rule, status, location: Some(whole), vary: self.vary };
                Some(Outcome::Answered(answer))
            }
            // A path that was rewritten to itself would only come here again.
            Current::Path { decoded, .. } if decoded == self.sent => None,
            Current::Path { raw, .. } => Some(Outcome::Again(Again {
                rule,
                path: raw.into_owned(),
                query: self.query.map(Cow::into_owned),
                vary: self.vary,
            })),
        }
    }

    /// What patterns are compared with: the decoded path, or the address without its query.
    fn subject(&self) -> &[u8] {
        match &self.current {
            Current::Path { decoded, .. } => decoded,
            Current::Address { whole, .. } => divided(whole).0.as_bytes(),
        }
    }

    /// The part of it that a pattern of this scope is compared with.
    fn scoped(&self, on: Scope) -> Option<&[u8]> {
        match (&self.current, on) {
            (Current::Path { decoded, .. }, Scope::Name) => self.program.name(decoded),
            _ => Some(self.subject()),
        }
    }

    fn part(&self, on: Scope) -> &[u8] {
        self.scoped(on).unwrap_or_default()
    }

    /// The places of the rules whose pattern is met, in ascending order.
    fn places(&self) -> Vec<usize> {
        let mut places = self.program.places(self.subject(), |on| self.scoped(on));
        places.sort_unstable();
        places
    }

    /// The captures of the last condition, if the rule's conditions hold; else the place of the one that does not.
    fn holds(&mut self, rule: &'p Compiled) -> Result<Captured, usize> {
        let mut last = Captured::default();
        for (place, (alternatives, compiled)) in rule.rule.conditions.iter().zip(&rule.conditions).enumerate()
        {
            let mut any = false;
            for (condition, check) in alternatives.iter().zip(compiled) {
                let Condition { of, not, .. } = condition;
                self.note(of, check.text.as_ref());
                let value = self.value(of, check.text.as_ref(), rule, &last);
                if check.captures && !*not {
                    if let Some(captures) = check.regex.captures(&value) {
                        let texts = captures.iter().map(|found| found.map(|found| found.as_bytes().to_vec()));
                        last = Captured(texts.map(Option::unwrap_or_default).collect());
                        any = true;
                    }
                } else {
                    any = check.regex.is_match(&value) != *not;
                }
                if any {
                    break;
                }
            }
            if !any {
                return Err(place);
            }
        }
        Ok(last)
    }

    /// What a condition looks at.
    fn value<'s>(
        &'s self,
        of: &'s Variable,
        text: Option<&Template>,
        rule: &Compiled,
        last: &Captured,
    ) -> Cow<'s, [u8]> {
        let Some(text) = text else { return self.variable(of) };
        let found = rule.captured(self.part(rule.rule.pattern.on));
        Cow::Owned(text.expand_bytes(|insert| self.inserted(insert, &found, last)))
    }

    /// Notes the headers that a condition looks at.
    fn note(&mut self, of: &Variable, text: Option<&Template>) {
        if let Variable::Header(name) = of {
            self.looked_at(name);
        }
        self.note_inserts(text);
    }

    fn note_inserts(&mut self, template: Option<&Template>) {
        for insert in template.into_iter().flat_map(Template::inserts) {
            if let Insert::Request(Variable::Header(name)) = insert {
                self.looked_at(name);
            }
        }
    }

    fn looked_at(&mut self, header: &str) {
        if !self.vary.iter().any(|known| known == header) {
            self.vary.push(header.to_owned());
        }
    }

    fn variable<'s>(&'s self, of: &'s Variable) -> Cow<'s, [u8]> {
        match of {
            Variable::Header(name) => Cow::Owned((self.request.header)(name)),
            Variable::Query => Cow::Borrowed(self.query.as_deref().unwrap_or_default().as_bytes()),
            Variable::Path => self.program.with_slash(&self.sent),
            Variable::Name => Cow::Borrowed(self.part(Scope::Name)),
            Variable::Method => Cow::Borrowed(b"GET"),
            Variable::RequestLine => {
                let mark = if self.request.query.is_some() { "?" } else { "" };
                let query = self.request.query.unwrap_or_default();
                Cow::Owned(format!("GET {}{mark}{query} HTTP/1.1", self.request.path).into_bytes())
            }
            Variable::Text(text) => Cow::Borrowed(text.as_bytes()),
        }
    }

    fn inserted<'v>(
        &'v self,
        insert: &'v Insert,
        found: &'v Found<'_>,
        last: &'v Captured,
    ) -> Option<Cow<'v, [u8]>> {
        match insert {
            Insert::Capture(number) => found.get(*number).map(Cow::Borrowed),
            Insert::Condition(number) => last.0.get(*number).map(|text| Cow::Borrowed(text.as_slice())),
            Insert::Request(of) => Some(self.variable(of)),
        }
    }

    /// Where the rule leads, with the query that its policy makes.
    fn target(&mut self, compiled: &Compiled, last: &Captured) -> Option<String> {
        let pattern = &compiled.rule.pattern;
        let policy = compiled.rule.query.unwrap_or(self.default_query);
        self.note_inserts(Some(&compiled.template));
        let query = self.query.as_deref();
        let location = match (pattern.kind, &self.current) {
            (PatternKind::Prefix, Current::Path { raw, .. }) => {
                let before = if pattern.on == Scope::Name { self.program.before_name() } else { 0 };
                let tail = subject::raw_tail(raw, before + pattern.text.len());
                let tail =
                    if pattern.merge_tail { Cow::Owned(subject::merged(tail)) } else { Cow::Borrowed(tail) };
                location::appended(compiled.target(), &tail, query, policy)
            }
            (PatternKind::Regex, _) => {
                let found = compiled.captured(self.part(pattern.on));
                let put = |insert| self.inserted(insert, &found, last);
                location::exact(&compiled.template.expand(compiled.rule.raw_captures, put)?, query, policy)
            }
            _ => location::exact(compiled.target(), query, policy),
        };
        Some(on_this_host(location))
    }
}

/// What the last condition captured.
#[derive(Debug, Default)]
struct Captured(Vec<Vec<u8>>);

/// A path of this server must not look like another server's address, whatever a capture brought.
fn on_this_host(location: String) -> String {
    if location.starts_with('/') && location[1..].starts_with(['/', '\\']) {
        return format!("/{}", location.trim_start_matches(['/', '\\']));
    }
    location
}

/// The address and its query. A query ends where a fragment begins.
fn divided(whole: &str) -> (&str, Option<&str>) {
    let end = whole.find('#').unwrap_or(whole.len());
    match whole[..end].split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (whole, None),
    }
}
