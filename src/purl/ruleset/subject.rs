//! What of a request's path rules are matched on: decoded once, with runs of slashes merged, as bytes, because not
//! everything that is sent is text. Escaped slashes are slashes that begin no segment: they are never merged.

use std::borrow::Cow;

/// One byte of the decoded path, and where in the raw one it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    byte: u8,
    end: usize,
}

/// The bytes of a raw path, decoded. `None` for an escape that is none.
struct Units<'r> {
    raw: &'r [u8],
    at: usize,
    after_slash: bool,
}

impl Iterator for Units<'_> {
    type Item = Option<Unit>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.after_slash {
            while self.raw.get(self.at) == Some(&b'/') {
                self.at += 1;
            }
        }
        let first = *self.raw.get(self.at)?;
        self.after_slash = first == b'/';
        let (byte, length) = if first == b'%' {
            match escaped(&self.raw[self.at..]) {
                Some(byte) => (byte, 3),
                None => return Some(None),
            }
        } else {
            (first, 1)
        };
        self.at += length;
        Some(Some(Unit { byte, end: self.at }))
    }
}

fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    u8::try_from(digit(1)? * 16 + digit(2)?).ok()
}

fn units(raw: &str) -> Units<'_> {
    Units { raw: raw.as_bytes(), at: 0, after_slash: false }
}

/// The path without segments that are `.` or, with the one before them, `..`, escaped or not, as RFC 3986 (5.2.4) has it.
pub fn without_dot_segments(raw: &str) -> Cow<'_, str> {
    let is_dots = |segment: &str, dots: &str| segment.replace("%2e", ".").replace("%2E", ".") == dots;
    let has_dots = |segment: &str| is_dots(segment, ".") || is_dots(segment, "..");
    if !raw.contains("/.") && !raw.contains("/%2") || !raw.split('/').any(has_dots) {
        return Cow::Borrowed(raw);
    }
    let mut kept: Vec<&str> = Vec::new();
    let last = raw.split('/').count() - 1;
    for (at, segment) in raw.split('/').enumerate() {
        if !has_dots(segment) {
            kept.push(segment);
            continue;
        }
        if is_dots(segment, "..") && kept.len() > 1 {
            kept.pop();
        }
        if at == last {
            kept.push("");
        }
    }
    Cow::Owned(kept.join("/"))
}

/// The path with its leading slash, decoded; `None` where an escape is malformed.
pub fn decode(raw: &str) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(raw.len() + 1);
    if !raw.starts_with('/') {
        path.push(b'/');
    }
    for unit in units(raw) {
        path.push(unit?.byte);
    }
    Some(path)
}

/// What follows the first `length` bytes of the decoded path, exactly as it was sent, except that a run of slashes that
/// begins in these bytes is all theirs. A raw path begins with its slash.
pub fn raw_tail(raw: &str, length: usize) -> &str {
    let Some(last) = length.checked_sub(1) else { return raw };
    let Some(unit) = units(raw).flatten().nth(last) else { return "" };
    let tail = raw.get(unit.end..).unwrap_or_default();
    let ends_in_slash = raw.get(..unit.end).is_some_and(|head| head.ends_with('/'));
    if ends_in_slash { tail.trim_start_matches('/') } else { tail }
}

/// The same text with one slash where there was a run of them.
pub fn merged(tail: &str) -> String {
    let mut merged = String::with_capacity(tail.len());
    for character in tail.chars() {
        if character != '/' || !merged.ends_with('/') {
            merged.push(character);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(raw: &str) -> String {
        String::from_utf8_lossy(&decode(raw).expect("well-formed")).into_owned()
    }

    #[test]
    fn a_path_is_decoded_once_and_its_slashes_are_merged() {
        assert_eq!(decoded("/obo//go///x"), "/obo/go/x");
        assert_eq!(decoded("/a%20b%2520c+d"), "/a b%20c+d");
        assert_eq!(
            decoded("/m/https%3A%2F%2Fe.org/x"),
            "/m/https://e.org/x",
            "escaped slashes are not merged"
        );
        assert_eq!(decode("/p/%zz"), None);
        assert_eq!(decode("/p/%E9").expect("no text, yet well-formed"), b"/p/\xe9");
    }

    #[test]
    fn dot_segments_are_no_segments() {
        for (raw, without) in [
            ("/a/.", "/a/"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/%2e%2E/b/%2e", "/b/"),
            ("/../../a", "/a"),
            ("/a/..", "/"),
            ("/a/.b/..c/...", "/a/.b/..c/..."),
            ("/a//../b", "/a/b"),
        ] {
            assert_eq!(without_dot_segments(raw), without, "{raw}");
        }
    }

    #[test]
    fn a_tail_is_as_it_was_sent() {
        assert_eq!(raw_tail("/obo/go/a%23b%2Fc+d", "/obo/go/".len()), "a%23b%2Fc+d");
        assert_eq!(raw_tail("/obo//go/x//y", "/obo/go/".len()), "x//y");
        assert_eq!(raw_tail("/p//x", "/p/".len()), "x", "a run of slashes is one");
        assert_eq!(raw_tail("/p//x", "/p".len()), "//x");
        assert_eq!(raw_tail("/p/%2F/x", "/p/".len()), "%2F/x");
        assert_eq!(raw_tail("/%70/x", 3), "x");
        assert_eq!(raw_tail("/p", 2), "");
        assert_eq!(raw_tail("/p", 0), "/p");
    }

    proptest! {
        #[test]
        fn tails_are_suffixes_and_never_split_an_escape(raw in "(/([a-c]|%2f|%41|/){0,5}){1,5}", length in 0..40_usize) {
            let tail = raw_tail(&raw, length);
            prop_assert!(raw.ends_with(tail));
            let whole = decode(&raw).expect("well-formed");
            let rest = decode(&format!("/{tail}")).expect("no escape is split");
            let expected = whole.get(length..).unwrap_or_default();
            let rest: Vec<u8> = rest.into_iter().skip(1).skip_while(|byte| *byte == b'/').collect();
            let expected: Vec<u8> = expected.iter().copied().skip_while(|byte| *byte == b'/').collect();
            prop_assert_eq!(rest, expected);
        }
    }
}
