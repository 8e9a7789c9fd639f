//! The arguments of `RewriteRule` and `RewriteCond`, with their flags.

use super::Wrong;
use crate::purl::ruleset::REFUSALS;

/// A `RewriteRule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteRule {
    /// Its expression, without the `!` that `not` is.
    pub pattern: String,
    /// Whether the pattern must not be found.
    pub not: bool,
    /// What the address becomes; `-`: what it is.
    pub substitution: String,
    /// Its flags.
    pub flags: RuleFlags,
}

/// The flags of a rule.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of Apache's, and any may go with any")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleFlags {
    /// `L` or `END`: no later rule is tried.
    pub last: bool,
    /// `END`: nor any once the path has been rewritten.
    pub end: bool,
    /// `R`, `F`, `G`: the status of the answer.
    pub status: Option<u16>,
    /// `NC`.
    pub ignore_case: bool,
    /// `NE`: the result is not escaped.
    pub no_escape: bool,
    /// `QSA`: the query is put behind the new one.
    pub append_query: bool,
    /// `QSD`: the query is dropped.
    pub drop_query: bool,
}

/// A `RewriteCond`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteCond {
    /// What is looked at, as it is written.
    pub subject: String,
    /// What must be found in it, without the `!` that `not` is.
    pub pattern: String,
    /// Whether it must not be found.
    pub not: bool,
    /// `NC`.
    pub ignore_case: bool,
    /// `OR`: it or the next.
    pub or_next: bool,
}

/// Reads the arguments of a `RewriteRule`.
pub fn rule(arguments: &str) -> Result<RewriteRule, Wrong> {
    let [pattern, substitution, flags] = parts("RewriteRule", arguments)?;
    let mut read = RuleFlags::default();
    for flag in listed("RewriteRule", flags.as_deref())? {
        rule_flag(&flag, &mut read)?;
    }
    let (pattern, not) = negated(&pattern.unwrap_or_default());
    Ok(RewriteRule { pattern, not, substitution: substitution.unwrap_or_default(), flags: read })
}

/// Reads the arguments of a `RewriteCond`.
pub fn cond(arguments: &str) -> Result<RewriteCond, Wrong> {
    let [subject, pattern, flags] = parts("RewriteCond", arguments)?;
    let (pattern, not) = negated(&pattern.unwrap_or_default());
    let subject = subject.unwrap_or_default();
    let mut cond = RewriteCond { subject, pattern, not, ignore_case: false, or_next: false };
    for flag in listed("RewriteCond", flags.as_deref())? {
        match flag.to_ascii_lowercase().as_str() {
            "nc" | "nocase" => cond.ignore_case = true,
            "or" | "ornext" => cond.or_next = true,
            // Vary says more than Apache would: a cache keeps fewer answers, never a wrong one.
            "nv" | "novary" => {}
            _ => return Err(format!("RewriteCond has no flag {flag:?}")),
        }
    }
    Ok(cond)
}

fn negated(pattern: &str) -> (String, bool) {
    match pattern.strip_prefix('!') {
        Some(rest) => (rest.to_owned(), true),
        None => (pattern.to_owned(), false),
    }
}

/// Two arguments and, it may be, flags. A quote holds one together; outside of quotes a backslash takes the blank behind it along.
fn parts(directive: &str, text: &str) -> Result<[Option<String>; 3], Wrong> {
    let (mut parts, mut rest) = ([const { None }; 3], text.trim());
    for part in &mut parts {
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let body = &rest[quote.map_or(0, char::len_utf8)..];
        let (mut end, mut escaped) = (body.len(), false);
        for (at, character) in body.char_indices() {
            let over = quote.map_or(character.is_whitespace(), |quote| quote == character);
            if over && !(escaped && character.is_whitespace()) {
                end = at;
                break;
            }
            escaped = character == '\\' && !escaped;
        }
        if quote.is_some() && end == body.len() {
            return Err(format!("{directive} has a quote that is not closed"));
        }
        if !rest.is_empty() {
            *part = Some(body[..end].to_owned());
        }
        rest = body[end..]
            .strip_prefix(['"', '\''])
            .filter(|_| quote.is_some())
            .unwrap_or(&body[end..])
            .trim_start();
    }
    if parts[1].is_none() {
        return Err(format!("{directive} needs two arguments"));
    }
    if !rest.is_empty() {
        let flags = parts[2].as_deref().unwrap_or_default();
        return Err(format!(
            "{directive} has {rest:?} behind {flags:?}: flags are one word, in brackets, without blanks"
        ));
    }
    Ok(parts)
}

/// The flags between their brackets.
fn listed(directive: &str, flags: Option<&str>) -> Result<Vec<String>, Wrong> {
    let Some(flags) = flags else { return Ok(Vec::new()) };
    let inside = flags.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(|| {
        format!("{directive} has the flags {flags:?}: they are one word in brackets, without blanks")
    })?;
    Ok(inside.split(',').map(|flag| flag.trim().to_owned()).filter(|flag| !flag.is_empty()).collect())
}

fn rule_flag(flag: &str, flags: &mut RuleFlags) -> Result<(), Wrong> {
    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
    match (name.to_ascii_lowercase().as_str(), value) {
        ("l" | "last", None) => flags.last = true,
        ("end", None) => (flags.last, flags.end) = (true, true),
        ("r" | "redirect", value) => flags.status = Some(status(value.unwrap_or("302"))?),
        ("f" | "forbidden", None) => flags.status = Some(403),
        ("g" | "gone", None) => flags.status = Some(410),
        ("nc" | "nocase", None) => flags.ignore_case = true,
        ("ne" | "noescape", None) => flags.no_escape = true,
        ("qsa" | "qsappend", None) => flags.append_query = true,
        ("qsd" | "qsdiscard", None) => flags.drop_query = true,
        // Captures are always escaped here; a type, a path for handlers and what becomes of a cookie change no address.
        // Nobody can read a variable that is set: a rule that asks for it is refused by itself.
        (
            "dpi" | "discardpath" | "pt" | "passthrough" | "ns" | "nosubreq" | "t" | "type" | "e" | "env",
            _,
        ) => {}
        _ => return Err(format!("RewriteRule has the flag {flag:?}, which rules here do not have")),
    }
    Ok(())
}

/// A status in words or digits: a redirect, or one that needs no target.
pub fn status(word: &str) -> Result<u16, Wrong> {
    match word.to_ascii_lowercase().as_str() {
        "permanent" => Ok(301),
        "temp" => Ok(302),
        "seeother" => Ok(303),
        "gone" => Ok(410),
        digits => match digits.parse() {
            Ok(status @ (301 | 302 | 303 | 307 | 308)) => Ok(status),
            Ok(status) if REFUSALS.contains(&status) => Ok(status),
            _ => Err(format!("answers with the status {word:?}, which rules here do not have")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_flags_are_read() {
        let read = rule(r#""^a b$"  https://e.org/x\ y  [R=seeother,NC, L ,NE]"#);
        assert!(read.is_err(), "{read:?}");
        let read = rule(r#""^a b$"  https://e.org/x\ y  [R=seeother,NC,L,NE]"#).expect("a rule");
        assert_eq!((read.pattern.as_str(), read.substitution.as_str()), ("^a b$", r"https://e.org/x\ y"));
        let flags = RuleFlags {
            last: true,
            status: Some(303),
            ignore_case: true,
            no_escape: true,
            ..RuleFlags::default()
        };
        assert_eq!(read.flags, flags);
        let read = rule("!^x - [F]").expect("a rule");
        assert_eq!((read.not, read.flags.status, read.flags.last), (true, Some(403), false));
        let read = rule("\"^a$\" \"/b c\" \"[R=301, L]\"").expect("quoted flags may have blanks");
        assert_eq!((read.flags.status, read.flags.last), (Some(301), true));
        let read = cond(r"%{HTTP_ACCEPT} !application/rdf\+xml [OR,NC]").expect("a condition");
        assert_eq!(
            (read.subject.as_str(), read.not, read.or_next, read.ignore_case),
            ("%{HTTP_ACCEPT}", true, true, true)
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, what) in [
            ("^a$ /b [R=302, L]", "one word"),
            ("^a$", "two arguments"),
            ("^a$ /b L", "brackets"),
            ("^a$ /b [R=200]", "status"),
            ("^a$ /b [P]", "flag"),
            ("^a$ /b [N=5]", "flag"),
            ("\"^a$ /b", "quote"),
        ] {
            let refused = rule(text).expect_err(text);
            assert!(refused.contains(what), "{text}: {refused}");
        }
        assert!(cond("%{HTTP_ACCEPT} a [X]").is_err());
    }
}
