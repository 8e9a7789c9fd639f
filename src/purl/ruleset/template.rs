//! A target with captures: `$0` to `$9` of the pattern, `${c0}` to `${c9}` of the last condition, `${query}`, `${path}`,
//! `${name}` and `${header:accept}` of the request, and `$$` for a dollar sign; any other dollar sign is itself. None of it can be a
//! part of scheme and host, so that whoever asks cannot choose where the answer leads.

use std::borrow::Cow;

use super::Variable;
use crate::purl::{location, raw_path};

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

    /// Whether the host is over before anything is put in: that of an absolute address, or this server's.
    pub fn has_fixed_host(&self) -> bool {
        let first = match self.0.first() {
            Some(Piece::Text(text)) => text.as_str(),
            _ => "",
        };
        let after_host = first.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        after_host || first.starts_with('/') || self.inserts().next().is_none()
    }

    /// The target with everything put in, percent-encoded where an address cannot have it as it is. The query is as it was sent.
    pub fn expand<'v>(&'v self, value: impl Fn(&'v Insert) -> Option<Cow<'v, [u8]>>) -> String {
        let mut target = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => target.push_str(text),
                Piece::Put(insert) => {
                    let value = value(insert).unwrap_or_default();
                    if matches!(insert, Insert::Request(Variable::Query)) {
                        target.push_str(&location::header_safe(&String::from_utf8_lossy(&value)));
                    } else {
                        target.push_str(&raw_path::encode_bytes(&value));
                    }
                }
            }
        }
        target
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
        Template::parse(template).expand(|insert| {
            let text = match insert {
                Insert::Capture(number) => captures.get(*number)?,
                Insert::Condition(number) => captures.get(*number + 1)?,
                Insert::Request(Variable::Query) => "a=%20 b",
                Insert::Request(Variable::Header(name)) if name == "accept" => "text/html",
                Insert::Request(_) => return None,
            };
            Some(Cow::Borrowed(text.as_bytes()))
        })
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
    fn the_host_is_fixed_where_no_capture_comes_before_its_end() {
        for good in ["https://e.org/$1", "https://e.org?$1", "https://e.org#$1", "https://e.org", "/$1"] {
            assert!(Template::parse(good).has_fixed_host(), "{good}");
        }
        for bad in
            ["https://e.org$1", "https://$1.e.org/", "$1://e.org/", "$0", "https:/$1", "https://${c1}.e.org/"]
        {
            assert!(!Template::parse(bad).has_fixed_host(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn an_escaped_text_stands_for_itself(text in "[ -~]{0,40}") {
            let template = Template::parse(&text.replace('$', "$$"));
            prop_assert_eq!(template.highest(), None);
            prop_assert_eq!(template.expand(|_| None), text);
        }
    }
}
