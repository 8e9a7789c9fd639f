//! The field `variants`: several targets of a name, in the owner's order.

use serde_json::Value;

use super::purl_body;
use crate::http::body::{Faulty, Fields};
use crate::http::fields;
use crate::http::problem::Fault;
use crate::purl::accept::{self, MediaType};
use crate::purl::target::{OwnAddress, Target};
use crate::purl::variant::{self, Variant};

/// Reads them, noting every fault; none where the field is absent.
pub fn read(body: &mut Fields<'_>, own: &OwnAddress) -> Result<Vec<Variant>, Faulty> {
    let variants = body.each_if_given("variants", 0..=variant::MOST, |value, pointer, faults| {
        let read = one(value, pointer, own);
        read.map_err(|found| faults.extend(found)).ok()
    })?;
    if variant::bytes(&variants) > variant::MAX_BYTES {
        return Err(body.fault("variants", format!("must have at most {} bytes in all", variant::MAX_BYTES)));
    }
    if let Some((first, second)) = variant::indistinct(&variants) {
        return Err(body.fault(
            "variants",
            format!("number {second} is of the same type and language as number {first} (counted from 0)"),
        ));
    }
    Ok(variants)
}

fn one(value: &Value, pointer: &str, own: &OwnAddress) -> Result<Variant, Vec<Fault>> {
    let fault = |detail: &str| vec![Fault { pointer: pointer.to_owned(), detail: detail.to_owned() }];
    let object = value.as_object().ok_or_else(|| fault("must be an object"))?;
    let mut reader = Fields::new(object, pointer.to_owned());
    let media_type = reader.optional("type", |value| {
        MediaType::parse(fields::string(value)?).map_err(|error| error.to_string())
    });
    let language = reader.optional("language", language);
    let target = reader.required("target", |value| purl_body::target(value, own));
    let faults = reader.faults();
    match (media_type, language, target) {
        _ if !faults.is_empty() => Err(faults),
        (Ok(None), Ok(None), _) => Err(fault("needs a type or a language, or both")),
        (Ok(media_type), Ok(language), Ok(target)) => {
            Ok(Variant { media_type, language, target: target.as_str().to_owned() })
        }
        _ => Err(faults),
    }
}

fn language(value: &Value) -> Result<String, String> {
    let tag = fields::string(value)?;
    let refusal = "must be a language tag such as en or de-CH";
    accept::is_language(tag).then(|| tag.to_owned()).ok_or_else(|| refusal.to_owned())
}

/// Judges targets that were stored once: what may be one can have changed since.
pub fn still_allowed(variants: &[Variant], own: &OwnAddress) -> Result<(), String> {
    variants.iter().try_for_each(|variant| match Target::parse(&variant.target, own) {
        Ok(_) => Ok(()),
        Err(fault) => Err(format!("the target of a variant is no longer allowed: {fault}")),
    })
}
