//! Ordered rules of a domain: what answers where no name does. Pure: read and written as a document, compiled once for a
//! generation of the domain, and asked for each request.
//!
//! `document` reads and writes rules, `program` compiles them and answers, `subject` is what of a request they are
//! matched on, `template` is a target with captures.

mod document;
mod index;
mod program;
mod regexes;
mod subject;
mod template;

use super::model::{QueryPolicy, Status};

pub use document::{read, write};
pub use program::{Answer, Program, Request};

/// Most rules of a domain.
pub const MAX_RULES: usize = 20_000;
/// Longest pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 2_048;
/// Most conditions of a rule.
pub const MAX_CONDITIONS: usize = 20;

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
    /// What else must hold.
    pub conditions: Vec<Condition>,
    /// The answer.
    pub action: Action,
    /// What happens to the request's query; `None`: what the domain says.
    pub query: Option<QueryPolicy>,
    /// Where an import found it.
    pub origin: Option<Origin>,
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

/// A condition on the request beside its path.
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
    /// The query, without its question mark, as it was sent.
    Query,
    /// The whole path with its leading slash, decoded.
    Path,
}

/// What a rule answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A redirect. Of a regular expression `$0` to `$9` in the target are its captures and `$$` is a dollar sign; else
    /// the target is as it is written.
    Redirect(Status, String),
    /// A status without a target: 403, 404, 406 or 410.
    Refuse(u16),
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
