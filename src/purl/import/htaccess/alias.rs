//! `Redirect` and `RedirectMatch`: they see the whole path, after every `RewriteRule`.

use super::rewrite::status;
use super::{Wrong, lines};

/// A redirect of mod_alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the pattern is an expression; else a path and all that lies below it.
    pub is_expression: bool,
    /// The path or the expression.
    pub pattern: String,
    /// The status.
    pub status: u16,
    /// Where it leads; none with a status that needs no address.
    pub target: Option<String>,
}

/// Reads the arguments of the directive with this name, in lower case.
pub fn read(name: &str, arguments: &str) -> Result<Redirect, Wrong> {
    let words = lines::words(arguments).ok_or("has a quote that is not closed")?;
    let (fixed, rest) = match name {
        "redirectpermanent" => (Some(301), words.as_slice()),
        "redirecttemp" => (Some(302), words.as_slice()),
        _ => match words.split_first() {
            Some((first, rest)) if is_status(first) => (Some(status(first)?), rest),
            _ => (None, words.as_slice()),
        },
    };
    let status = fixed.unwrap_or(302);
    let needs_address = (300..400).contains(&status);
    let (pattern, target) = match (rest, needs_address) {
        ([pattern, target], true) => (pattern, Some(target.clone())),
        ([pattern], false) => (pattern, None),
        (_, true) => return Err("needs a path and an address".to_owned()),
        (_, false) => return Err(format!("needs a path, and no address with the status {status}")),
    };
    let is_expression = name == "redirectmatch";
    if !is_expression && !pattern.starts_with('/') {
        return Err(format!("{pattern:?} is no path: it begins with a slash"));
    }
    Ok(Redirect { is_expression, pattern: pattern.clone(), status, target })
}

fn is_status(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || ["permanent", "temp", "seeother", "gone"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_may_come_first() {
        let read = |arguments: &str| read("redirect", arguments);
        let redirect = read("permanent /a https://e.org/").expect("a redirect");
        assert_eq!((redirect.status, redirect.target.as_deref()), (301, Some("https://e.org/")));
        assert_eq!(read("/a https://e.org/").expect("a redirect").status, 302);
        assert_eq!(read("gone /a").expect("gone").target, None);
        for wrong in ["", "/a", "410 /a https://e.org/", "a https://e.org/", "299 /a", "/a \"https://e.org"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
