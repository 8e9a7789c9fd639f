//! The settings of a poll as a body.

use std::collections::HashSet;

use crate::http::Problem;
use crate::http::body::{Fields, JsonObject};
use crate::http::fields;
use crate::voting::model::{BallotKind, ResultsVisibility, Rule, Secrecy};
use crate::voting::store::polls::Settings;

/// Most options of a poll.
const MOST_OPTIONS: usize = 200;

/// Reads all settings; every fault at once.
pub fn read(body: &JsonObject) -> Result<Settings, Problem> {
    let mut read = body.fields();
    let title = read.required("title", fields::text(1..=500));
    let description = read.optional("description", fields::text(0..=20_000));
    let ballot_kind = read.required("ballot_kind", |value| {
        fields::one_of(&["single_choice"])(value).map(|_| BallotKind::SingleChoice)
    });
    let secrecy = read.optional("secrecy", |value| fields::one_of(&["named"])(value).map(|_| Secrecy::Named));
    let results = read.optional("results", |value| {
        let word = fields::one_of(&["hidden", "live"])(value)?;
        ResultsVisibility::parse(word).ok_or_else(String::new)
    });
    let closes_at = read.optional("closes_at", fields::instant);
    let mut titles = HashSet::new();
    let options = read.each("options", 1..=MOST_OPTIONS, |value, pointer, faults| {
        let object = fields::item(
            value.as_object().ok_or_else(|| "must be an object with a title".to_owned()),
            pointer,
            faults,
        )?;
        let mut inner = Fields::new(object, pointer.to_owned());
        let title = inner.required("title", |value| {
            let title = fields::text(1..=500)(value)?;
            if titles.insert(title.clone()) { Ok(title) } else { Err("is there twice".to_owned()) }
        });
        faults.extend(inner.faults());
        title.ok()
    });
    read.finish()?;
    Ok(Settings {
        title: title?,
        description: description?.unwrap_or_default(),
        ballot_kind: ballot_kind?,
        secrecy: secrecy?.unwrap_or(Secrecy::Named),
        results: results?.unwrap_or(ResultsVisibility::Hidden),
        rule: Rule::Plurality,
        closes_at: closes_at?,
        options: options?,
    })
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use serde_json::json;

    use super::*;

    fn body(value: serde_json::Value) -> JsonObject {
        match value {
            serde_json::Value::Object(object) => JsonObject(object),
            other => panic!("no object: {other}"),
        }
    }

    #[test]
    fn what_is_not_said_has_the_careful_default() {
        let settings = read(&body(json!({
            "title": "Who?", "ballot_kind": "single_choice", "options": [{"title": "A"}, {"title": "B"}],
        })))
        .unwrap();
        assert_eq!(settings.results, ResultsVisibility::Hidden);
        assert_eq!(settings.options, ["A", "B"]);
    }

    #[test]
    fn kinds_that_do_not_exist_and_double_options_are_refused() {
        for wrong in [
            json!({"title": "Q", "ballot_kind": "ranked", "options": [{"title": "A"}]}),
            json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}], "secrecy": "sealed"}),
            json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}, {"title": "A"}]}),
            json!({"title": "Q", "ballot_kind": "single_choice", "options": []}),
            json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}], "seats": 2}),
        ] {
            let problem = read(&body(wrong.clone())).unwrap_err();
            assert_eq!(problem.into_response().status(), 422, "{wrong}");
        }
    }
}
