//! Rules for single JSON values, used with [`super::body::Fields`]. Each says what it expected.

use std::ops::RangeInclusive;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::problem::Fault;
use crate::ids;

/// Any string that PostgreSQL's `text` can hold: none with U+0000.
pub fn string(value: &Value) -> Result<&str, String> {
    let text = value.as_str().ok_or_else(|| "must be a string".to_owned())?;
    if text.contains('\0') { Err("must not contain U+0000".to_owned()) } else { Ok(text) }
}

/// A string for people: its length in characters in `length`, no control characters but tab and newline,
/// and not only white space unless it may be empty.
pub fn text(length: RangeInclusive<usize>) -> impl FnOnce(&Value) -> Result<String, String> {
    move |value| {
        let text = string(value)?;
        let count = text.chars().count();
        if !length.contains(&count) {
            return Err(format!("must have {} to {} characters, has {count}", length.start(), length.end()));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err("must not contain control characters".to_owned());
        }
        if *length.start() > 0 && text.trim().is_empty() {
            return Err("must not be blank".to_owned());
        }
        Ok(text.to_owned())
    }
}

/// true or false.
pub fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "must be true or false".to_owned())
}

/// A whole JSON number in `range`.
pub fn integer(range: RangeInclusive<i64>) -> impl FnOnce(&Value) -> Result<i64, String> {
    move |value| {
        let number = value.as_i64().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }
}

/// A 64-bit id as a string of digits, in its only spelling.
pub fn id(value: &Value) -> Result<i64, String> {
    let id = value.as_str().and_then(ids::parse);
    id.ok_or_else(|| "must be an id: a positive 64-bit number as a string of digits".to_owned())
}

/// An instant in RFC 3339 with an offset, such as `2026-11-30T20:00:00Z` or `2020-09-04T10:48:00+03:00`. In UTC, as
/// which it is answered, its year must be one that RFC 3339 can write, too. Cut to microseconds, as PostgreSQL keeps it.
pub fn instant(value: &Value) -> Result<OffsetDateTime, String> {
    let text = string(value)?;
    let instant = OffsetDateTime::parse(text, &Rfc3339);
    let instant = instant.ok().and_then(|at| at.checked_to_offset(time::UtcOffset::UTC));
    let instant = instant.and_then(|at| at.replace_microsecond(at.microsecond()).ok());
    instant.filter(|at| (0..=9999).contains(&at.year())).ok_or_else(|| {
        "must be an instant in RFC 3339 with an offset, such as 2026-11-30T20:00:00Z".to_owned()
    })
}

/// One of a few words.
pub fn one_of<'w>(
    words: &'w [&'static str],
) -> impl FnOnce(&Value) -> Result<&'static str, String> + use<'w> {
    move |value| {
        let found = value.as_str().and_then(|text| words.iter().find(|word| **word == text));
        found.copied().ok_or_else(|| format!("must be one of {}", words.join(", ")))
    }
}

/// For items of an array: the value, or its fault noted at `pointer`.
pub fn item<T>(result: Result<T, String>, pointer: &str, faults: &mut Vec<Fault>) -> Option<T> {
    result.map_err(|detail| faults.push(Fault { pointer: pointer.to_owned(), detail })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_instant_keeps_its_offset_and_one_without_is_refused() {
        let at = instant(&json!("2020-09-04T10:48:00+03:00")).expect("valid");
        assert_eq!(at.format(&Rfc3339).expect("formats"), "2020-09-04T07:48:00Z");
        assert!(instant(&json!("2020-09-04T10:48:00")).is_err());
        assert!(instant(&json!("x")).is_err());
    }

    #[test]
    fn an_instant_that_utc_moves_out_of_the_calendar_is_refused() {
        for text in ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01"] {
            assert!(instant(&json!(text)).is_err(), "{text}");
        }
        for text in ["9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"] {
            assert_eq!(instant(&json!(text)).expect(text).format(&Rfc3339).expect("formats"), text);
        }
    }

    #[test]
    fn a_string_with_a_zero_character_is_refused() {
        assert!(string(&json!("a\u{0}b")).is_err());
        assert_eq!(string(&json!("a\u{1}b")), Ok("a\u{1}b"));
    }

    #[test]
    fn ids_are_strings_of_digits_within_64_bits() {
        assert_eq!(id(&json!("9223372036854775807")), Ok(i64::MAX));
        for bad in [
            json!(5),
            json!("0"),
            json!("-1"),
            json!("+1"),
            json!("01"),
            json!("9223372036854775808"),
            json!(""),
        ] {
            assert!(id(&bad).is_err(), "{bad}");
        }
    }
}
