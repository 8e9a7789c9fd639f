//! The name of a PURL: what follows the domain in its path. Names are opaque: leading zeros, case and
//! punctuation stay, only the Unicode form is made one (NFC). Whether a name is free is not decided here.

use std::fmt;

use super::domain_path::{self, DomainPath};
use super::segment::{self, SegmentFault};

/// Longest name in bytes of UTF-8.
pub const MAX_BYTES: usize = 1024;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Nothing there.
    #[error("the name is empty")]
    Missing,
    /// Longer than [`MAX_BYTES`].
    #[error("the name has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLong(usize),
    /// A character or segment that a path cannot have.
    #[error("the name {0}")]
    Segment(#[from] SegmentFault),
    /// In the root domain: the first segment is one of the server's own.
    #[error("{0:?} is kept for the server itself and cannot begin a name of the root domain")]
    Reserved(String),
}

/// A valid name: 1 to 1,024 bytes, NFC, no control characters, `?`, `#`, backslash, dot segments or empty
/// segments, except that it may end in one slash (`p` and `p/` are two names).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    /// Checks a name and brings it into NFC.
    pub fn parse(text: &str) -> Result<Self, NameFault> {
        if text.is_empty() {
            return Err(NameFault::Missing);
        }
        segment::check_characters(text)?;
        let name = segment::nfc(text.to_owned());
        if name.len() > MAX_BYTES {
            return Err(NameFault::TooLong(name.len()));
        }
        let inner = name.strip_suffix('/').unwrap_or(&name);
        inner.split('/').try_for_each(segment::check_segment)?;
        Ok(Self(name))
    }

    /// As [`Name::parse`], for a name of this domain: the root domain's names must not hide the server.
    pub fn parse_in(text: &str, domain: &DomainPath) -> Result<Self, NameFault> {
        let name = Self::parse(text)?;
        let first = name.0.split('/').next().unwrap_or_default();
        if domain.is_root() && domain_path::is_reserved(first) {
            return Err(NameFault::Reserved(first.to_owned()));
        }
        Ok(name)
    }

    /// The name as it is listed and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form that is unique in the domain and that requests are matched on.
    pub fn key(&self, case_insensitive: bool) -> String {
        fold(&self.0, case_insensitive)
    }
}

/// The matching form of a text: itself, or with ASCII letters lowered where the domain ignores case. The
/// length in bytes never changes, so offsets found in one form hold in the other.
pub fn fold(text: &str, case_insensitive: bool) -> String {
    if case_insensitive { text.to_ascii_lowercase() } else { text.to_owned() }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_punctuation_is_kept() {
        for text in
            ["a.b", "T+B-lunch", "T&C_car", "ark:/53355/cl010066723", "~x", "$1", "007", "100%", "a b"]
        {
            assert_eq!(Name::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_final_slash_makes_another_name() {
        assert_ne!(Name::parse("p").unwrap(), Name::parse("p/").unwrap());
        assert!(Name::parse("p//").is_err());
        assert!(Name::parse("/").is_err());
    }

    #[test]
    fn what_no_request_could_carry_is_refused() {
        for text in
            ["", "/a", "a//b", ".", "..", "a/../b", "a/./b", "a?b", "a#b", "a\\b", "a\0", "a\r\nb", "\u{7f}"]
        {
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
        assert!(Name::parse("...").is_ok());
    }

    #[test]
    fn decomposed_letters_become_composed() {
        assert_eq!(Name::parse("cafe\u{301}").unwrap().as_str(), "caf\u{e9}");
        assert_eq!(Name::parse("구글").unwrap().as_str(), "구글");
    }

    #[test]
    fn length_is_counted_in_bytes() {
        assert!(Name::parse(&"a".repeat(1024)).is_ok());
        assert_eq!(Name::parse(&"a".repeat(1025)), Err(NameFault::TooLong(1025)));
        assert_eq!(Name::parse(&"é".repeat(513)), Err(NameFault::TooLong(1026)));
    }

    #[test]
    fn the_root_domain_cannot_name_the_servers_own_paths() {
        let root = DomainPath::parse("").unwrap();
        let other = DomainPath::parse("obo").unwrap();
        for text in ["api", "api/x", "Health", "_info", "robots.txt"] {
            assert!(matches!(Name::parse_in(text, &root), Err(NameFault::Reserved(_))), "{text}");
            assert!(Name::parse_in(text, &other).is_ok(), "{text}");
        }
        for text in ["a", "s", "r", "rest"] {
            assert!(Name::parse_in(text, &root).is_ok(), "{text} collides with no route");
        }
    }

    proptest! {
        #[test]
        fn parse_of_display_is_the_identity(text in "\\PC{1,40}") {
            if let Ok(name) = Name::parse(&text) {
                prop_assert_eq!(Name::parse(&name.to_string()), Ok(name));
            }
        }

        #[test]
        fn folding_keeps_the_length(text in "\\PC{0,40}") {
            prop_assert_eq!(fold(&text, true).len(), text.len());
        }
    }
}
