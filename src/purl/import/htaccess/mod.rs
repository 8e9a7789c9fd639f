//! `.htaccess` files of Apache, as w3id.org keeps them: a tree of directories, of which each that has a file becomes a domain with the
//! rules that the file says. What has no native rule that answers alike is refused with file and line, and its directory with it.
//!
//! `lines` and `directives` read a file, `rewrite`, `alias` and `substitution` read what is in a directive, `expression` turns
//! Apache's expressions into ours, `translate` makes the rules; `tree` finds the files, `run` imports them. All but the last two are pure.

mod alias;
mod directives;
mod expression;
mod lines;
mod rewrite;
pub mod run;
mod substitution;
mod translate;
pub mod tree;
mod variables;

/// The part of a file that every rule says it is of; the key is its line.
const PART: &str = "htaccess";
/// The name of the files.
pub const FILE: &str = ".htaccess";

/// Something about a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, or without effect.
    pub detail: String,
}

/// What is wrong with a directive; the line is added by who knows it.
type Wrong = String;

/// Where a file is: the path of its directory on the server, and the server.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The path of the directory, without slashes before and behind it; empty for the top.
    pub directory: &'a str,
    /// The address of this server, as its configuration says it.
    pub origin: &'a str,
}

impl Site<'_> {
    /// The directory as a prefix of paths: `/a/b/`.
    fn prefix(&self) -> String {
        if self.directory.is_empty() { "/".to_owned() } else { format!("/{}/", self.directory) }
    }

    /// The host of the server, with its port where that is not the usual one.
    fn host(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
    }

    /// `http` or `https`.
    fn scheme(&self) -> &str {
        self.origin.split_once("://").map_or("http", |(scheme, _)| scheme)
    }
}
