//! A target with captures: `$0` to `$9` of the pattern, `${c0}` to `${c9}` of the last condition, `${query}`, `${path}`,
//! `${name}` and `${header:accept}` of the request, and `$$` for a dollar sign; any other dollar sign is itself. None of it can be
//! more of a host than the first labels of a fixed domain, so that whoever asks cannot choose where the answer leads.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::Variable;
use crate::purl::{location, raw_path};

/// What a host is over at.
const HOST_ENDS: [char; 3] = ['/', '?', '#'];

/// Of a decoded path what would mean something else in an address, if it came as it is.
const DECODED: &AsciiSet = &CONTROLS.add(b'%').add(b'#').add(b'?');

/// A part of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Put(Insert),
}

/// What is put into a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Insert {
    /// A capture of the pattern.
    Capture(usize),
    /// A capture of the last condition.
    Condition(usize),
    /// Something of the request.
    Request(Variable),
}

/// A target, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

impl Template {
    /// Takes a target apart.
    pub fn parse(text: &str) -> Self {
        let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            rest = if let Some((insert, length)) = insert(after) {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Put(insert));
                &after[length..]
            } else {
                literal.push('$');
                after.strip_prefix('$').unwrap_or(after)
            };
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Self(pieces)
    }

    /// A text that is what it says.
    pub fn literal(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// What is put in.
    pub fn inserts(&self) -> impl Iterator<Item = &Insert> {
        self.0.iter().filter_map(|piece| if let Piece::Put(insert) = piece { Some(insert) } else { None })
    }

    /// The highest capture of the pattern that it asks for.
    pub fn highest(&self) -> Option<usize> {
        self.inserts()
            .filter_map(|insert| if let Insert::Capture(number) = insert { Some(*number) } else { None })
            .max()
    }

    /// Whether nothing that is put in can choose where the answer leads: a path of this server, or an address whose host ends in a
    /// text with a dot in it, so that whatever comes before is a part of somebody's domain.
    pub fn has_bound_host(&self) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return true };
        let Piece::Text(text) = first else { return false };
        if text.starts_with('/') || self.inserts().next().is_none() {
            return true;
        }
        let Some((_, authority)) = text.split_once("://") else { return false };
        if authority.contains(HOST_ENDS) {
            return true;
        }
        // What the host ends in: the text behind the last insert that is a part of it.
        let mut last = "";
        for piece in rest {
            if let Piece::Text(text) = piece {
                last = text;
                if text.contains(HOST_ENDS) {
                    break;
                }
            } else {
                last = "";
            }
        }
        let end = last.split(HOST_ENDS).next().unwrap_or_default();
        let labels = end.strip_prefix('.').unwrap_or_default();
        !authority.contains('@') && labels.split('.').filter(|label| !label.is_empty()).count() >= 2
    }

    /// The target with everything put in: percent-encoded where an address cannot have it as it is or, if it is to be `raw`, only
    /// where a header cannot. `None` where something in the host would be more than letters, digits, hyphens and dots.
    pub fn expand<'v>(
        &'v self,
        raw: bool,
        value: impl Fn(&'v Insert) -> Option<Cow<'v, [u8]>>,
    ) -> Option<String> {
        let mut target = String::new();
        for piece in &self.0 {
            let insert = match piece {
                Piece::Text(text) => {
                    target.push_str(text);
                    continue;
                }
                Piece::Put(insert) => insert,
            };
            let value = value(insert).unwrap_or_default();
            let in_host = target.split_once("://").is_some_and(|(_, rest)| !rest.contains(HOST_ENDS));
            if in_host {
                let is_label =
                    value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
                if !is_label || value.is_empty() {
                    return None;
                }
                target.push_str(&String::from_utf8_lossy(&value));
            } else if matches!(insert, Insert::Request(Variable::Query)) {
                target.push_str(&location::header_safe(&String::from_utf8_lossy(&value)));
            } else if raw {
                let kept = if matches!(insert, Insert::Capture(_)) { DECODED } else { CONTROLS };
                target.extend(percent_encode(&value, kept));
            } else {
                target.push_str(&raw_path::encode_bytes(&value));
            }
        }
        Some(target)
    }

    /// The text with everything put in as it is.
    pub fn expand_bytes<'v>(&'v self, value: impl Fn(&'v Insert) -> Option<Cow<'v, [u8]>>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(literal) => text.extend_from_slice(literal.as_bytes()),
                Piece::Put(insert) => text.extend_from_slice(&value(insert).unwrap_or_default()),
            }
        }
        text
    }
}

/// What the text behind a dollar sign asks for, and how many bytes say so.
fn insert(after: &str) -> Option<(Insert, usize)> {
    let digit =
        |text: &str| text.bytes().next().filter(u8::is_ascii_digit).map(|digit| usize::from(digit - b'0'));
    if let Some(number) = digit(after) {
        return Some((Insert::Capture(number), 1));
    }
    let (name, _) = after.strip_prefix('{')?.split_once('}')?;
    let insert = match name {
        "query" => Insert::Request(Variable::Query),
        "path" => Insert::Request(Variable::Path),
        "name" => Insert::Request(Variable::Name),
        "method" => Insert::Request(Variable::Method),
        "request_line" => Insert::Request(Variable::RequestLine),
        _ => match name.strip_prefix("header:") {
            Some(header) => {
                http::HeaderName::from_bytes(header.as_bytes()).ok()?;
                Insert::Request(Variable::Header(header.to_ascii_lowercase()))
            }
            None => Insert::Condition(digit(name.strip_prefix('c').filter(|number| number.len() == 1)?)?),
        },
    };
    Some((insert, name.len() + 2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expand(template: &str, captures: &[&'static str]) -> String {
        Template::parse(template)
            .expand(false, |insert| {
                let text = match insert {
                    Insert::Capture(number) => captures.get(*number)?,
                    Insert::Condition(number) => captures.get(*number + 1)?,
                    Insert::Request(Variable::Query) => "a=%20 b",
                    Insert::Request(Variable::Header(name)) if name == "accept" => "text/html",
                    Insert::Request(_) => return None,
                };
                Some(Cow::Borrowed(text.as_bytes()))
            })
            .expect("a host")
    }

    #[test]
    fn captures_are_put_in_and_encoded_again() {
        let captures = ["whole", "a b#c?d%", "x/y:z"];
        assert_eq!(expand("https://e.org/$1/$2#$0", &captures), "https://e.org/a%20b%23c%3Fd%25/x/y:z#whole");
        assert_eq!(expand("https://e.org/$9-$12", &captures), "https://e.org/-a%20b%23c%3Fd%252");
        assert_eq!(expand("https://e.org/$$1$x$", &captures), "https://e.org/$1$x$");
        assert_eq!(
            expand("https://e.org/$1", &["", "\r\nSet-Cookie: x"]),
            "https://e.org/%0D%0ASet-Cookie:%20x"
        );
    }

    #[test]
    fn captures_of_conditions_and_parts_of_the_request_are_put_in() {
        let captures = ["whole", "a b", "c"];
        assert_eq!(
            expand("/x/${c0}/${c1}?${query}&of=${header:Accept}", &captures),
            "/x/a%20b/c?a=%20%20b&of=text/html"
        );
        assert_eq!(expand("/${c}${c12}${other}$${c0}${c0", &captures), "/${c}${c12}${other}${c0}${c0");
    }

    #[test]
    fn nothing_that_is_put_in_chooses_the_host() {
        for good in [
            "https://e.org/$1",
            "https://e.org?$1",
            "https://e.org#$1",
            "https://e.org",
            "/$1",
            "https://$1.e.org/",
            "https://a.$1.e.org",
            "https://$1-x$2.e.org/$3",
        ] {
            assert!(Template::parse(good).has_bound_host(), "{good}");
        }
        for bad in [
            "https://e.org$1",
            "$1://e.org/",
            "$0",
            "https:/$1",
            "https://${c1}.org/",
            "https://$1/.e.org/",
            "https://u@$1.e.org/",
            "https://x$1e.org/",
            "https://$1..org/",
            "https://e.org:$1/",
        ] {
            assert!(!Template::parse(bad).has_bound_host(), "{bad}");
        }
        let template = Template::parse("https://$1.e.org/$1");
        let of = |text: &'static str| template.expand(false, |_| Some(Cow::Borrowed(text.as_bytes())));
        assert_eq!(of("paris").as_deref(), Some("https://paris.e.org/paris"));
        for evil in ["evil.example/", "evil.example#", "u@evil.example", "evil:80", "a%2F", "", "\u{e9}"] {
            assert_eq!(of(evil), None, "{evil}");
        }
    }

    proptest! {
        #[test]
        fn an_escaped_text_stands_for_itself(text in "[ -~]{0,40}") {
            let template = Template::parse(&text.replace('$', "$$"));
            prop_assert_eq!(template.highest(), None);
            prop_assert_eq!(template.expand(false, |_| None), Some(text));
        }
    }
}
