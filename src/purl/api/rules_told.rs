//! What a change of rules does, as an answer tells it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::problems::CHECKS_BROKEN;
use crate::http::Problem;
use crate::purl::change_preview::Told;
use crate::purl::checks;
use crate::purl::judge::Broken;
use crate::purl::rule_change::ChangeError;
use crate::purl::ruleset::{Difference, Sample, Told as Outcome};

/// Warnings, differences and broken checks.
pub fn body(told: &Told) -> Value {
    let shadowed = told.shadowed.iter().map(|(place, by)| {
        json!({"pointer": format!("/rules/{place}"), "code": "shadowed",
               "detail": format!("can never answer: rule {by} takes every path that it is about")})
    });
    let round = told.round.iter().map(|(place, path)| {
        json!({"pointer": format!("/rules/{place}"), "code": "round",
               "detail": format!("leads round in a circle, with {path} for example")})
    });
    json!({
        "warnings": shadowed.chain(round).collect::<Vec<Value>>(),
        "differences": told.differences.iter().map(difference).collect::<Vec<Value>>(),
        "more_differences": told.more_differences,
        "broken_checks": broken(&told.broken),
    })
}

/// Checks that are not kept: whose, what they state, and what is answered.
pub fn broken(found: &[Broken]) -> Vec<Value> {
    let one = |broken: &Broken| {
        json!({
            "domain": broken.domain,
            "check": checks::written(&broken.check),
            "status": broken.given.status,
            "location": broken.given.location,
        })
    };
    found.iter().map(one).collect()
}

fn difference(found: &Difference) -> Value {
    let Difference { asked, before, after } = found;
    let Sample { path, query, headers } = asked;
    let query = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    json!({
        "from": format!("{path}{query}"),
        "headers": headers.iter().cloned().collect::<BTreeMap<String, String>>(),
        "before": outcome(before),
        "after": outcome(after),
    })
}

/// What rules make of a request; null where none of them answers.
fn outcome(told: &Outcome) -> Value {
    match told {
        Outcome::Answer(status, location) => json!({"status": status, "location": location}),
        Outcome::Again(path, query) => {
            let query = query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
            json!({"rewrite": format!("{path}{query}")})
        }
        Outcome::Nothing => Value::Null,
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Broken(ref found) => {
                Self::new(&CHECKS_BROKEN).detail(error.to_string()).member("broken_checks", broken(found))
            }
            ChangeError::Db(error) => error.into(),
        }
    }
}
