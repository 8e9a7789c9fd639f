//! What the answers of the health routes look like.

use serde_json::{Value, json};

use super::describe::Schema;
use super::schema::{array, boolean, closed, instant, nullable, object, string, words};

/// `/health/live`.
pub const LIVENESS: Schema = Schema::new("Liveness", || object(json!({"status": words(&["ok"])})));

/// `/health/ready`.
pub const READINESS: Schema = Schema::new("Readiness", || {
    object(json!({
        "status": words(&["ok", "not_ready"]),
        "database": words(&["ok", "unreachable", "slow", "pool_full"]),
        "schema": words(&["ok", "behind", "unknown"]),
        "draining": boolean(),
        "listen": words(&["ok", "lost"]),
        "full_pools": array(words(&["hot", "management"]), 0, Some(2)),
    }))
});

/// `/health/headroom`. Before the first measurement only the first two members are there.
pub const HEADROOM: Schema = Schema::new("Headroom", || {
    closed(
        json!(["status", "last_attempt_failed"]),
        json!({
            "status": words(&["ok", "warn", "critical", "unknown"]),
            "last_attempt_failed": boolean(),
            "measured_at": instant(),
            "tables": array(table(), 0, None),
            "unmeasured": array(unmeasured(), 0, None),
            "rows": array(object(json!({"table": string(), "rows_estimate": whole()})), 0, None),
            "xid": budget(),
            "multixact": budget(),
            "row_limit": nullable(budget()),
            "disk": nullable(budget()),
        }),
    )
});

/// A number of 64 bits or more.
fn whole() -> Value {
    json!({"type": "string", "pattern": "^-?[0-9]+$"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn status() -> Value {
    words(&["ok", "warn", "critical"])
}

fn table() -> Value {
    object(json!({
        "table": string(),
        "column": string(),
        "sequence": string(),
        "data_type": nullable(string()),
        "last": whole(),
        "max": whole(),
        "remaining": whole(),
        "used": whole(),
        "ratio": number(),
        "limited_by": words(&["sequence", "column", "nothing"]),
        "rows_estimate": nullable(whole()),
        "rate_per_day": nullable(number()),
        "exhausted_at": nullable(instant()),
        "status": status(),
    }))
}

fn unmeasured() -> Value {
    let reasons = ["permission_denied", "locked", "unknown_sequence", "computed_name", "unreadable"];
    object(json!({"table": string(), "column": string(), "reason": words(&reasons)}))
}

fn budget() -> Value {
    object(json!({
        "used": whole(), "limit": whole(), "remaining": whole(), "ratio": number(), "status": status(),
    }))
}
