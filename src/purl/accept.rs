//! Reads `Accept` and `Accept-Language`, and says how well a type or a language is covered by them. What cannot be
//! read in a header is passed over, element by element, as if it had not been sent.

/// Longest text of a media type.
const MAX_BYTES: usize = 255;

/// A media type with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    text: String,
    main: String,
    sub: String,
    parameters: Vec<(String, String)>,
}

/// Why a text is no media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a media type such as text/turtle, without wildcards and without q, at most 255 bytes")]
pub struct NoMediaType;

impl MediaType {
    /// Reads the media type of a variant.
    pub fn parse(text: &str) -> Result<Self, NoMediaType> {
        let range = MediaRange::parse(text).filter(|_| text.len() <= MAX_BYTES && text.is_ascii());
        match range {
            Some(MediaRange { main, sub, parameters, weight: None }) if main != "*" && sub != "*" => {
                Ok(Self { text: text.to_owned(), main, sub, parameters })
            }
            _ => Err(NoMediaType),
        }
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Type, subtype and parameters in one spelling: two that are equal cannot be told apart by a request.
    pub fn key(&self) -> (String, Vec<(String, String)>) {
        let mut parameters = self.parameters.clone();
        parameters.sort();
        (format!("{}/{}", self.main, self.sub), parameters)
    }
}

/// An element of `Accept`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRange {
    main: String,
    sub: String,
    parameters: Vec<(String, String)>,
    /// Thousandths, if it states a weight.
    weight: Option<u16>,
}

impl MediaRange {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = split(text, ';').into_iter().map(str::trim);
        let (main, sub) = parts.next()?.split_once('/')?;
        if !is_token(main) || !is_token(sub) || (main == "*" && sub != "*") {
            return None;
        }
        let mut range = Self {
            main: main.to_ascii_lowercase(),
            sub: sub.to_ascii_lowercase(),
            parameters: Vec::new(),
            weight: None,
        };
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=')?;
            let name = name.trim().to_ascii_lowercase();
            if !is_token(&name) {
                return None;
            }
            if name == "q" {
                // What follows the weight belongs to no media type.
                range.weight = Some(thousandths(value.trim()));
                break;
            }
            range.parameters.push((name, unquoted(value.trim())?));
        }
        Some(range)
    }

    /// How exactly it covers a type, if it does. `charset` says nothing of the kind of a thing.
    fn covers(&self, media_type: &MediaType) -> Option<u8> {
        if self.main == "*" {
            return Some(0);
        }
        if self.main != media_type.main {
            return None;
        }
        if self.sub == "*" {
            return Some(1);
        }
        if self.sub != media_type.sub {
            return None;
        }
        let mut exactness = 2_u8;
        for (name, value) in self.parameters.iter().filter(|(name, _)| name != "charset") {
            match media_type.parameters.iter().find(|(stated, _)| stated == name) {
                Some((_, stated)) if stated == value => exactness = exactness.saturating_add(1),
                Some(_) => return None,
                None => {}
            }
        }
        Some(exactness)
    }
}

/// An element of `Accept-Language`: a language tag in lower case, or `*`.
pub type LanguageRange = String;

/// How well something is covered: the weight in thousandths of the range that covers it most exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Of 1,000.
    pub weight: u16,
    /// 0: by a wildcard for everything, or because nothing was asked for.
    pub exactness: u8,
}

impl Rank {
    /// Of what the request says nothing about.
    pub const UNASKED: Self = Self { weight: 1000, exactness: 0 };
}

/// The ranges of `Accept` with their weights.
pub fn media_ranges(header: &str) -> Vec<(MediaRange, u16)> {
    let ranges = split(header, ',').into_iter().filter_map(MediaRange::parse);
    ranges.map(|range| (range.weight.unwrap_or(1000), range)).map(|(weight, range)| (range, weight)).collect()
}

/// The ranges of `Accept-Language` with their weights.
pub fn language_ranges(header: &str) -> Vec<(LanguageRange, u16)> {
    let range = |element: &str| {
        let (tag, weight) = element.split_once(';').unwrap_or((element, "q=1"));
        let weight = weight.trim().strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?;
        let tag = tag.trim().to_ascii_lowercase();
        (tag == "*" || is_language(&tag)).then(|| (tag, thousandths(weight.trim())))
    };
    header.split(',').filter_map(range).collect()
}

/// How well a type is covered; `None`: by no range.
pub fn rank_of_type(media_type: &MediaType, ranges: &[(MediaRange, u16)]) -> Option<Rank> {
    best(ranges.iter().filter_map(|(range, weight)| Some((range.covers(media_type)?, *weight))))
}

/// How well a language is covered; `None`: by no range. A range covers its tag and those below it (RFC 4647, 3.3.1);
/// if it is more exact than the tag, it stands for the tag as well, as in a look-up (3.4), but less exactly.
pub fn rank_of_language(language: &str, ranges: &[(LanguageRange, u16)]) -> Option<Rank> {
    let language = language.to_ascii_lowercase();
    let below = |tag: &str, range: &str| {
        tag.strip_prefix(range).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    best(ranges.iter().filter_map(|(range, weight)| {
        let exactness = match range.as_str() {
            "*" => 0,
            range if below(&language, range) => 1 + subtags(range),
            range if below(range, &language) => 1,
            _ => return None,
        };
        Some((exactness, *weight))
    }))
}

/// Whether a text has the form of a language tag.
pub fn is_language(tag: &str) -> bool {
    let subtag =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let first = tag.split('-').next().unwrap_or_default();
    tag.len() <= 64 && first.bytes().all(|byte| byte.is_ascii_alphabetic()) && tag.split('-').all(subtag)
}

fn subtags(range: &str) -> u8 {
    u8::try_from(range.split('-').count()).unwrap_or(u8::MAX - 1)
}

/// The most exact range counts; of equally exact ones the one with the most weight.
fn best(covering: impl Iterator<Item = (u8, u16)>) -> Option<Rank> {
    covering.max().map(|(exactness, weight)| Rank { weight, exactness })
}

/// Splits at a character that stands in no quoted string.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = text.split(move |character: char| {
        let divides = !quoted && character == at;
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        divides
    });
    parts.collect()
}

/// The value of a parameter, a token or a quoted string.
fn unquoted(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix('"') else { return is_token(value).then(|| value.to_owned()) };
    let inner = inner.strip_suffix('"')?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(characters.next()?),
            '"' => return None,
            other if other.is_control() => return None,
            other => text.push(other),
        }
    }
    Some(text)
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// `0.5` is 500. A malformed weight counts as nothing.
pub fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = format!("{whole}{fraction:0<3}");
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let weight = if fraction.len() > 3 || !plain { None } else { digits.parse().ok() };
    weight.filter(|weight| *weight <= 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn media_types_are_read_with_their_parameters_and_compared_whatever_their_spelling() {
        let one = MediaType::parse(r#"Text/HTML; Profile="a;b, \"c\""; level=1"#).unwrap();
        let two = MediaType::parse(r#"text/html;level="1";profile="a;b, \"c\"""#).unwrap();
        assert!(one.key() == two.key());
        assert_eq!(one.as_str(), r#"Text/HTML; Profile="a;b, \"c\""; level=1"#);
        for bad in [
            "",
            "text",
            "text/",
            "text/*",
            "*/*",
            "te xt/html",
            "text/html;q=1",
            "text/html;a",
            "text/html;a=\"b",
            "é/b",
        ] {
            assert_eq!(MediaType::parse(bad), Err(NoMediaType), "{bad}");
        }
        assert!(MediaType::parse(&format!("text/{}", "x".repeat(251))).is_err());
    }

    #[test]
    fn one_element_that_cannot_be_read_spoils_no_other() {
        let ranges = media_ranges("nonsense, */html, text/html;q=x, , text/turtle ; q=0.25 ; a=b");
        let weights: Vec<u16> = ranges.iter().map(|(_, weight)| *weight).collect();
        assert_eq!(weights, [0, 250]);
        let tags = language_ranges("de-CH-1996, 1x, *;q=0.5, en;level=1,, fr ; q=0.1");
        assert_eq!(tags, [("de-ch-1996".into(), 1000), ("*".into(), 500), ("fr".into(), 100)]);
    }

    #[test]
    fn weights_have_at_most_three_digits() {
        for (text, weight) in [
            ("1", 1000),
            ("0.5", 500),
            ("1.000", 1000),
            ("0.0001", 0),
            ("1.1", 0),
            ("-1", 0),
            ("+1", 0),
            ("", 0),
        ] {
            assert_eq!(thousandths(text), weight, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_fails_whatever_is_sent(text in "\\PC{0,80}") {
            for (_, weight) in media_ranges(&text) {
                prop_assert!(weight <= 1000);
            }
            for (_, weight) in language_ranges(&text) {
                prop_assert!(weight <= 1000);
            }
            if let Ok(parsed) = MediaType::parse(&text) {
                prop_assert_eq!(parsed.as_str(), text.as_str());
            }
        }
    }
}
