//! What domains and names look like in bodies and answers.

use serde_json::{Value, json};

use crate::http::describe::Schema;
use crate::http::schema::{
    about, body, boolean, id, instant, integer, nullable, object, page, reference, string, text, uuid, words,
};
use crate::purl::model::{Kind, State};
use crate::purl::variant::MOST;

/// A domain.
pub const DOMAIN: Schema = Schema::new("Domain", || {
    object(json!({
        "id": id(),
        "path": about(string(), "Empty: the root domain."),
        "url": string(),
        "owner": about(string(), "Slug of the tenant."),
        "case_insensitive": boolean(),
        "trailing_slash": trailing_slash(),
        "query": query(),
        "default_status": default_status(),
        "cache_seconds": cache_seconds(),
        "created_at": instant(),
        "updated_at": instant(),
    }))
});

/// A new domain.
pub const NEW_DOMAIN: Schema = Schema::new("NewDomain", || {
    let mut members = policies();
    members["path"] = about(text_up_to(512), "At most 16 segments and 512 bytes; empty: the root domain.");
    members["tenant"] =
        about(string(), "Slug of its tenant. Required from an operator, unknown to anybody else.");
    members["shadow"] = about(nullable(boolean()), "Whether it may hide names of the domain above.");
    members["case_insensitive"] = about(nullable(boolean()), "Fixed for ever; default: false.");
    body(&["path"], members, json!({"path": "demo/reports"}))
});

/// The settings of a domain; what is left out goes back to its default.
pub const DOMAIN_SETTINGS: Schema = Schema::new("DomainSettings", || {
    let mut members = policies();
    members["case_insensitive"] = about(nullable(boolean()), "May be sent along, and must be what it is.");
    body(&[], members, json!({"trailing_slash": "strict", "cache_seconds": 60}))
});

/// A name.
pub const PURL: Schema = Schema::new("Purl", || {
    object(json!({
        "id": id(),
        "domain": string(),
        "name": string(),
        "url": string(),
        "state": state(),
        "status": shown_status(),
        "kind": kind(),
        "target": nullable(string()),
        "variants": shown_variants(),
        "valid_until": nullable(instant()),
        "reason": nullable(string()),
        "successor": nullable(string()),
        "revision": integer(1, None),
        "created_at": instant(),
        "updated_at": instant(),
    }))
});

/// A new name.
pub const NEW_PURL: Schema = Schema::new("NewPurl", || {
    let mut members = answer_members();
    members["domain"] = about(string(), "Path of its domain.");
    members["name"] = about(text(1, 1024), "1 to 1,024 bytes.");
    members["copy_of"] = about(
        nullable(string()),
        "Full path of a name, of anybody's: status, kind and target are copied from it, and are not given.",
    );
    body(
        &["domain", "name"],
        members,
        json!({"domain": "demo", "name": "hello", "target": "https://example.org/"}),
    )
});

/// How a name answers; what is left out goes back to its default.
pub const PURL_ANSWER: Schema = Schema::new("PurlAnswer", || {
    body(&[], answer_members(), json!({"target": "https://example.net/", "status": 302}))
});

/// What a tombstone tells.
pub const WITHDRAWAL: Schema = Schema::new("Withdrawal", || {
    let members = json!({"reason": nullable(text(1, 1000)), "successor": nullable(target())});
    body(&[], members, json!({"reason": "Superseded", "successor": "https://example.org/new"}))
});

/// What everybody may know of a path.
pub const INFO: Schema = Schema::new("Info", || {
    object(json!({
        "url": string(),
        "answered_by": words(&["name", "rule"]),
        "leads_to": about(nullable(string()), "Where a request without query and headers is sent."),
        "status": nullable(json!({"type": "integer"})),
        "state": nullable(state()),
        "name": nullable(string()),
        "kind": nullable(kind()),
        "target": nullable(string()),
        "variants": nullable(shown_variants()),
        "valid_until": nullable(instant()),
        "reason": nullable(string()),
        "successor": nullable(string()),
        "revision": nullable(integer(1, None)),
        "created_at": nullable(instant()),
        "updated_at": nullable(instant()),
        "domain": object(json!({
            "path": string(),
            "url": string(),
            "case_insensitive": boolean(),
            "normalization": words(&["NFC"]),
            "trailing_slash": trailing_slash(),
            "query": query(),
            "cache_seconds": cache_seconds(),
        })),
    }))
});

/// The same as linked data.
pub const INFO_LINKED: Schema =
    Schema::new("InfoLinked", || json!({"type": "object", "required": ["@context", "@id"]}));

/// Which state a name goes back to.
pub const RESTORATION: Schema = Schema::new("Restoration", || {
    let revision = about(nullable(integer(1, None)), "Default: the last one in which the name was in force.");
    body(&[], json!({"revision": revision}), json!({"revision": 1}))
});

/// A page of the states that a name has had.
pub const REVISION_PAGE: Schema = Schema::new("RevisionPage", || {
    page(object(json!({
        "revision": integer(1, None),
        "status": shown_status(),
        "kind": kind(),
        "target": nullable(string()),
        "variants": shown_variants(),
        "valid_until": nullable(instant()),
        "reason": nullable(string()),
        "successor": nullable(string()),
        "written_at": instant(),
        "written_by": nullable(uuid()),
        "superseded_at": nullable(instant()),
    })))
});

/// A page of domains.
pub const DOMAIN_PAGE: Schema = Schema::new("DomainPage", || page(reference(DOMAIN)));

/// A page of names.
pub const PURL_PAGE: Schema = Schema::new("PurlPage", || page(reference(PURL)));

/// What a name is, in a word.
pub fn state() -> Value {
    words(&State::ALL.map(State::as_str))
}

fn kind() -> Value {
    words(&Kind::ALL.map(Kind::as_str))
}

fn answer_members() -> Value {
    json!({
        "status": about(
            nullable(json!({"type": "integer", "enum": [301, 302, 303, 307, 308, 404]})),
            "Default: that of the domain. 404: it exists and answers nothing for now.",
        ),
        "kind": about(
            nullable(kind()),
            "Default: `plain`. The others answer for everything below the name, too: the tail is put behind the target as it is, or with its extension appended, ignored or replaced.",
        ),
        "target": about(nullable(target()), "Required, except with status 404."),
        "variants": about(
            nullable(json!({"type": "array", "maxItems": MOST, "items": body(&["target"], json!({
                "type": nullable(text(3, 255)),
                "language": nullable(text(1, 64)),
                "target": target(),
            }), json!({"type": "text/turtle", "target": "https://example.org/thing.ttl"}))})),
            "Other targets, for those who ask for their type or language; `target` is the default.",
        ),
        "valid_until": nullable(instant()),
    })
}

fn shown_variants() -> Value {
    json!({"type": "array", "items": object(json!({
        "type": nullable(string()),
        "language": nullable(string()),
        "target": string(),
    }))})
}

fn policies() -> Value {
    json!({
        "trailing_slash": nullable(trailing_slash()),
        "query": nullable(query()),
        "default_status": nullable(default_status()),
        "cache_seconds": nullable(cache_seconds()),
    })
}

/// An absolute address; sent byte for byte.
pub fn target() -> Value {
    json!({"type": "string", "maxLength": 8192, "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$"})
}

fn text_up_to(most: u64) -> Value {
    json!({"type": "string", "maxLength": most})
}

fn trailing_slash() -> Value {
    words(&["lenient", "strict"])
}

/// What may be said of queries.
pub fn query() -> Value {
    words(&["forward", "merge", "drop"])
}

fn default_status() -> Value {
    json!({"type": "integer", "enum": [302, 303]})
}

fn cache_seconds() -> Value {
    integer(0, Some(31_536_000))
}

/// 410 is that of a tombstone.
fn shown_status() -> Value {
    json!({"type": "integer", "enum": [301, 302, 303, 307, 308, 404, 410]})
}
