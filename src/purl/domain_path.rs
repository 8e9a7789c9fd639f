//! The path of a domain: the segments under which its names live. Also the words that the server keeps for
//! itself at the first place of every path. It knows nothing of owners or policies.

use std::fmt;

use super::segment::{self, SegmentFault};

/// Longest domain path in bytes.
pub const MAX_BYTES: usize = 512;
/// Most segments of a domain path; bounds how many prefixes a request can have looked up.
pub const MAX_SEGMENTS: usize = 16;

/// Kept for the server, for ever, whatever their case. Names that begin with `_` are kept as well.
pub const RESERVED: &[&str] = &[
    ".well-known",
    "robots.txt",
    "favicon.ico",
    "api",
    "health",
    "metrics",
    "docs",
    "assets",
    "vote",
    "console",
];

/// Whether a first path segment belongs to the server itself, so that no domain and no name of the root
/// domain may begin with it. Compared without case: a client that shouts must not reach another answer.
pub fn is_reserved(first_segment: &str) -> bool {
    first_segment.starts_with('_') || RESERVED.iter().any(|word| first_segment.eq_ignore_ascii_case(word))
}

/// Paths of all domains that could hold a full path (decoded, no leading slash), the root first: each
/// prefix that ends before a slash, and the path itself.
pub fn candidates(full_path: &str) -> Vec<&str> {
    let inner = full_path.strip_suffix('/').unwrap_or(full_path);
    let cuts = inner.match_indices('/').map(|(at, _)| &inner[..at]);
    std::iter::once("").chain(cuts).chain(Some(inner)).filter(|path| path.len() <= MAX_BYTES).collect()
}

/// Why a text is no domain path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DomainPathFault {
    /// A character or segment that a path cannot have.
    #[error("the domain path {0}")]
    Segment(#[from] SegmentFault),
    /// Longer than [`MAX_BYTES`].
    #[error("the domain path has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLong(usize),
    /// More than [`MAX_SEGMENTS`].
    #[error("the domain path has {0} segments; at most {MAX_SEGMENTS} are allowed")]
    TooDeep(usize),
    /// The first segment is one of the server's own.
    #[error("{0:?} is kept for the server itself and cannot begin a domain")]
    Reserved(String),
}

/// A domain's path: segments joined by one slash, no slash at either end, in Unicode NFC. The empty path is
/// the root domain.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainPath(String);

impl DomainPath {
    /// Reads a path as written by a person: one slash before or after it is allowed and dropped.
    pub fn parse(text: &str) -> Result<Self, DomainPathFault> {
        let inner = text.strip_prefix('/').unwrap_or(text);
        let inner = if inner.is_empty() { inner } else { inner.strip_suffix('/').unwrap_or(inner) };
        if inner.is_empty() {
            return if text.len() <= 1 { Ok(Self(String::new())) } else { Err(SegmentFault::Empty.into()) };
        }
        segment::check_characters(inner)?;
        let path = segment::nfc(inner.to_owned());
        if path.len() > MAX_BYTES {
            return Err(DomainPathFault::TooLong(path.len()));
        }
        let depth = path.split('/').count();
        if depth > MAX_SEGMENTS {
            return Err(DomainPathFault::TooDeep(depth));
        }
        path.split('/').try_for_each(segment::check_segment)?;
        let first = path.split('/').next().unwrap_or_default();
        if is_reserved(first) {
            return Err(DomainPathFault::Reserved(first.to_owned()));
        }
        Ok(Self(path))
    }

    /// A path read back from the directory, which was checked when it went in.
    pub fn from_stored(path: String) -> Self {
        Self(path)
    }

    /// The path; empty for the root domain.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root domain.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of segments; 0 for the root domain.
    pub fn depth(&self) -> usize {
        if self.is_root() { 0 } else { self.0.split('/').count() }
    }

    /// The part of this path below `ancestor`, or `None` where it is not below it.
    pub fn below<'a>(&'a self, ancestor: &DomainPath) -> Option<&'a str> {
        if ancestor.is_root() {
            return (!self.is_root()).then_some(self.as_str());
        }
        self.0.strip_prefix(ancestor.as_str())?.strip_prefix('/')
    }

    /// The full path of a name in this domain, without a leading slash.
    pub fn join(&self, name: &str) -> String {
        if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.0) }
    }
}

impl fmt::Display for DomainPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> DomainPath {
        DomainPath::parse(text).unwrap()
    }

    #[test]
    fn one_slash_at_either_end_is_dropped() {
        assert_eq!(path("/obo/go/").as_str(), "obo/go");
        assert!(path("").is_root());
        assert!(path("/").is_root());
    }

    #[test]
    fn empty_segments_are_refused() {
        for text in ["//", "//a", "a//", "a//b"] {
            assert_eq!(DomainPath::parse(text), Err(SegmentFault::Empty.into()), "{text}");
        }
    }

    #[test]
    fn the_servers_own_words_are_refused_in_any_case() {
        for text in ["api", "API/x", "_x", ".well-known/y", "Health", "docs", "vote"] {
            assert!(matches!(DomainPath::parse(text), Err(DomainPathFault::Reserved(_))), "{text}");
        }
        assert!(DomainPath::parse("x/api").is_ok(), "only the first segment is the server's");
        assert!(DomainPath::parse("apis").is_ok());
    }

    #[test]
    fn dots_controls_and_query_characters_are_refused() {
        for text in ["a/..", "./a", "a?b", "a#b", "a\\b", "a\nb", "a\u{85}b"] {
            assert!(DomainPath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        assert!(DomainPath::parse(&"a".repeat(MAX_BYTES)).is_ok());
        assert_eq!(DomainPath::parse(&"a".repeat(MAX_BYTES + 1)), Err(DomainPathFault::TooLong(513)));
        assert_eq!(DomainPath::parse(&["a"; 17].join("/")), Err(DomainPathFault::TooDeep(17)));
    }

    #[test]
    fn ancestors_and_relative_paths_go_by_segments() {
        assert_eq!(candidates("a/b/c"), ["", "a", "a/b", "a/b/c"]);
        assert_eq!(candidates("a/"), ["", "a"]);
        assert_eq!(path("a/b/c").below(&path("a")), Some("b/c"));
        assert_eq!(path("ab").below(&path("a")), None);
        assert_eq!(path("a").below(&path("")), Some("a"));
        assert_eq!(path("a").below(&path("a")), None);
    }

    proptest! {
        #[test]
        fn parse_of_display_is_the_identity(text in "/?[a-zé가.e\u{301}]{1,8}(/[a-z~+&$:]{1,8}){0,4}/?") {
            if let Ok(path) = DomainPath::parse(&text) {
                prop_assert_eq!(DomainPath::parse(&path.to_string()), Ok(path));
            }
        }
    }
}
