//! What tenants, keys and the audit log look like in bodies and answers.

use serde_json::{Value, json};

use crate::http::describe::Schema;
use crate::http::schema::{
    about, array, body, id, instant, nullable, object, page, reference, string, text, uuid, words,
};

/// A new tenant.
pub const NEW_TENANT: Schema = Schema::new("NewTenant", || {
    let members = json!({
        "slug": slug(),
        "name": about(nullable(text(1, 200)), "For people; default: the slug."),
    });
    body(&["slug"], members, json!({"slug": "acme", "name": "Acme"}))
});

/// A tenant.
pub const TENANT: Schema = Schema::new("Tenant", || {
    object(json!({"tenant_id": id(), "slug": slug(), "name": string(), "created_at": instant()}))
});

/// A new key.
pub const NEW_KEY: Schema = Schema::new("NewKey", || {
    let members = json!({
        "scope": scope(),
        "label": nullable(text(0, 200)),
        "domains": about(array(string(), 0, Some(100)), "Paths of the domains it is limited to; none: no limit."),
        "expires_at": about(nullable(instant()), "In the future."),
    });
    body(&["scope"], members, json!({"scope": "reader", "label": "statistics"}))
});

/// A key as everybody may see it who manages keys.
pub const KEY: Schema = Schema::new("Key", || object(members()));

/// A key as its creation shows it, this once.
pub const CREATED_KEY: Schema = Schema::new("CreatedKey", || {
    let mut members = members();
    members["key"] = json!({"type": "string", "pattern": "^rsl_", "description": "Shown this once."});
    object(members)
});

/// A page of keys.
pub const KEY_PAGE: Schema = Schema::new("KeyPage", || page(reference(KEY)));

/// An entry of the audit log.
pub const AUDIT_ENTRY: Schema = Schema::new("AuditEntry", || {
    let state = json!({"type": ["object", "null"]});
    object(json!({
        "id": id(),
        "happened_at": instant(),
        "actor": object(json!({"kind": string(), "key": nullable(uuid())})),
        "action": about(string(), "What was done, such as `key.created`."),
        "subject": object(json!({"kind": string(), "reference": string()})),
        "before": about(state.clone(), "The settings before, as far as they changed."),
        "after": about(state, "The settings after."),
        "request": about(nullable(string()), "The id of the request that did it."),
    }))
});

/// A page of the audit log.
pub const AUDIT_PAGE: Schema = Schema::new("AuditPage", || page(reference(AUDIT_ENTRY))).with(&[AUDIT_ENTRY]);

fn members() -> Value {
    json!({
        "id": uuid(),
        "scope": scope(),
        "label": string(),
        "domains": array(string(), 0, None),
        "created_at": instant(),
        "expires_at": nullable(instant()),
        "revoked_at": nullable(instant()),
        "last_used_at": nullable(instant()),
    })
}

fn slug() -> Value {
    json!({"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"})
}

fn scope() -> Value {
    words(&["admin", "editor", "minter", "moderator", "reader"])
}
