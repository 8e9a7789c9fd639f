//! The variants of a name: several targets, told apart by media type and language. How they are kept and what may be
//! one; which of them a request gets is decided by `negotiation`.

use serde_json::{Value, json};

use super::accept::{self, MediaType};
use super::target::{OwnAddress, Target};

/// Most variants of a name.
pub const MOST: usize = 24;

/// Most bytes of all their targets together: names are remembered by their number, not their size.
pub const MAX_BYTES: usize = 16_384;

/// One of several targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// What it is, if it is told apart by that.
    pub media_type: Option<MediaType>,
    /// The language it is in, if it is told apart by that.
    pub language: Option<String>,
    /// Where it is; checked as every target is.
    pub target: String,
}

/// What the database has is no list of variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no list of variants")]
pub struct Unreadable;

/// For the database, and for answers: a list of objects.
pub fn to_json(variants: &[Variant]) -> Value {
    let object = |variant: &Variant| {
        json!({
            "type": variant.media_type.as_ref().map(MediaType::as_str),
            "language": variant.language,
            "target": variant.target,
        })
    };
    variants.iter().map(object).collect()
}

/// What the database has of them: nothing for nearly every name.
pub fn stored(variants: &[Variant]) -> Option<Value> {
    (!variants.is_empty()).then(|| to_json(variants))
}

/// Those that the database has.
pub fn from_stored(column: Option<&Value>) -> Result<Vec<Variant>, Unreadable> {
    let Some(column) = column else { return Ok(Vec::new()) };
    column.as_array().ok_or(Unreadable)?.iter().map(|object| one(object).ok_or(Unreadable)).collect()
}

fn one(object: &Value) -> Option<Variant> {
    let text = |member: &str| match &object[member] {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.as_str())),
        _ => None,
    };
    let media_type = text("type")?.map(MediaType::parse).transpose().ok()?;
    let language = text("language")?.map(str::to_owned);
    Some(Variant { media_type, language, target: text("target")??.to_owned() })
}

/// Bytes of all their text together.
pub fn bytes(variants: &[Variant]) -> usize {
    let of = |variant: &Variant| {
        let media_type = variant.media_type.as_ref().map_or(0, |media_type| media_type.as_str().len());
        media_type + variant.language.as_ref().map_or(0, String::len) + variant.target.len()
    };
    variants.iter().map(of).sum()
}

/// The places of two that no request can tell apart.
pub fn indistinct(variants: &[Variant]) -> Option<(usize, usize)> {
    let key = |variant: &Variant| {
        let language = variant.language.as_ref().map(|language| language.to_ascii_lowercase());
        (variant.media_type.as_ref().map(MediaType::key), language)
    };
    let keys: Vec<_> = variants.iter().map(key).collect();
    keys.iter().enumerate().find_map(|(second, key)| {
        let first = keys[..second].iter().position(|earlier| earlier == key)?;
        Some((first, second))
    })
}

/// Whether they may be those of one name: how many, how long, told apart, and each target a target.
pub fn check(variants: &[Variant], own: &OwnAddress) -> Result<(), String> {
    if variants.len() > MOST || bytes(variants) > MAX_BYTES {
        return Err(format!("variants must be at most {MOST}, with {MAX_BYTES} bytes in all"));
    }
    if let Some((first, second)) = indistinct(variants) {
        return Err(format!("variant {second} is of the same type and language as variant {first}"));
    }
    for (place, variant) in variants.iter().enumerate() {
        if variant.media_type.is_none() && variant.language.is_none() {
            return Err(format!("variant {place} needs a type or a language, or both"));
        }
        if variant.language.as_ref().is_some_and(|tag| !accept::is_language(tag)) {
            return Err(format!("the language of variant {place} must be a tag such as en or de-CH"));
        }
        Target::parse(&variant.target, own)
            .map_err(|fault| format!("the target of variant {place}: {fault}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(media_type: Option<&str>, language: Option<&str>) -> Variant {
        Variant {
            media_type: media_type.map(|text| MediaType::parse(text).unwrap()),
            language: language.map(str::to_owned),
            target: "https://e.org/%2B".into(),
        }
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let variants = [variant(Some("text/HTML; a=\"b\""), None), variant(None, Some("de-CH"))];
        assert_eq!(from_stored(stored(&variants).as_ref()), Ok(variants.to_vec()));
        assert_eq!(stored(&[]), None);
        assert_eq!(from_stored(None), Ok(Vec::new()));
        for bad in
            [json!({}), json!([1]), json!([{"type": "text/*", "target": "x"}]), json!([{"type": null}])]
        {
            assert_eq!(from_stored(Some(&bad)), Err(Unreadable), "{bad}");
        }
    }

    #[test]
    fn variants_that_differ_in_spelling_only_are_indistinct() {
        let html = || variant(Some("text/html"), Some("de"));
        assert_eq!(indistinct(&[html(), variant(Some("text/html"), None), variant(None, Some("de"))]), None);
        assert_eq!(
            indistinct(&[variant(None, Some("de")), html(), variant(Some("Text/HTML"), Some("DE"))]),
            Some((1, 2))
        );
    }
}
