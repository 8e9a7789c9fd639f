//! The substitution of a `RewriteRule`, or the address of a `RedirectMatch`, as a target of ours: what it puts in, what of it is
//! escaped, and what becomes of the query.

use super::variables::{self, Value};
use super::{Site, Wrong};
use crate::purl::model::QueryPolicy;
use crate::purl::raw_path;

/// How a text is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Where the file is.
    pub site: &'a Site<'a>,
    /// Captures of the pattern, the whole counted as one; more are empty.
    pub captures: usize,
    /// Whether there are conditions whose captures could be asked for.
    pub has_conditions: bool,
    /// Whether `%` means captures of conditions and variables: in `RedirectMatch` it does not.
    pub percent: bool,
}

/// A piece of a substitution.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(char),
    /// As a target of ours asks for it.
    Insert(String),
}

/// Where a rule leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The template.
    pub template: String,
    /// Whether it is an absolute address, and so a redirect in any case.
    pub is_address: bool,
    /// Whether it is a path below the base.
    pub is_relative: bool,
    /// What it says about the query, if anything.
    pub query: Option<QueryPolicy>,
}

impl Reading<'_> {
    /// A text with everything that is put into it, of which nothing is escaped: what a condition looks at.
    pub fn text(&self, text: &str) -> Result<String, Wrong> {
        Ok(self
            .pieces(text)?
            .into_iter()
            .map(|piece| match piece {
                Piece::Text('$') => "$$".to_owned(),
                Piece::Text(character) => character.to_string(),
                Piece::Insert(insert) => insert,
            })
            .collect())
    }

    /// The target that a substitution is. `base` goes before a path without its leading slash; `escape` is what Apache does
    /// to an address unless a flag forbids it; a path that is only rewritten is text, and is escaped as a whole.
    pub fn target(&self, text: &str, base: &str, escape: bool, is_redirect: bool) -> Result<Target, Wrong> {
        let mut pieces = self.pieces(text)?;
        let own = self.own_prefix(&pieces);
        pieces.drain(..own);
        let is_address = own > 0 || begins_with_scheme(&pieces);
        let is_path = pieces.first() == Some(&Piece::Text('/'));
        let is_relative = !is_address && !is_path;
        if own > 0 && !is_path {
            pieces.insert(0, Piece::Text('/'));
        } else if is_relative {
            pieces.splice(0..0, base.chars().map(Piece::Text));
        }
        let mark = pieces.iter().position(|piece| *piece == Piece::Text('?'));
        let (path, query) = match mark {
            Some(at) => (&pieces[..at], Some(&pieces[at + 1..])),
            None => (pieces.as_slice(), None),
        };
        let escape = if is_address || is_redirect { escape } else { true };
        let mut template = written(path, escape, begins_with_scheme(&pieces));
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            template.push('?');
            template.push_str(&written(query, escape, false));
        }
        Ok(Target { template, is_address, is_relative, query: query.map(|_| QueryPolicy::Drop) })
    }

    fn pieces(&self, text: &str) -> Result<Vec<Piece>, Wrong> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(first) = rest.chars().next() {
            let after = &rest[first.len_utf8()..];
            let digit = after.chars().next().and_then(|digit| digit.to_digit(10));
            rest = match (first, digit) {
                ('\\', _) if !after.is_empty() => {
                    let taken = after.chars().next().unwrap_or_default();
                    pieces.push(Piece::Text(taken));
                    &after[taken.len_utf8()..]
                }
                ('$', Some(number)) => {
                    if usize::try_from(number).is_ok_and(|number| number < self.captures) {
                        pieces.push(Piece::Insert(format!("${number}")));
                    }
                    &after[1..]
                }
                ('%', Some(number)) if self.percent => {
                    if self.has_conditions {
                        pieces.push(Piece::Insert(format!("${{c{number}}}")));
                    }
                    &after[1..]
                }
                ('$', None) if self.percent && after.starts_with('{') => {
                    return Err("uses a RewriteMap, which rules here do not have".to_owned());
                }
                ('%', None) if self.percent && after.starts_with('{') => {
                    let (name, behind) =
                        after[1..].split_once('}').ok_or("has a variable that is not closed")?;
                    match variables::read(name, self.site)? {
                        Value::Part(part) => pieces.push(Piece::Insert(variables::insert(&part))),
                        Value::Text(text) => pieces.extend(text.chars().map(Piece::Text)),
                        Value::File => return Err(format!("uses %{{{name}}}: there are no files here")),
                    }
                    behind
                }
                _ => {
                    pieces.push(Piece::Text(first));
                    after
                }
            };
        }
        Ok(pieces)
    }

    /// How many pieces name this server itself, if the text begins with its address.
    fn own_prefix(&self, pieces: &[Piece]) -> usize {
        let literal: String = pieces
            .iter()
            .map_while(|piece| if let Piece::Text(text) = piece { Some(*text) } else { None })
            .collect();
        let Some((scheme, rest)) = literal.split_once("://") else { return 0 };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let is_over = host.len() < rest.len() || pieces.len() == literal.chars().count();
        let is_own = is_web && is_over && !host.is_empty() && host.eq_ignore_ascii_case(self.site.host());
        if is_own { (scheme.len() + 3 + host.len()).min(pieces.len()) } else { 0 }
    }
}

fn begins_with_scheme(pieces: &[Piece]) -> bool {
    let literal: String = pieces
        .iter()
        .map_while(|piece| if let Piece::Text(text) = piece { Some(*text) } else { None })
        .take(16)
        .collect();
    literal.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// The pieces as a template. What a header cannot carry is escaped in any case; scheme and host never are.
fn written(pieces: &[Piece], escape: bool, with_host: bool) -> String {
    let (mut template, mut slashes) = (String::new(), if with_host { 0 } else { 3 });
    for piece in pieces {
        let character = match piece {
            Piece::Insert(insert) => {
                template.push_str(insert);
                continue;
            }
            Piece::Text(character) => *character,
        };
        slashes += usize::from(character == '/');
        let is_plain = character.is_ascii_graphic() && !escape;
        match character {
            '$' => template.push_str("$$"),
            _ if slashes < 3 || is_plain => template.push(character),
            _ => template.push_str(&escaped(character)),
        }
    }
    template
}

/// A character as Apache escapes it, with small letters.
fn escaped(character: char) -> String {
    let text = character.to_string();
    if raw_path::encode(&text) == text {
        return text;
    }
    percent_encoding::percent_encode(text.as_bytes(), percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_with(text: &str, escape: bool, is_redirect: bool) -> Target {
        let site = Site { directory: "a/b", origin: "https://w3id.example" };
        let reading = Reading { site: &site, captures: 2, has_conditions: true, percent: true };
        reading.target(text, "/a/b/", escape, is_redirect).expect("a target")
    }

    fn target(text: &str) -> String {
        target_with(text, true, false).template
    }

    #[test]
    fn what_is_put_in_is_ours_and_the_rest_is_escaped_unless_it_must_not_be() {
        assert_eq!(target("https://e.org/x#$1-$2"), "https://e.org/x%23$1-");
        assert_eq!(target_with("https://e.org/x#$1", false, true).template, "https://e.org/x#$1");
        assert_eq!(target(r"https://e.org/a\%20\$1$"), "https://e.org/a%2520$$1$$");
        assert_eq!(
            target("https://e.org/%1/%{HTTP_ACCEPT}?%{QUERY_STRING}"),
            "https://e.org/${c1}/${header:accept}?${query}"
        );
        assert_eq!(target("https://[::1]:80/é|"), "https://[::1]:80/%c3%a9%7c");
    }

    #[test]
    fn a_path_of_this_server_is_one_however_it_is_written() {
        assert_eq!(target("x/$1"), "/a/b/x/$1");
        assert_eq!(target("/c d"), "/c%20d");
        for own in ["https://w3id.example/c", "http://W3ID.example/c", "%{REQUEST_SCHEME}://%{HTTP_HOST}/c"] {
            let target = target_with(own, true, false);
            assert_eq!((target.template.as_str(), target.is_address), ("/c", true), "{own}");
        }
        assert_eq!(target("https://w3id.example$1"), "https://w3id.example$1", "which no rule may have");
        assert_eq!(target("https://w3id.example"), "/");
    }

    #[test]
    fn a_question_mark_says_what_becomes_of_the_query() {
        for (text, template, query) in [
            ("https://e.org/a", "https://e.org/a", None),
            ("https://e.org/a?", "https://e.org/a", Some(QueryPolicy::Drop)),
            ("https://e.org/a?b=$1", "https://e.org/a?b=$1", Some(QueryPolicy::Drop)),
        ] {
            let target = target_with(text, true, true);
            assert_eq!((target.template.as_str(), target.query), (template, query), "{text}");
        }
    }
}
