//! What a name answers for: itself, or everything below it too, and then what becomes of the path behind it. The four
//! prefixes are those of PURLz, by its words.

use std::borrow::Cow;

use super::model::UnknownWord;

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It answers for itself only.
    Plain,
    /// A prefix: the tail is put behind the target as it was sent.
    Partial,
    /// A prefix: the tail's first segment becomes the extension of the rest.
    PartialAppendExtension,
    /// A prefix: the tail loses the extension of its last segment.
    PartialIgnoreExtension,
    /// A prefix: the tail's first segment takes the place of the extension of the rest.
    PartialReplaceExtension,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Partial,
        Self::PartialAppendExtension,
        Self::PartialIgnoreExtension,
        Self::PartialReplaceExtension,
    ];

    /// Reads the word of the API and of imports.
    pub fn parse(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(UnknownWord {
            allowed: "plain, partial, partial-append-extension, partial-ignore-extension, partial-replace-extension",
        })
    }

    /// The word of the API and of exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Partial => "partial",
            Self::PartialAppendExtension => "partial-append-extension",
            Self::PartialIgnoreExtension => "partial-ignore-extension",
            Self::PartialReplaceExtension => "partial-replace-extension",
        }
    }

    /// What the database has of it: nothing for a plain name, as nearly all are.
    pub fn stored(self) -> Option<&'static str> {
        self.is_prefix().then(|| self.as_str())
    }

    /// The kind that the database has.
    pub fn from_stored(column: Option<&str>) -> Result<Self, UnknownWord> {
        column.map_or(Ok(Self::Plain), Self::parse)
    }

    /// Whether it answers for everything below it.
    pub fn is_prefix(self) -> bool {
        self != Self::Plain
    }

    /// What is put behind the target for a tail, which stays escaped as it was sent: an escaped dot or slash divides
    /// nothing. A tail that lacks what the kind moves is left as it is.
    pub fn tail(self, raw: &str) -> Cow<'_, str> {
        let moved = match self {
            Self::Plain | Self::Partial => None,
            Self::PartialIgnoreExtension => return Cow::Borrowed(without_extension(raw)),
            Self::PartialAppendExtension => {
                extension_first(raw).map(|(extension, rest)| format!("{rest}.{extension}"))
            }
            Self::PartialReplaceExtension => extension_first(raw)
                .map(|(extension, rest)| format!("{}.{extension}", without_extension(rest))),
        };
        moved.map_or(Cow::Borrowed(raw), Cow::Owned)
    }
}

/// The first segment and what follows it, if an extension can stand there: both have something, and what follows does
/// not end in a slash.
fn extension_first(raw: &str) -> Option<(&str, &str)> {
    raw.split_once('/')
        .filter(|(extension, rest)| !extension.is_empty() && !rest.is_empty() && !rest.ends_with('/'))
}

/// The tail up to the last dot of its last segment. A dot that begins the segment (`.profile`, `..`) or ends it makes
/// no extension.
fn without_extension(raw: &str) -> &str {
    let start = raw.rfind('/').map_or(0, |slash| slash + 1);
    match raw[start..].rsplit_once('.') {
        Some((stem, extension)) if !extension.is_empty() && !stem.trim_start_matches('.').is_empty() => {
            &raw[..start + stem.len()]
        }
        _ => raw,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Kind::{Partial, PartialAppendExtension, PartialIgnoreExtension, PartialReplaceExtension, Plain};

    #[test]
    fn the_first_segment_is_appended_as_an_extension() {
        let tail = |raw| PartialAppendExtension.tail(raw);
        assert_eq!(tail("foo/bar/bam"), "bar/bam.foo");
        assert_eq!(tail("foo/bar.html"), "bar.html.foo");
        assert_eq!(tail("a%2Fb/c%2Ed"), "c%2Ed.a%2Fb", "what is escaped divides nothing");
    }

    #[test]
    fn the_extension_is_ignored() {
        let tail = |raw| PartialIgnoreExtension.tail(raw);
        assert_eq!(tail("foo.html"), "foo");
        assert_eq!(tail("v1.2/foo.tar.gz"), "v1.2/foo.tar");
        for raw in ["v1.2/foo", "foo.", ".profile", "..", "a/..", "...", "foo.html/", "", "foo%2Ehtml"] {
            assert_eq!(tail(raw), raw);
        }
    }

    #[test]
    fn the_first_segment_replaces_the_extension() {
        let tail = |raw| PartialReplaceExtension.tail(raw);
        assert_eq!(tail("htm/foo/bar.html"), "foo/bar.htm");
        assert_eq!(tail("htm/v1.2/bar"), "v1.2/bar.htm", "without one it is appended");
        assert_eq!(tail("htm/.profile"), ".profile.htm");
    }

    #[test]
    fn a_tail_that_has_nothing_to_move_stays_as_it_is() {
        for kind in [PartialAppendExtension, PartialReplaceExtension] {
            for raw in ["", "foo", "foo/", "/foo", "foo/bar/", "//"] {
                assert_eq!(kind.tail(raw), raw, "{kind:?}");
            }
        }
        for kind in [Plain, Partial] {
            assert_eq!(kind.tail("htm/foo/bar.html"), "htm/foo/bar.html");
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Ok(kind));
            assert_eq!(Kind::from_stored(kind.stored()), Ok(kind));
        }
        assert_eq!(
            Kind::parse("Partial").unwrap_err().to_string(),
            format!("must be one of {}", Kind::ALL.map(Kind::as_str).join(", "))
        );
    }

    proptest! {
        #[test]
        fn a_tail_is_only_cut_and_rearranged(raw in "[a-c./%]{0,12}|\\PC{0,12}", kind in proptest::sample::select(&Kind::ALL[..])) {
            let tail = kind.tail(&raw);
            prop_assert!(tail.len() <= raw.len(), "the slash that goes pays for the dot that comes");
            prop_assert!(tail.chars().all(|character| character == '.' || raw.contains(character)));
        }
    }
}
