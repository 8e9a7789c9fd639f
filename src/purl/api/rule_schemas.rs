//! What rules and checks look like in bodies and answers.

use serde_json::{Value, json};

use super::schemas::query;
use crate::http::describe::Schema;
use crate::http::schema::{
    about, array, body, boolean, instant, integer, nullable, object, page, string, uuid, words,
};

/// Rules of a domain.
pub const RULES: Schema = Schema::new("Rules", || {
    object(json!({
        "domain": string(),
        "revision": integer(0, None),
        "rules": array(json!({"type": "object"}), 0, Some(20_000)),
    }))
});

/// Rules that are to be put in force.
pub const NEW_RULES: Schema = Schema::new("NewRules", || {
    let rule = json!({
        "type": "object",
        "properties": {
            "exact": string(), "prefix": string(), "regex": string(), "on": words(&["name", "path"]),
            "ignore_case": boolean(), "merge_tail": boolean(), "conditions": array(json!({"type": "object"}), 0, None),
            "status": integer(204, Some(410)), "target": string(), "rewrite": string(), "leave": boolean(),
            "go_on": boolean(), "untouched": boolean(), "raw_captures": boolean(), "query": query(),
            "origin": json!({"type": "object"}),
        },
        "additionalProperties": false,
    });
    let members = json!({
        "rules": about(array(rule, 0, Some(20_000)), "In the order in which they are tried."),
        "domain": about(json!({}), "As it was read; it is not looked at."),
        "revision": about(json!({}), "As it was read; it is not looked at."),
    });
    body(
        &["rules"],
        members,
        json!({"rules": [{"prefix": "releases/", "target": "https://example.org/files/"}]}),
    )
});

/// What a change of rules does, or would do.
pub const RULE_CHANGE: Schema = Schema::new("RuleChange", || {
    object(json!({
        "revision": integer(0, None),
        "rules": integer(0, None),
        "changed": boolean(),
        "dry_run": boolean(),
        "warnings": array(object(json!({
            "pointer": string(), "code": words(&["shadowed", "round"]), "detail": string(),
        })), 0, None),
        "differences": array(object(json!({
            "from": string(),
            "headers": json!({"type": "object"}),
            "before": nullable(json!({"type": "object"})),
            "after": nullable(json!({"type": "object"})),
        })), 0, Some(200)),
        "more_differences": boolean(),
        "broken_checks": array(broken_check(), 0, None),
    }))
});

/// Which state of the rules is to be put in force again.
pub const ROLL_BACK: Schema = Schema::new("RollBack", || {
    let members = json!({"revision": about(integer(0, None), "0: no rules, as before the first.")});
    body(&["revision"], members, json!({"revision": 1}))
});

/// A page of the states that the rules of a domain have had.
pub const RULE_REVISION_PAGE: Schema = Schema::new("RuleRevisionPage", || {
    page(object(json!({
        "revision": integer(1, None),
        "rules": integer(0, None),
        "written_at": instant(),
        "written_by": nullable(uuid()),
    })))
});

/// Checks of a domain.
pub const CHECKS: Schema = Schema::new("Checks", || {
    object(json!({
        "domain": string(),
        "revision": integer(0, None),
        "checks": array(json!({"type": "object"}), 0, Some(20_000)),
    }))
});

/// Checks that are to be kept from now on.
pub const NEW_CHECKS: Schema = Schema::new("NewChecks", || {
    let check = json!({
        "type": "object",
        "required": ["from"],
        "properties": {
            "from": about(string(), "A path of the domain as it is sent, with its query."),
            "headers": json!({"type": "object", "additionalProperties": string()}),
            "status": about(integer(204, Some(410)), "Default: any redirect."),
            "to": about(string(), "Where it leads, byte for byte."),
            "origin": about(string(), "The file that an import found it in."),
        },
        "additionalProperties": false,
    });
    let members = json!({
        "checks": array(check, 0, Some(20_000)),
        "domain": about(json!({}), "As it was read; it is not looked at."),
        "revision": about(json!({}), "As it was read; it is not looked at."),
    });
    body(&["checks"], members, json!({"checks": [{"from": "/demo/hello", "to": "https://example.org/"}]}))
});

/// How a request would be answered, and why.
pub const EXPLANATION: Schema = Schema::new("Explanation", || {
    object(json!({
        "steps": array(json!({"type": "object"}), 0, Some(11)),
        "answer": object(json!({"status": integer(200, Some(599)), "headers": json!({"type": "object"})})),
    }))
});

fn broken_check() -> Value {
    object(json!({
        "domain": string(),
        "check": json!({"type": "object"}),
        "status": integer(200, Some(599)),
        "location": nullable(string()),
    }))
}
