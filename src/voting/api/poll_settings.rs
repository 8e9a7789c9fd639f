//! The settings of a poll as a body.

use std::collections::HashSet;

use crate::http::Problem;
use crate::http::body::{Fields, JsonObject};
use crate::http::fields;
use crate::voting::model::{BallotKind, ResultsVisibility, Rule, Secrecy};
use crate::voting::rules::{MOST_SEATS, may_have_seats};
use crate::voting::store::polls::{NewOption, Settings};

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
    let seats_allowed = match (&secrecy, &results) {
        (Ok(secrecy), Ok(results)) => {
            may_have_seats(secrecy.unwrap_or(Secrecy::Named), results.unwrap_or(ResultsVisibility::Hidden))
        }
        // Their own faults come first.
        _ => true,
    };
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
        let seats = inner.optional("seats", |value| {
            let seats = fields::integer(1..=MOST_SEATS.into())(value)?;
            if !seats_allowed {
                return Err("needs live results: a full option tells how many chose it".to_owned());
            }
            i32::try_from(seats).map_err(|error| error.to_string())
        });
        faults.extend(inner.faults());
        Some(NewOption { title: title.ok()?, seats: seats.ok()? })
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
        let option = |title: &str| NewOption { title: title.into(), seats: None };
        assert_eq!(settings.options, [option("A"), option("B")]);
    }

    #[test]
    fn seats_are_whole_numbers_and_need_live_results() {
        let asked = |results: &str, seats: serde_json::Value| {
            read(&body(json!({
                "title": "Q", "ballot_kind": "single_choice", "results": results,
                "options": [{"title": "A", "seats": seats}, {"title": "B", "seats": null}],
            })))
        };
        assert_eq!(asked("live", json!(50)).unwrap().options[0].seats, Some(50));
        for (results, wrong) in [
            ("hidden", json!(50)),
            ("live", json!(0)),
            ("live", json!(-1)),
            ("live", json!("50")),
            ("live", json!(1.5)),
            ("live", json!(1_000_001)),
        ] {
            let problem = asked(results, wrong.clone()).unwrap_err();
            assert_eq!(problem.into_response().status(), 422, "{results} {wrong}");
        }
        assert!(asked("hidden", json!(null)).is_ok());
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
