//! Ordered rules of a domain: what answers where no name does. Pure: read and written as a document, compiled once for a
//! generation of the domain, and asked for each request.
//!
//! `document` reads and writes rules, `program` and `compiled` compile them, `pass` asks them in their order and says an
//! `answer`, `samples` and `compare` show what a change does, `shadow` what can never answer, `subject` is what of a request they are matched on, `template` is a target with captures.

mod answer;
mod compare;
mod compiled;
mod document;
mod index;
mod pass;
mod program;
mod regexes;
mod samples;
mod shadow;
mod subject;
mod template;

use super::model::{QueryPolicy, Status};

pub use answer::{Again, Answer, Outcome, Request, Tried, Verdict};
pub use compare::{Difference, Told, differences};
pub use document::{read, write};
pub use program::Program;
pub use regexes::check as check_expression;
pub use samples::{Sample, of as samples_of};
pub use shadow::find as find_shadowed;

/// Most rules of a domain.
pub const MAX_RULES: usize = 20_000;
/// Longest pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 2_048;
/// Most conditions of a rule, alternatives included.
pub const MAX_CONDITIONS: usize = 50;
/// Statuses that need no target.
pub const REFUSALS: [u16; 6] = [204, 400, 403, 404, 406, 410];

/// What is wrong with rules: where in the document (JSON pointer), and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub detail: String,
}

impl Fault {
    fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// A rule: a request whose path has the pattern, and that meets every condition, gets this answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What the path must be.
    pub pattern: Pattern,
    /// What else must hold: of each of these at least one condition.
    pub conditions: Vec<Vec<Condition>>,
    /// The answer.
    pub action: Action,
    /// Whether later rules are tried on the address or path that this one leads to; if none of them changes it, it stands.
    pub go_on: bool,
    /// Whether it is passed over once a rule that goes on has led somewhere.
    pub untouched: bool,
    /// Whether what is put into the target is put in as it is, but for what would end a path or no header can carry; else it is
    /// percent-encoded.
    pub raw_captures: bool,
    /// What happens to the request's query; `None`: what the domain says.
    pub query: Option<QueryPolicy>,
    /// Where an import found it.
    pub origin: Option<Origin>,
}

impl Rule {
    /// A rule without conditions that answers as soon as its pattern is met.
    pub fn new(pattern: Pattern, action: Action) -> Self {
        Self {
            pattern,
            conditions: Vec::new(),
            action,
            go_on: false,
            untouched: false,
            raw_captures: false,
            query: None,
            origin: None,
        }
    }
}

/// A pattern of paths. Paths are decoded once, and runs of slashes in them are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// How it is compared.
    pub kind: PatternKind,
    /// A path, the beginning of one, or a regular expression, which is searched for (`^` and `$` bind it).
    pub text: String,
    /// What it is compared with.
    pub on: Scope,
    /// Whether ASCII letters are compared without their case.
    pub ignore_case: bool,
    /// Whether what follows a prefix loses its runs of slashes as well; else it is as it was sent.
    pub merge_tail: bool,
}

/// How a pattern is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// The whole.
    Exact,
    /// The beginning; what follows is appended to the target as it was sent.
    Prefix,
    /// A regular expression.
    Regex,
}

/// What a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What follows the domain's path and its slash; empty: the domain's own address.
    Name,
    /// The whole path with its leading slash.
    Path,
}

/// A condition on the request beside its pattern. Its captures are `${c0}` to `${c9}` in targets, if it is the last
/// condition of its rule that was looked at, found and not negated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub of: Variable,
    /// A regular expression that is searched for in it. What is absent is empty.
    pub regex: String,
    /// Whether ASCII letters are compared without their case.
    pub ignore_case: bool,
    /// Whether it must not be found.
    pub not: bool,
}

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// A header, by its name in lower case.
    Header(String),
    /// The query, without its question mark, as it was sent or as a rule before this one left it.
    Query,
    /// The whole path with its leading slash, decoded, as it was sent; the domain's own address has its final slash.
    Path,
    /// What patterns on the name are compared with: after a rule that goes on, what it led to.
    Name,
    /// `GET`; a HEAD is answered like a GET.
    Method,
    /// The first line of the request: method, path and query as they were sent, protocol.
    RequestLine,
    /// Several of these, captures and text, put together as in a target, nothing encoded.
    Text(String),
}

/// What a rule answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A redirect, to an absolute address or, with one slash before it, to a path of this server. The target of a regular
    /// expression is a [template]; else it is as it is written.
    Redirect(Status, String),
    /// One of [`REFUSALS`], without a target.
    Refuse(u16),
    /// The request begins again with this path of the server, at most ten times. A template where the pattern is a regular
    /// expression.
    Rewrite(String),
    /// No later rule is tried: what rules before this one led to stands, or nothing answers.
    Leave,
}

/// Where an import found a rule; what it needs to put the rules of several files in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: String,
    /// The part of the file.
    pub part: String,
    /// What the part is ordered by.
    pub key: String,
}

#[cfg(test)]
mod tests;
