//! What tenants, keys and the audit log look like in bodies and answers.

use serde_json::{Value, json};

use crate::config::check::MOST_OF_A_QUOTA;
use crate::db::quota::Quota;
use crate::http::describe::Schema;
use crate::http::schema::{
    about, array, body, id, instant, integer, nullable, object, page, reference, string, text, uuid, words,
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

/// Quotas as the operator sets them.
pub const QUOTA_SETTINGS: Schema = Schema::new("QuotaSettings", || {
    let mut members = quotas(QUOTA_HELP);
    members["requests_per_second"] =
        about(nullable(integer(0, Some(MOST_REQUESTS))), "At each server; 0: no limit.");
    members["requests_burst"] = nullable(integer(1, Some(MOST_REQUESTS)));
    body(&[], members, json!({"names": 1_000_000, "api_keys": 20}))
});

/// What is set of a tenant's quotas, and what is in force.
pub const TENANT_QUOTAS: Schema = Schema::new("TenantQuotas", || {
    let mut members = quotas("What is set; null: as configured; 0: no limit.");
    let mut in_force = quotas("null: no limit.");
    for word in ["requests_per_second", "requests_burst"] {
        members[word] = nullable(integer(0, Some(MOST_REQUESTS)));
        in_force[word] = nullable(integer(1, Some(MOST_REQUESTS)));
    }
    members["in_force"] = object(in_force);
    object(members)
});

/// What a tenant may have and what it has.
pub const QUOTAS: Schema = Schema::new("Quotas", || {
    let mut members = json!({});
    for quota in Quota::ALL {
        let limit = about(nullable(integer(1, None)), "null: no limit.");
        let used = about(integer(0, None), "What there is; of all but names counted to a million at most.");
        members[quota.as_str()] = object(json!({"limit": limit, "used": used}));
    }
    let rate = || nullable(integer(1, Some(MOST_REQUESTS)));
    members["requests"] = about(
        object(json!({"per_second": rate(), "burst": rate()})),
        "With all keys of the tenant together, at each server; null: no limit.",
    );
    object(members)
});

const QUOTA_HELP: &str = "0: no limit; null or left out: as configured.";
const MOST_REQUESTS: i64 = 1_000_000;

fn quotas(help: &str) -> Value {
    let mut members = json!({});
    for quota in Quota::ALL {
        members[quota.as_str()] = about(nullable(integer(0, i64::try_from(MOST_OF_A_QUOTA).ok())), help);
    }
    members
}

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
