//! The target of a PURL: stored and emitted byte for byte. A parsed copy only validates. Whatever could
//! not travel unchanged in a `Location` header is refused here with the reason: white space at the ends is
//! stripped by HTTP, and characters outside ASCII are read as Latin-1 by one client and as UTF-8 by the
//! next (a URI has none of them, RFC 3986), so the answer names the percent-encoded form to use instead.

use std::fmt;

use url::{Host, Url};

/// Longest target in bytes.
pub const MAX_BYTES: usize = 8192;

/// Why a text is no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetFault {
    /// Nothing there.
    #[error("the target is empty")]
    Missing,
    /// Longer than [`MAX_BYTES`].
    #[error("the target has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLong(usize),
    /// A control character, line ends and tabs included.
    #[error("the target has the control character U+{0:04X}")]
    Control(u32),
    /// A blank anywhere.
    #[error("the target has white space; inside a path or query write it as %20")]
    WhiteSpace,
    /// A character that a URI cannot carry.
    #[error("the target has {0:?}; a URI is ASCII only, write it percent-encoded{1}")]
    NotAscii(char, String),
    /// No scheme and `://`.
    #[error("the target must be absolute and begin with http:// or https://")]
    NotAbsolute,
    /// Another scheme than http and https.
    #[error("the scheme {0:?} is not allowed; targets begin with http:// or https://")]
    Scheme(String),
    /// The part after `://` names no host that every client would read alike.
    #[error("the target names no valid host: {0}")]
    Host(String),
    /// Two slashes before a path name another server.
    #[error("a path of this server begins with one slash")]
    SchemeRelative,
    /// It points back here, which would be a loop or a hidden alias.
    #[error("the target is on this server itself")]
    OwnAddress,
}

/// Where this server is reached, so that no target points back at it.
#[derive(Debug, Clone)]
pub struct OwnAddress {
    host: Option<Host>,
    port: Option<u16>,
    default_port: bool,
}

impl OwnAddress {
    /// From the public address of the configuration; an unreadable one refuses nothing.
    pub fn new(public_url: &str) -> Self {
        let url = Url::parse(public_url).ok();
        let host = url.as_ref().and_then(|url| url.host().map(|host| canonical(&host.to_owned())));
        let port = url.as_ref().and_then(Url::port_or_known_default);
        Self { host, port, default_port: url.is_some_and(|url| url.port().is_none()) }
    }

    /// Whether a URL is on this server: the same host, and the same port or, with a default port here, the
    /// default port of the other scheme (both lead to the same site). All loopback
    /// addresses, and the unspecified one that a server listens on, are one host.
    fn holds(&self, url: &Url) -> bool {
        let (Some(own), Some(host)) = (&self.host, url.host()) else { return false };
        let host = canonical(&host.to_owned());
        let same_host = *own == host || (is_loopback(own) && is_loopback(&host));
        same_host && (url.port_or_known_default() == self.port || (self.default_port && url.port().is_none()))
    }
}

/// One form of a host: `example.org.` is `example.org`, and an IPv4 address in IPv6 clothes is that address.
fn canonical(host: &Host) -> Host {
    match host {
        Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(*address), Host::Ipv4),
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Host::Ipv4(address) => Host::Ipv4(*address),
    }
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    }
}

/// A valid target, exactly as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    text: String,
    host: String,
}

impl Target {
    /// Checks a target. Nothing is normalised: what comes out of [`Target::as_str`] is what went in.
    pub fn parse(text: &str, own: &OwnAddress) -> Result<Self, TargetFault> {
        check_characters(text)?;
        let url = absolute(text)?;
        if own.holds(&url) {
            return Err(TargetFault::OwnAddress);
        }
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        Ok(Self { text: text.to_owned(), host })
    }

    /// Checks what a rule leads to. Configurations of Apache write hosts in their own letters; these are sent as they are.
    pub fn check_of_rule(text: &str, own: &OwnAddress) -> Result<(), TargetFault> {
        let host =
            text.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_ascii() {
            return Self::parse(text, own).map(|_| ());
        }
        let letters: String =
            host.chars().map(|letter| if letter.is_ascii() { letter } else { 'x' }).collect();
        let url = Url::parse(text).map_err(|error| TargetFault::Host(error.to_string()))?;
        if own.holds(&url) {
            Err(TargetFault::OwnAddress)
        } else {
            Self::parse(&text.replacen(host, &letters, 1), own).map(|_| ())
        }
    }

    /// Checks a path of this server that a rule may lead to: one slash, and what a target may have.
    pub fn check_own_path(text: &str) -> Result<(), TargetFault> {
        check_characters(text)?;
        let rest = text.strip_prefix('/').ok_or(TargetFault::NotAbsolute)?;
        if rest.starts_with(['/', '\\']) { Err(TargetFault::SchemeRelative) } else { Ok(()) }
    }

    /// The bytes that `Location` carries.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Lower-case host, for blocks and search only.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Length and characters, whatever they say.
fn check_characters(text: &str) -> Result<(), TargetFault> {
    if text.is_empty() {
        return Err(TargetFault::Missing);
    }
    if text.len() > MAX_BYTES {
        return Err(TargetFault::TooLong(text.len()));
    }
    for character in text.chars() {
        match character {
            _ if character.is_control() => return Err(TargetFault::Control(u32::from(character))),
            _ if character.is_whitespace() => return Err(TargetFault::WhiteSpace),
            _ if !character.is_ascii() => return Err(TargetFault::NotAscii(character, hint(text))),
            _ => {}
        }
    }
    Ok(())
}

/// The same address as a URI, for the person who pasted it from a browser's address line.
fn hint(text: &str) -> String {
    absolute(text).map_or_else(|_| String::new(), |url| format!(": {url}"))
}

/// Demands the literal form `scheme://authority…` before the lenient parser sees it: that parser also takes
/// `https:/host`, `https:\\host` and `https:///host`, which other clients read as another place.
fn absolute(text: &str) -> Result<Url, TargetFault> {
    let (scheme, rest) = text.split_once(':').ok_or(TargetFault::NotAbsolute)?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return Err(TargetFault::NotAbsolute);
    }
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(TargetFault::Scheme(scheme.to_ascii_lowercase()));
    }
    let rest = rest.strip_prefix("//").ok_or(TargetFault::NotAbsolute)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(TargetFault::Host("it is empty".to_owned()));
    }
    if authority.contains('\\') {
        return Err(TargetFault::Host("it has a backslash".to_owned()));
    }
    Url::parse(text).map_err(|error| TargetFault::Host(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Target, TargetFault> {
        Target::parse(text, &OwnAddress::new("https://purl.example.org"))
    }

    #[test]
    fn targets_that_other_products_rewrote_stay_as_they_are() {
        for text in [
            "https://example.org/?abc+123",
            "https://example.com/?123=foo",
            "https://guides.apple.com/?ug=CglE%2BGA%2BZ%3D",
            "https://example.com?email=test%2B123%40example.com",
            "http://linksredirect.com?pub_id=28CL11&url=https://paytm.com/dth",
            "HTTPS://EXAMPLE.org/A/../b/./%zz{x}|^[y]",
            "http://user@example.org:080/",
        ] {
            assert_eq!(parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn dangerous_schemes_are_refused_in_any_disguise() {
        for text in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "\tjavascript:alert(1)",
            "java\tscript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "javascript://example.org/%0aalert(1)",
            "ftp://example.org/",
            "mailto:a@example.org",
            "blob:https://example.org/x",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert_eq!(parse("JaVaScRiPt:x"), Err(TargetFault::Scheme("javascript".to_owned())));
    }

    #[test]
    fn relative_and_half_absolute_targets_are_refused() {
        for text in [
            "",
            "/x",
            "//example.org/x",
            "/\\example.org",
            "example.org/x",
            "https:",
            "https:/example.org",
            "https:example.org",
            "https://",
            "https:///example.org",
            "https:\\\\example.org",
            "http://?x",
            "https://good.example\\@evil.example/",
            "https://exa%20mple.org/",
            "http://[::1",
            "http://a:99999/",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn white_space_controls_and_line_ends_are_refused() {
        for text in [
            "https://e.org/\r\nSet-Cookie:a",
            "https://e.org/a b",
            "https://e.org/ ",
            " https://e.org/",
            "https://e.org/\u{0}",
            "https://e.org/\u{85}",
            "https://e.org/\u{a0}x",
            "https://e.org/\u{2028}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn letters_outside_ascii_are_refused_with_the_form_to_use() {
        let fault = parse("https://de.example.org/Käse").unwrap_err().to_string();
        assert!(fault.ends_with("https://de.example.org/K%C3%A4se"), "{fault}");
    }

    #[test]
    fn the_length_limit_is_8192_bytes() {
        let base = "https://e.org/";
        assert!(parse(&format!("{base}{}", "a".repeat(MAX_BYTES - base.len()))).is_ok());
        assert_eq!(parse(&format!("{base}{}", "a".repeat(MAX_BYTES))), Err(TargetFault::TooLong(8206)));
    }

    #[test]
    fn this_server_is_no_target() {
        for text in [
            "https://purl.example.org/x",
            "http://PURL.example.org./x",
            "https://purl.example.org:443",
            "http://purl.example.org:80/",
            "https://u:p@purl.example.org/",
        ] {
            assert_eq!(parse(text), Err(TargetFault::OwnAddress), "{text}");
        }
        assert!(parse("https://purl.example.org:8443/x").is_ok());
        assert!(parse("https://other.example.org/?u=https://purl.example.org/").is_ok());
        let local = OwnAddress::new("http://localhost:8080");
        assert!(Target::parse("http://127.0.0.1:8080/x", &local).is_err());
        assert!(Target::parse("http://127.0.0.1:8081/x", &local).is_ok());
        assert!(Target::parse("http://localhost:8080/x", &OwnAddress::new("http://0.0.0.0:8080")).is_err());
        assert!(Target::parse("http://[::ffff:127.0.0.1]:8080/x", &local).is_err());
        assert!(Target::parse("http://[::ffff:10.0.0.1]/x", &OwnAddress::new("http://10.0.0.1")).is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_target_is_emitted_byte_for_byte(text in "(https?|HTTP)://[a-z]{1,9}[.]org[!-~]{0,60}") {
            if let Ok(target) = parse(&text) {
                prop_assert_eq!(target.as_str(), text.as_str());
                prop_assert!(http::HeaderValue::from_str(target.as_str()).is_ok());
            }
        }

        #[test]
        fn nothing_accepted_could_split_a_header(text in "\\PC{0,20}[\\x00-\\x20\\x7f]\\PC{0,20}") {
            let target = format!("https://e.org/{text}");
            prop_assert!(parse(&target).is_err());
        }
    }
}
