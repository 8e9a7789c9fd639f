//! Builds the `Location` of a redirect from the stored target, the raw tail and the raw query. Nothing is
//! decoded and encoded again. A target is always absolute, so a tail can never make the address
//! scheme-relative; what could still reach the host part is kept from it by a slash.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

use super::model::{Kind, QueryPolicy};
use super::raw_path::Tail;
use super::rules::Match;

/// Bytes that a header may not carry as they are: controls, blank, DEL. Bytes above ASCII, which some
/// clients send raw, are always encoded by this crate.
const UNSAFE: &AsciiSet = &CONTROLS.add(b' ');

/// The address that a name leads to, as the request has met it: to the variant at a place, else to its own target; `None`
/// where it has none.
pub fn of_match(
    matched: &Match<'_, '_>,
    variant: Option<usize>,
    query: Option<&str>,
    policy: QueryPolicy,
) -> Option<String> {
    let purl = matched.purl();
    let variant = variant.and_then(|place| purl.variants.get(place));
    let target = variant.map(|variant| variant.target.as_str()).or(purl.target.as_deref())?;
    Some(match matched {
        Match::Exact(_) => exact(target, query, policy),
        Match::Prefix(purl, tail) => partial(target, purl.kind, *tail, query, policy),
    })
}

/// The address for a name that was asked for exactly.
pub fn exact(target: &str, query: Option<&str>, policy: QueryPolicy) -> String {
    with_query(target.to_owned(), query, policy)
}

/// The address for a prefix: the target, then the tail as it was sent, or as the kind of the name rearranges it.
///
/// A slash that belongs to the tail is not doubled where the target ends in a character that already
/// awaits more (`/ # ? = &`): `ns` to `https://e.org/ns#` answers `/ns/Thing` with `https://e.org/ns#Thing`.
pub fn partial(target: &str, kind: Kind, tail: Tail<'_>, query: Option<&str>, policy: QueryPolicy) -> String {
    let mut location = target.to_owned();
    let awaits_more = target.ends_with(['/', '#', '?', '=', '&']);
    if is_bare_authority(target) || (tail.own_slash && !awaits_more) {
        location.push('/');
    }
    location.push_str(&header_safe(&kind.tail(tail.raw)));
    with_query(location, query, policy)
}

/// The address for the prefix of a rule: the target with the tail put behind it as it was sent.
pub fn appended(target: &str, raw_tail: &str, query: Option<&str>, policy: QueryPolicy) -> String {
    let slash = if is_bare_authority(target) && !raw_tail.is_empty() { "/" } else { "" };
    with_query(format!("{target}{slash}{}", header_safe(raw_tail)), query, policy)
}

/// Whether nothing follows the host, so that text appended would become part of it.
fn is_bare_authority(target: &str) -> bool {
    target.split_once("://").is_some_and(|(_, rest)| !rest.contains(['/', '?', '#']))
}

/// Adds the client's query before the fragment, as the policy says.
fn with_query(location: String, query: Option<&str>, policy: QueryPolicy) -> String {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return location };
    let (address, fragment) = match location.find('#') {
        Some(at) => location.split_at(at),
        None => (location.as_str(), ""),
    };
    let address = match policy {
        QueryPolicy::Drop => return location,
        QueryPolicy::Forward => Cow::Borrowed(address),
        QueryPolicy::Merge => without_keys_of(address, query),
    };
    let joint = match address.find('?') {
        None => "?",
        Some(_) if address.ends_with(['?', '&']) => "",
        Some(_) => "&",
    };
    format!("{address}{joint}{}{fragment}", header_safe(query))
}

/// The address without those of its parameters that the client sends too. What stays is not rewritten.
fn without_keys_of<'a>(address: &'a str, query: &str) -> Cow<'a, str> {
    let Some((path, own)) = address.split_once('?') else { return Cow::Borrowed(address) };
    let sent: Vec<Vec<u8>> = query.split('&').map(key).collect();
    let kept: Vec<&str> = own.split('&').filter(|pair| !sent.contains(&key(pair))).collect();
    if kept.is_empty() { Cow::Borrowed(path) } else { Cow::Owned(format!("{path}?{}", kept.join("&"))) }
}

/// The name of a `name=value` pair, decoded for comparison only.
fn key(pair: &str) -> Vec<u8> {
    let name = pair.split('=').next().unwrap_or_default();
    percent_decode_str(&name.replace('+', " ")).collect()
}

/// The text itself; only bytes that no header can carry are percent-encoded.
pub(super) fn header_safe(text: &str) -> Cow<'_, str> {
    Cow::from(percent_encode(text.as_bytes(), UNSAFE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use QueryPolicy::{Drop, Forward, Merge};

    fn under(target: &str, raw: &str) -> String {
        partial(target, Kind::Partial, Tail { raw, own_slash: false }, None, Forward)
    }

    fn behind(target: &str, raw: &str) -> String {
        partial(target, Kind::Partial, Tail { raw, own_slash: true }, None, Forward)
    }

    #[test]
    fn the_tail_follows_the_target_as_it_was_sent() {
        let tail = Tail { raw: "foo/bar", own_slash: false };
        assert_eq!(
            partial("http://example.com/t/", Kind::Partial, tail, Some("x=1"), Forward),
            "http://example.com/t/foo/bar?x=1"
        );
        for raw in ["https%3A%2F%2Fw3id.org%2Fx", "a%23b%3Fc+d", "x%0d%0aSet-Cookie:a", "//x", "%E9", "100%"]
        {
            assert_eq!(under("http://example.com/t/", raw), format!("http://example.com/t/{raw}"));
        }
    }

    #[test]
    fn a_slash_is_neither_lost_nor_doubled() {
        assert_eq!(behind("http://e.org/t", "a"), "http://e.org/t/a");
        assert_eq!(behind("http://e.org/t/", "a"), "http://e.org/t/a");
        assert_eq!(behind("http://e.org/t/", "/a"), "http://e.org/t//a");
        assert_eq!(under("http://e.org/t/", "/a"), "http://e.org/t//a");
        assert_eq!(behind("http://e.org/ns#", "Thing"), "http://e.org/ns#Thing");
        assert_eq!(behind("http://e.org/?id=", "42"), "http://e.org/?id=42");
    }

    #[test]
    fn a_tail_cannot_reach_the_host() {
        assert_eq!(under("http://e.org", ".evil.example/"), "http://e.org/.evil.example/");
        assert_eq!(under("http://e.org", "@evil.example"), "http://e.org/@evil.example");
        assert_eq!(behind("http://e.org", "x"), "http://e.org/x");
        assert_eq!(under("http://e.org?u=", "x"), "http://e.org?u=x");
    }

    #[test]
    fn the_query_goes_before_the_fragment() {
        assert_eq!(exact("http://e.org/a#f", Some("x=1"), Forward), "http://e.org/a?x=1#f");
        assert_eq!(exact("http://e.org/a?b=c#f?g", Some("x=1"), Forward), "http://e.org/a?b=c&x=1#f?g");
        assert_eq!(exact("http://e.org/a?", Some("x=1"), Forward), "http://e.org/a?x=1");
        assert_eq!(exact("http://e.org/a?b&", Some("x"), Forward), "http://e.org/a?b&x");
        assert_eq!(exact("http://e.org/a", Some(""), Forward), "http://e.org/a");
        assert_eq!(
            exact("http://e.org/a?b=c", Some("x=%2B+%20&b=d"), Forward),
            "http://e.org/a?b=c&x=%2B+%20&b=d"
        );
    }

    #[test]
    fn drop_and_merge_do_what_they_say() {
        assert_eq!(exact("http://e.org/a?b=c", Some("x=1"), Drop), "http://e.org/a?b=c");
        assert_eq!(exact("http://e.org/a?b=c&d=%2B#f", Some("b=2&x"), Merge), "http://e.org/a?d=%2B&b=2&x#f");
        assert_eq!(exact("http://e.org/a?a+b=c", Some("a%20b=2"), Merge), "http://e.org/a?a%20b=2");
    }

    #[test]
    fn raw_bytes_above_ascii_are_encoded_not_mangled() {
        assert_eq!(under("http://e.org/", "구"), "http://e.org/%EA%B5%AC");
        assert_eq!(exact("http://e.org/", Some("q=é"), Forward), "http://e.org/?q=%C3%A9");
    }

    proptest! {
        #[test]
        fn a_printable_tail_arrives_unchanged(raw in "[!-~]{0,40}", own_slash: bool) {
            let location = partial("http://e.org/t/", Kind::Partial, Tail { raw: &raw, own_slash }, None, Forward);
            prop_assert_eq!(location, format!("http://e.org/t/{raw}"));
        }

        #[test]
        fn no_location_has_a_control_byte_or_loses_its_host(
            target in "https?://e[.]org(/[!-~]{0,9})?", raw in "\\PC{0,9}[\\x00-\\x20]?\\PC{0,9}",
            query in proptest::option::of("[^#]{0,20}"), own_slash: bool,
            policy in prop_oneof![Just(Drop), Just(Forward), Just(Merge)],
            kind in proptest::sample::select(&Kind::ALL[..]),
        ) {
            let location = partial(&target, kind, Tail { raw: &raw, own_slash }, query.as_deref(), policy);
            prop_assert!(location.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
            let (_, rest) = location.split_once("://").unwrap();
            prop_assert_eq!(rest.split(['/', '?', '#']).next().unwrap(), "e.org");
            prop_assert!(!location.starts_with("//"));
        }
    }
}
