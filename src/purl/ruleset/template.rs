//! A target with captures: `$0` to `$9`, and `$$` for a dollar sign; any other dollar sign is itself. Captures can be no
//! part of scheme and host, so that whoever asks cannot choose where the answer leads.

use crate::purl::raw_path;

/// A part of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Capture(usize),
}

/// A target, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

impl Template {
    /// Takes a target apart.
    pub fn parse(text: &str) -> Self {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let next = rest.peek().copied();
            match (
                character,
                next.and_then(|digit| digit.to_digit(10)).and_then(|digit| usize::try_from(digit).ok()),
            ) {
                ('$', Some(number)) => {
                    rest.next();
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    }
                    pieces.push(Piece::Capture(number));
                }
                ('$', None) if next == Some('$') => {
                    rest.next();
                    literal.push('$');
                }
                _ => literal.push(character),
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Self(pieces)
    }

    /// The highest capture that it asks for.
    pub fn highest(&self) -> Option<usize> {
        self.0
            .iter()
            .filter_map(|piece| if let Piece::Capture(number) = piece { Some(*number) } else { None })
            .max()
    }

    /// Whether the host is over before the first capture.
    pub fn has_fixed_host(&self) -> bool {
        let first = match self.0.first() {
            Some(Piece::Text(text)) => text.as_str(),
            _ => "",
        };
        let after_host = first.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        after_host || self.highest().is_none()
    }

    /// The target with each capture put in, percent-encoded where an address cannot have it as it is.
    pub fn expand<'c>(&self, capture: impl Fn(usize) -> Option<&'c [u8]>) -> String {
        let mut target = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => target.push_str(text),
                Piece::Capture(number) => {
                    target.push_str(&raw_path::encode_bytes(capture(*number).unwrap_or_default()));
                }
            }
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expand(template: &str, captures: &[&'static str]) -> String {
        Template::parse(template).expand(|number| captures.get(number).map(|text| text.as_bytes()))
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
    fn the_host_is_fixed_where_no_capture_comes_before_its_end() {
        for good in ["https://e.org/$1", "https://e.org?$1", "https://e.org#$1", "https://e.org"] {
            assert!(Template::parse(good).has_fixed_host(), "{good}");
        }
        for bad in ["https://e.org$1", "https://$1.e.org/", "$1://e.org/", "$0", "https:/$1"] {
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
