//! Reads a JSON body and collects every fault in it at once: missing and unknown fields, wrong types, values that
//! a field's own rule refuses. Nothing reaches a feature before the whole body is right.

use std::error::Error;

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use http::header;
use http_body_util::LengthLimitError;
use serde_json::{Map, Value};

use super::arrival::Arrival;
use super::json::Unambiguous;
use super::problem::{Fault, Problem};
use super::problem_codes as codes;

/// A body that is a JSON object. 415 without a JSON content type, 413 too large, 400 not JSON, 422 not an object.
#[derive(Debug)]
pub struct JsonObject(pub Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(is_json) {
            return Err(Problem::new(&codes::UNSUPPORTED_MEDIA_TYPE));
        }
        parse_object(&read(request).await?).map(Self)
    }
}

/// A body that may be absent: an empty one is an empty object.
#[derive(Debug)]
pub struct OptionalJsonObject(pub Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for OptionalJsonObject {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let declared = content_type.is_some_and(is_json);
        let bytes = read(request).await?;
        if bytes.is_empty() {
            return Ok(Self(Map::new()));
        }
        if !declared {
            return Err(Problem::new(&codes::UNSUPPORTED_MEDIA_TYPE));
        }
        parse_object(&bytes).map(Self)
    }
}

/// The whole body, within the limit.
pub(super) async fn read(request: Request) -> Result<Bytes, Problem> {
    let limit = Arrival::find(request.extensions()).map_or(0, |arrival| arrival.body_limit);
    to_bytes(request.into_body(), limit).await.map_err(|error| {
        if error.source().is_some_and(<dyn Error>::is::<LengthLimitError>) {
            Problem::new(&codes::BODY_TOO_LARGE)
        } else {
            Problem::new(&codes::BAD_JSON).detail("the body could not be read to its end")
        }
    })
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
        || (essence.to_ascii_lowercase().starts_with("application/")
            && essence.to_ascii_lowercase().ends_with("+json"))
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    match serde_json::from_slice::<Unambiguous>(bytes).map(|Unambiguous(value)| value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::new(&codes::INVALID).fault("", "expected an object")),
        Err(error) => Err(Problem::new(&codes::BAD_JSON).detail(error.to_string())),
    }
}

impl JsonObject {
    /// A reader over the fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.0, String::new())
    }
}

impl OptionalJsonObject {
    /// A reader over the fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.0, String::new())
    }
}

/// Stands for a field whose fault has been noted; [`Fields::finish`] reports it.
#[derive(Clone, Copy, Debug)]
pub struct Faulty;

impl From<Faulty> for Problem {
    fn from(_: Faulty) -> Self {
        Self::new(&codes::INVALID)
    }
}

/// Most unknown fields of one object that are named one by one.
const MOST_UNKNOWN: usize = 20;

/// Reads fields one by one and remembers every fault.
#[derive(Debug)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    pointer: String,
    known: Vec<&'static str>,
    faults: Vec<Fault>,
}

impl<'a> Fields<'a> {
    /// A reader over `object`, which stands at `pointer` in the body.
    pub fn new(object: &'a Map<String, Value>, pointer: String) -> Self {
        Self { object, pointer, known: Vec::new(), faults: Vec::new() }
    }

    /// A field that must be there.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a Value) -> Result<T, String>,
    ) -> Result<T, Faulty> {
        match self.optional(name, parse) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.fault(name, "is required")),
            Err(faulty) => Err(faulty),
        }
    }

    /// A field that may be absent or null.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a Value) -> Result<T, String>,
    ) -> Result<Option<T>, Faulty> {
        self.known.push(name);
        match self.object.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => parse(value).map(Some).map_err(|detail| self.fault(name, detail)),
        }
    }

    /// An array whose items are read one by one with their own pointers; absent is a fault.
    pub fn each<T>(
        &mut self,
        name: &'static str,
        sizes: std::ops::RangeInclusive<usize>,
        mut item: impl FnMut(&'a Value, &str, &mut Vec<Fault>) -> Option<T>,
    ) -> Result<Vec<T>, Faulty> {
        self.known.push(name);
        let values = match self.object.get(name) {
            Some(Value::Array(values)) => values,
            None => return Err(self.fault(name, "is required")),
            Some(_) => return Err(self.fault(name, "must be an array")),
        };
        if !sizes.contains(&values.len()) {
            return Err(self.fault(
                name,
                format!("must have {} to {} items, has {}", sizes.start(), sizes.end(), values.len()),
            ));
        }
        let before = self.faults.len();
        let mut items = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let pointer = format!("{}/{name}/{index}", self.pointer);
            items.extend(item(value, &pointer, &mut self.faults));
        }
        if self.faults.len() == before { Ok(items) } else { Err(Faulty) }
    }

    /// The same, where an absent array, or null, is an empty one.
    pub fn each_if_given<T>(
        &mut self,
        name: &'static str,
        sizes: std::ops::RangeInclusive<usize>,
        item: impl FnMut(&'a Value, &str, &mut Vec<Fault>) -> Option<T>,
    ) -> Result<Vec<T>, Faulty> {
        if matches!(self.object.get(name), None | Some(Value::Null)) {
            self.known.push(name);
            return Ok(Vec::new());
        }
        self.each(name, sizes, item)
    }

    /// Notes a fault that no single field's rule sees.
    pub fn fault(&mut self, name: &str, detail: impl Into<String>) -> Faulty {
        let name = name.replace('~', "~0").replace('/', "~1");
        self.faults.push(Fault { pointer: format!("{}/{name}", self.pointer), detail: detail.into() });
        Faulty
    }

    /// Ends reading: every fault, fields that nobody asked for included (of very many the first ones: an
    /// answer must not be many times the size of the body).
    pub fn faults(mut self) -> Vec<Fault> {
        let unknown: Vec<&String> = self
            .object
            .keys()
            .filter(|key| !self.known.contains(&key.as_str()))
            .take(MOST_UNKNOWN + 1)
            .collect();
        let known = self.known.join(", ");
        for key in unknown.iter().take(MOST_UNKNOWN) {
            self.fault(key, format!("is not a field here (known: {known})"));
        }
        if unknown.len() > MOST_UNKNOWN {
            let detail = format!("has still more fields that are none here (known: {known})");
            self.faults.push(Fault { pointer: self.pointer, detail });
        }
        self.faults
    }

    /// Ends reading: 422 with every fault, or nothing.
    pub fn finish(self) -> Result<(), Problem> {
        let faults = self.faults();
        if faults.is_empty() { Ok(()) } else { Err(Problem::new(&codes::INVALID).faults(faults)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;
    use serde_json::json;

    #[test]
    fn every_fault_is_reported_at_once_with_its_pointer() {
        let Value::Object(object) = json!({"title": 3, "a/b": 1, "until": "yesterday"}) else {
            unreachable!()
        };
        let mut reader = Fields::new(&object, String::new());
        let _ = reader.required("title", fields::text(1..=10));
        let _ = reader.required("target", fields::string);
        let _ = reader.optional("until", fields::instant);
        let faults = reader.faults();
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/title", "/target", "/until", "/a~1b"]);
    }

    #[test]
    fn items_of_an_array_have_pointers_of_their_own() {
        let Value::Object(object) = json!({"options": ["a", 2, "c", {}]}) else { unreachable!() };
        let mut reader = Fields::new(&object, String::new());
        let read = reader.each("options", 1..=5, |value, pointer, faults| {
            fields::item(fields::string(value), pointer, faults)
        });
        assert!(read.is_err());
        let pointers: Vec<String> = reader.faults().into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(pointers, ["/options/1", "/options/3"]);
    }
}
