//! Regular expressions of Apache (PCRE) as this program writes them. What has no meaning here is refused by name; what means the
//! same and is written otherwise is rewritten.

use super::Wrong;
use crate::purl::ruleset;

/// The expression in our words. It compiles.
pub fn translate(text: &str, ignore_case: bool) -> Result<String, Wrong> {
    let (mut out, mut rest, mut is_class) = (String::with_capacity(text.len()), text, false);
    let mut opened_at = 0;
    while let Some(first) = rest.chars().next() {
        let taken = if is_class { in_class(rest, &mut out) } else { outside(rest, &mut out)? };
        // A bracket right behind the one that opens a class is a character of it.
        if !is_class && first == '[' {
            is_class = true;
            opened_at = out.len();
            let opened = rest.strip_prefix("[^").map_or(1, |_| 2);
            let member = rest[opened..].starts_with(']');
            out.push_str(&rest[..opened]);
            out.push_str(if member { r"\]" } else { "" });
            rest = &rest[opened + usize::from(member)..];
            continue;
        }
        if is_class && first == ']' {
            is_class = false;
            // Letters outside ASCII are whole letters, as whoever wrote them meant them.
            if !out[opened_at..].is_ascii() {
                out.insert_str(opened_at, "(?u:");
                out.push(')');
            }
        }
        rest = &rest[taken..];
    }
    match ruleset::check_expression(&out, ignore_case) {
        Ok(_) => Ok(out),
        Err(detail) => Err(format!("{text:?} {detail}")),
    }
}

/// How many captures a translated expression has, the whole counted as one.
pub fn captures(translated: &str) -> usize {
    ruleset::check_expression(translated, false).unwrap_or(1)
}

/// Whether a translated expression is found in a text.
pub fn finds(translated: &str, text: &str) -> bool {
    regex::bytes::Regex::new(&format!("(?s-u){translated}"))
        .is_ok_and(|regex| regex.is_match(text.as_bytes()))
}

/// A piece of a class. Only `[:name:]` is a bracket with a meaning there; two of the same sign are just these.
fn in_class(rest: &str, out: &mut String) -> usize {
    if rest.starts_with("[:")
        && let Some(end) = rest.find(":]")
    {
        out.push_str(&rest[..end + 2]);
        return end + 2;
    }
    let mut characters = rest.chars();
    match characters.next() {
        Some('\\') => escaped(characters.next(), out),
        Some('[') => {
            out.push_str(r"\[");
            1
        }
        Some(sign @ ('&' | '~')) => {
            out.push('\\');
            out.push(sign);
            1
        }
        Some(other) => {
            out.push(other);
            other.len_utf8()
        }
        None => 0,
    }
}

fn outside(rest: &str, out: &mut String) -> Result<usize, Wrong> {
    for (sign, what) in [
        ("(?=", "look-ahead"),
        ("(?!", "look-ahead"),
        ("(?<=", "look-behind"),
        ("(?<!", "look-behind"),
        ("(?>", "an atomic group"),
        ("(?|", "a branch reset"),
        ("(?#", "a comment"),
    ] {
        if rest.starts_with(sign) {
            return Err(format!("uses {what}, {sign:?}, which expressions here do not have"));
        }
    }
    let mut characters = rest.chars();
    match characters.next() {
        Some('\\') => match characters.next() {
            Some(digit @ '1'..='9') => {
                Err(format!("uses the back-reference \\{digit}, which expressions here do not have"))
            }
            next => Ok(escaped(next, out)),
        },
        Some('{') if !is_counted(rest) => {
            out.push_str(r"\{");
            Ok(1)
        }
        Some(other) if other != '[' => {
            out.push(other);
            Ok(other.len_utf8())
        }
        // A class is opened by the caller.
        _ => Ok(0),
    }
}

/// Writes `\` and what follows it. What is no letter or digit stands for itself.
fn escaped(next: Option<char>, out: &mut String) -> usize {
    match next {
        Some('h') => out.push_str(r"[ \t]"),
        Some('R') => out.push_str(r"(?:\r\n|[\n\r])"),
        Some('Z') => out.push_str(r"\z"),
        Some(other) if other.is_ascii_punctuation() || other == ' ' || other.is_ascii_alphanumeric() => {
            out.push('\\');
            out.push(other);
        }
        Some(other) => out.push(other),
        None => out.push('\\'),
    }
    1 + next.map_or(0, char::len_utf8)
}

/// Whether a brace opens a number of repetitions; else it is itself.
fn is_counted(rest: &str) -> bool {
    let Some((inside, _)) = rest[1..].split_once('}') else { return false };
    let (from, to) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !from.is_empty() && is_number(from) && is_number(to)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn translated(text: &str) -> String {
        translate(text, false).expect("it has a meaning here")
    }

    #[test]
    fn what_is_written_otherwise_means_the_same() {
        assert_eq!(translated(r"^a\/b\ c\-d$"), r"^a\/b\ c\-d$");
        assert_eq!(translated("[]a]"), r"[\]a]");
        assert_eq!(translated("[^]a[]"), r"[^\]a\[]");
        assert_eq!(translated("[a&&b]x"), r"[a\&\&b]x");
        assert_eq!(translated("[[:alpha:]_]{2,}"), "[[:alpha:]_]{2,}");
        assert_eq!(translated("a{b}{,3}c{2}"), r"a\{b}\{,3}c{2}");
        assert_eq!(translated("^[a-zł]{1,2}é$"), "^(?u:[a-zł]){1,2}é$");
        assert!(finds(&translated("^[a-zł]{3}é$"), "ałbé"));
        assert_eq!(captures(&translated("(a)(?:b)(c)")), 3);
    }

    #[test]
    fn what_has_no_meaning_here_is_refused_by_name() {
        for (text, what) in [
            ("a(?!b)", "look-ahead"),
            ("(?<=a)b", "look-behind"),
            (r"(a)\1", "back-reference"),
            ("(?>a)", "atomic"),
            ("*/*", "at byte 1"),
            ("(a", "at byte 1"),
            ("[a", "at byte 1"),
        ] {
            let refused = translate(text, false).expect_err(text);
            assert!(refused.contains(what), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_what_is_accepted_compiles(text in "[\\[\\](){}?*+|^$.\\\\a-c&~:=!<>1-3é -]{0,24}") {
            if let Ok(out) = translate(&text, true) {
                prop_assert!(ruleset::check_expression(&out, true).is_ok());
            }
        }

        #[test]
        fn an_escaped_text_is_found_as_it_is(text in "[ -~]{0,20}") {
            prop_assert_eq!(translated(&regex::escape(&text)), regex::escape(&text));
        }
    }
}
