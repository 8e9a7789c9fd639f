//! The words in which features write their schemas, and what all of them share: ids, instants, the problem
//! document, entity tags, request headers. Only JSON is made here; nothing is validated by it at run time.

use serde_json::{Map, Value, json};

use super::describe::{Header, Parameter, Schema};
use super::problem_codes::{
    BAD_HEADER, CURSOR_INVALID, IDEMPOTENCY_KEY_REUSED, INVALID, PRECONDITION_FAILED, PRECONDITION_REQUIRED,
};

/// A 64-bit id.
pub const ID: Schema = Schema::new("Id", || {
    json!({
        "type": "string", "pattern": "^[1-9][0-9]{0,18}$",
        "description": "A positive 64-bit number as a string of digits.",
        "examples": ["42"],
    })
});
/// A moment.
pub const INSTANT: Schema = Schema::new("Instant", || {
    json!({
        "type": "string", "format": "date-time",
        "description": "RFC 3339 with an offset; answers are in UTC.",
        "examples": ["2026-11-30T20:00:00Z"],
    })
});
/// RFC 9457. Open, because single codes have members of their own; their documentation names them.
pub const PROBLEM: Schema = Schema::new("Problem", || {
    json!({
        "type": "object",
        "description": "A problem document (RFC 9457). Decide by `code`.",
        "required": ["type", "title", "status", "code"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference", "description": "Where the code is explained."},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
            "detail": {"type": "string"},
            "instance": {"type": "string", "description": "`urn:request:` and the id of the request."},
            "errors": array(
                object(json!({
                    "pointer": {"type": "string", "description": "JSON pointer into the body; empty: the whole."},
                    "detail": {"type": "string"},
                })),
                1,
                None,
            ),
        },
    })
});

/// The body of a route that takes none but reads one, so that a misplaced member is noticed.
pub const NOTHING: Schema = Schema::new("Nothing", || body(&[], json!({}), json!({})));

/// The shared schemas, which every document has.
pub const SHARED: &[Schema] = &[ID, INSTANT, PROBLEM];

/// The ETag of a resource that changes.
pub const ETAG: Header = Header::always("ETag", "The revision, for `If-Match`.");
/// Where a thing that was just made is read.
pub const LOCATION: Header = Header::always("Location", "Where it is read from now on.");
/// How long an answer may be kept.
pub const CACHE_CONTROL: Header = Header::always("Cache-Control", "How long the answer may be reused.");
/// For scripts of other origins.
pub const ANY_ORIGIN: Header =
    Header::always("Access-Control-Allow-Origin", "`*`: scripts of any origin may read the answer.");

const IF_MATCH_HELP: &str = "ETag of the revision that you have read, a list of them, or `*`.";
/// `If-Match` where it is honoured.
pub const IF_MATCH: Parameter =
    Parameter::header("If-Match", IF_MATCH_HELP, entity_tags, &[&BAD_HEADER, &PRECONDITION_FAILED]);
/// `If-Match` where a lost update would hurt.
pub const IF_MATCH_REQUIRED: Parameter =
    IF_MATCH.required(&[&BAD_HEADER, &PRECONDITION_FAILED, &PRECONDITION_REQUIRED]);

/// `Idempotency-Key`, of everything that creates.
pub const IDEMPOTENCY_KEY: Parameter = Parameter::header(
    "Idempotency-Key",
    "Chosen by you: with the same key the same request happens once, and a repeat gets the first answer.",
    || json!({"type": "string", "pattern": "^[!-~]{1,255}$", "examples": ["8e03978e-40d5-43e8-bc93-6894a57f9324"]}),
    &[&BAD_HEADER, &IDEMPOTENCY_KEY_REUSED],
);
/// Tells a repeat.
pub const REPLAYED: Header =
    Header::sometimes("Idempotency-Replayed", "`true`: this is the answer to an earlier request.");

/// How many rows a listing's page has at most.
pub const LIMIT: Parameter =
    Parameter::query("limit", "How many at most; default 50.", || integer(1, Some(200)));
/// Where a listing goes on.
pub const CURSOR: Parameter = Parameter {
    problems: &[&INVALID, &CURSOR_INVALID],
    ..Parameter::query("cursor", "From `next` or `prev` of another page; opaque.", string)
};
/// The headers of a listing's page.
pub const PAGE_HEADERS: &[Header] =
    &[CACHE_CONTROL, Header::sometimes("Link", "`next` and `prev` (RFC 8288), as in the body.")];

fn entity_tags() -> Value {
    json!({"type": "string", "pattern": "^(\\*|(W/)?\"[!#-~]*\"( *, *(W/)?\"[!#-~]*\")*)$", "examples": ["\"r1\""]})
}

/// An id, by reference.
pub fn id() -> Value {
    reference(ID)
}

/// A moment, by reference.
pub fn instant() -> Value {
    reference(INSTANT)
}

/// A named schema, by reference.
pub fn reference(schema: Schema) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", schema.name)})
}

/// A closed object that always has all of its members: what an answer is.
pub fn object(members: Value) -> Value {
    let names: Vec<String> = members.as_object().into_iter().flat_map(Map::keys).cloned().collect();
    closed(names.into(), members)
}

/// A closed object that needs only some of its members, with an example: what a body is.
pub fn body(required: &[&str], members: Value, example: Value) -> Value {
    let mut schema = closed(required.into(), members);
    schema["examples"] = Value::Array(vec![example]);
    schema
}

/// A closed object of which some members may be missing.
pub fn closed(required: Value, members: Value) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    if required.as_array().is_some_and(|names| !names.is_empty()) {
        schema["required"] = required;
    }
    schema["properties"] = members;
    schema
}

/// The same, or null.
pub fn nullable(schema: Value) -> Value {
    let mut either = json!({"anyOf": [{"type": "null"}]});
    if let Some(ways) = either["anyOf"].as_array_mut() {
        ways.insert(0, schema);
    }
    either
}

/// Any text.
pub fn string() -> Value {
    json!({"type": "string"})
}

/// Text of this many characters; not only white space unless it may be empty.
pub fn text(least: u64, most: u64) -> Value {
    let mut schema = json!({"type": "string", "minLength": least, "maxLength": most});
    if least > 0 {
        schema["pattern"] = json!("\\S");
    }
    schema
}

/// One of a few words.
pub fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// `true` or `false`.
pub fn boolean() -> Value {
    json!({"type": "boolean"})
}

/// A whole number.
pub fn integer(least: i64, most: Option<i64>) -> Value {
    let mut schema = json!({"type": "integer", "minimum": least});
    if let Some(most) = most {
        schema["maximum"] = most.into();
    }
    schema
}

/// A list.
pub fn array(items: Value, least: u64, most: Option<u64>) -> Value {
    let mut schema = json!({"type": "array", "minItems": least});
    schema["items"] = items;
    if let Some(most) = most {
        schema["maxItems"] = most.into();
    }
    schema
}

/// A page of a listing.
pub fn page(item: Value) -> Value {
    let address = |help: &str| about(nullable(json!({"type": "string", "format": "uri-reference"})), help);
    object(json!({
        "items": array(item, 0, Some(200)),
        "next": address("The page after; null: there was nothing behind this one."),
        "prev": address("The page before; null: this is the first."),
    }))
}

/// A UUID.
pub fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

/// A schema with a sentence on what it is.
pub fn about(mut schema: Value, help: &str) -> Value {
    schema["description"] = help.into();
    schema
}
