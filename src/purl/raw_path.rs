//! The path of a request as it came, with what matching needs: the text decoded once, and where each raw
//! slash stands in both forms, so that the tail of a prefix can be cut from the raw bytes. An escaped slash
//! (`%2F`) is text inside its segment: it matches a slash of a name but never cuts a tail.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::{domain_path, name, segment};

/// Beyond this many decoded bytes no domain and no name can reach.
const MATCHABLE_BYTES: usize = domain_path::MAX_BYTES + 1 + name::MAX_BYTES + 1;

/// A slash that was a slash in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    decoded: usize,
    raw: usize,
}

/// A request's path, raw and decoded. Parsing never fails: a segment that cannot be decoded can match no
/// name, yet it may stand in the tail of a prefix, where it is only passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPath<'a> {
    raw: &'a str,
    decoded: String,
    cuts: Vec<Cut>,
    whole: bool,
    well_formed: bool,
}

impl<'a> RawPath<'a> {
    /// Reads the path component of a request target; the leading slash is not part of the result.
    pub fn parse(path: &'a str) -> Self {
        let raw = path.strip_prefix('/').unwrap_or(path);
        let mut this = Self { raw, decoded: String::new(), cuts: Vec::new(), whole: true, well_formed: true };
        let mut offset = 0;
        for (index, part) in raw.split('/').enumerate() {
            if index > 0 {
                this.cuts.push(Cut { decoded: this.decoded.len(), raw: offset - 1 });
                this.decoded.push('/');
            }
            let Some(text) = decode(part) else {
                this.whole = false;
                this.well_formed = false;
                break;
            };
            this.decoded.push_str(&text);
            if this.decoded.len() > MATCHABLE_BYTES {
                this.whole = false;
                break;
            }
            offset += part.len() + 1;
        }
        this
    }

    /// The whole path decoded once and in NFC, or `None` where it is no text or longer than any name.
    pub fn exact(&self) -> Option<&str> {
        self.whole.then_some(self.decoded.as_str())
    }

    /// The first segment decoded, whatever follows it; empty where it is no text.
    pub fn first_segment(&self) -> &str {
        self.cuts.first().map_or(&self.decoded, |cut| &self.decoded[..cut.decoded])
    }

    /// False if an escape is malformed or the escaped bytes are no UTF-8.
    pub fn is_well_formed(&self) -> bool {
        self.well_formed
    }

    /// Paths of the domains that could hold this path, the root first, at most
    /// [`domain_path::MAX_SEGMENTS`] + 1 of them. The whole path is one: a domain's own address.
    pub fn domain_prefixes(&self) -> Vec<&str> {
        let own = self.exact().filter(|path| !path.is_empty() && !path.ends_with('/'));
        std::iter::once("")
            .chain(
                self.cuts.iter().map(|cut| &self.decoded[..cut.decoded]).take_while(|path| !path.is_empty()),
            )
            .chain(own)
            .take(domain_path::MAX_SEGMENTS + 1)
            .filter(|path| path.len() <= domain_path::MAX_BYTES)
            .collect()
    }

    /// Every form under which a name could answer, as full paths (domain included): the whole path, the
    /// whole path with its final slash added, and each prefix that ends at a slash, without and with it.
    /// Prefixes stop at the first empty segment, which no name has.
    pub fn name_candidates(&self) -> Vec<String> {
        let mut candidates = Vec::new();
        if let Some(path) = self.exact() {
            candidates.push(path.to_owned());
            if !path.ends_with('/') {
                candidates.push(format!("{path}/"));
            }
        }
        let mut start = 0;
        for cut in &self.cuts {
            if cut.decoded == start {
                break;
            }
            start = cut.decoded + 1;
            candidates.push(self.decoded[..cut.decoded].to_owned());
            if self.exact().is_none_or(|path| path.len() > start) {
                candidates.push(self.decoded[..start].to_owned());
            }
        }
        candidates
    }

    /// The decoded text between two offsets, where there is any.
    pub fn decoded(&self, start: usize, end: usize) -> Option<&str> {
        self.decoded.get(start..end)
    }

    /// What follows a prefix of `decoded_len` bytes, exactly as it was sent, or `None` where the prefix
    /// does not end beside a raw slash.
    pub fn tail(&self, decoded_len: usize) -> Option<Tail<'a>> {
        self.cuts.iter().find_map(|cut| {
            let raw = &self.raw[cut.raw + 1..];
            match decoded_len.checked_sub(cut.decoded) {
                Some(0) => Some(Tail { raw, own_slash: true }),
                Some(1) => Some(Tail { raw, own_slash: false }),
                _ => None,
            }
        })
    }
}

/// The rest of a request's path behind a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail<'a> {
    /// The bytes after the slash that ends the prefix.
    pub raw: &'a str,
    /// Whether that slash is part of the tail, because the prefix (`p`, not `p/`) does not have it.
    pub own_slash: bool,
}

/// Decodes one segment, or `None` for a malformed escape or bytes that are no UTF-8.
fn decode(part: &str) -> Option<String> {
    if !part.contains('%') {
        return Some(segment::nfc(part.to_owned()));
    }
    let well_formed = part.split('%').skip(1).all(|after| {
        let mut digits = after.bytes();
        digits.next().is_some_and(|byte| byte.is_ascii_hexdigit())
            && digits.next().is_some_and(|byte| byte.is_ascii_hexdigit())
    });
    if !well_formed {
        return None;
    }
    let text = percent_decode_str(part).decode_utf8().ok()?;
    Some(segment::nfc(text.into_owned()))
}

/// What may stand unescaped in a path (RFC 3986 `pchar` and the slash).
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// The address of a path on this server: the form to ask for, percent-encoded, without the leading slash.
pub fn encode(path: &str) -> String {
    encode_bytes(path.as_bytes())
}

/// The same of bytes that need not be text.
pub fn encode_bytes(path: &[u8]) -> String {
    percent_encode(path, PATH).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(RawPath::parse("/obo/a%20b%2520c+d").exact(), Some("obo/a b%20c+d"));
        assert_eq!(RawPath::parse("/%EA%B5%AC%EA%B8%80").exact(), Some("구글"));
        assert_eq!(RawPath::parse("/cafe%CC%81").exact(), Some("caf\u{e9}"), "NFD is asked for as NFC");
    }

    #[test]
    fn malformed_escapes_and_other_encodings_match_no_name_but_survive_in_a_tail() {
        for path in ["/p/100%", "/p/%4", "/p/%zz", "/p/%E9", "/p/%FF/x"] {
            let parsed = RawPath::parse(path);
            assert_eq!(parsed.exact(), None, "{path}");
            assert!(!parsed.is_well_formed());
            assert_eq!(parsed.tail("p/".len()).unwrap().raw, &path[3..]);
            assert_eq!(parsed.name_candidates(), ["p", "p/"]);
        }
    }

    #[test]
    fn an_escaped_slash_matches_but_never_cuts() {
        let path = RawPath::parse("/m/reconcile/https%3A%2F%2Fw3id.org%2Fx");
        assert_eq!(path.exact(), Some("m/reconcile/https://w3id.org/x"));
        assert_eq!(path.tail("m/reconcile/".len()).unwrap().raw, "https%3A%2F%2Fw3id.org%2Fx");
        assert_eq!(path.tail("m/reconcile/https:/".len()), None);
        assert_eq!(path.domain_prefixes(), ["", "m", "m/reconcile", "m/reconcile/https://w3id.org/x"]);
    }

    #[test]
    fn the_first_segment_is_known_whatever_follows() {
        for path in ["/%61pi", "/api/%zz", "/api/", "/api//x"] {
            assert_eq!(RawPath::parse(path).first_segment(), "api", "{path}");
        }
        assert_eq!(RawPath::parse(&format!("/api/{}", "a".repeat(5000))).first_segment(), "api");
        assert_eq!(RawPath::parse("/%zz/api").first_segment(), "");
    }

    #[test]
    fn line_ends_stay_escaped_in_the_tail() {
        assert_eq!(RawPath::parse("/p/x%0d%0aSet-Cookie:a").tail(2).unwrap().raw, "x%0d%0aSet-Cookie:a");
    }

    #[test]
    fn the_slash_is_the_tails_own_unless_the_prefix_has_it() {
        let path = RawPath::parse("/net/p//foo/");
        assert_eq!(path.tail("net/p".len()), Some(Tail { raw: "/foo/", own_slash: true }));
        assert_eq!(path.tail("net/p/".len()), Some(Tail { raw: "/foo/", own_slash: false }));
        assert_eq!(path.tail("net/p//foo/".len()), Some(Tail { raw: "", own_slash: false }));
    }

    #[test]
    fn candidates_are_the_path_both_slash_forms_and_each_prefix() {
        assert_eq!(RawPath::parse("/a/b").name_candidates(), ["a/b", "a/b/", "a", "a/"]);
        assert_eq!(RawPath::parse("/a/b/").name_candidates(), ["a/b/", "a", "a/", "a/b"]);
        assert_eq!(RawPath::parse("//a/b").name_candidates(), ["/a/b", "/a/b/"]);
        assert_eq!(RawPath::parse("/a//b").name_candidates(), ["a//b", "a//b/", "a", "a/"]);
    }

    #[test]
    fn a_leading_double_slash_reaches_only_the_root_domain() {
        assert_eq!(RawPath::parse("//evil.example/x").domain_prefixes(), ["", "/evil.example/x"]);
        assert_eq!(RawPath::parse("/").domain_prefixes(), [""]);
    }

    #[test]
    fn the_number_of_lookups_is_bounded() {
        let path = format!("/{}", "a/".repeat(4000));
        let parsed = RawPath::parse(&path);
        assert!(parsed.domain_prefixes().len() <= domain_path::MAX_SEGMENTS + 1);
        assert!(parsed.name_candidates().len() <= MATCHABLE_BYTES + 2);
        assert!(parsed.is_well_formed());
    }

    proptest! {
        #[test]
        fn decode_of_encode_is_the_identity(text in "[^/\\x00-\\x1f]{0,30}") {
            let text: String = segment::nfc(text);
            let encoded = format!("/{}", encode(&text));
            let parsed = RawPath::parse(&encoded);
            prop_assert_eq!(parsed.exact(), Some(text.as_str()));
        }

        #[test]
        fn a_tail_is_a_suffix_of_what_was_sent(path in "(/[!-.0-~]{0,6}){1,6}") {
            let parsed = RawPath::parse(&path);
            for candidate in parsed.name_candidates() {
                if let Some(tail) = parsed.tail(candidate.len()) {
                    prop_assert!(path.ends_with(tail.raw));
                }
            }
        }
    }
}
