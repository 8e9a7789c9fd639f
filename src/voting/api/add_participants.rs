//! Adding participants: one, or many at once, all or none. Their ballot tokens are in this answer and
//! nowhere else.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use crate::http::Problem;
use crate::http::auth::MayEdit;
use crate::http::body::{Faulty, Fields, JsonObject};
use crate::http::fields;
use crate::http::id::IdPath;
use crate::http::idempotency::Keyed;
use crate::http::problem_codes::INVALID;
use crate::voting::Voting;
use crate::voting::participants::{Added, MOST_AT_ONCE, NewParticipant, list_repeats};
use crate::voting::weight::Weight;

const MANY: &str = "participants";

#[derive(Serialize)]
struct AddedView {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    name: String,
    email: Option<String>,
    external_reference: Option<String>,
    weight: String,
    /// Shown this once.
    token: String,
}

impl From<Added> for AddedView {
    fn from(added: Added) -> Self {
        Self {
            id: added.participant_id,
            token: added.token.reveal().to_owned(),
            name: added.participant.name,
            email: added.participant.email,
            external_reference: added.participant.external_reference,
            weight: added.participant.weight.to_string(),
        }
    }
}

/// POST /api/v1/meetings/{id}/participants
pub async fn add(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(meeting_id): IdPath,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let many = body.0.contains_key(MANY);
    let pointer = move |place: usize, field: &str| {
        if many { format!("/{MANY}/{place}/{field}") } else { format!("/{field}") }
    };
    let entries = if many { read_many(&body)? } else { vec![read_one(&body)?] };
    let repeats = list_repeats(&entries, pointer);
    if !repeats.is_empty() {
        return Err(Problem::new(&INVALID).faults(repeats.into_iter().map(Into::into)));
    }
    let author = caller.author();
    once.run(author, async |tx| {
        let added = voting.add_participants(tx, author, meeting_id, &entries, pointer).await?;
        Ok(render(many, added))
    })
    .await
}

fn render(many: bool, added: Vec<Added>) -> Response {
    let mut views: Vec<AddedView> = added.into_iter().map(Into::into).collect();
    let headers = [(header::CACHE_CONTROL, "no-store")];
    match views.pop() {
        Some(one) if !many => (StatusCode::CREATED, headers, Json(one)).into_response(),
        last => {
            views.extend(last);
            (StatusCode::CREATED, headers, Json(serde_json::json!({ MANY: views }))).into_response()
        }
    }
}

fn read_one(body: &JsonObject) -> Result<NewParticipant, Problem> {
    let mut read = body.fields();
    let entry = read_entry(&mut read);
    read.finish()?;
    Ok(entry?)
}

fn read_many(body: &JsonObject) -> Result<Vec<NewParticipant>, Problem> {
    let mut read = body.fields();
    let entries = read.each(MANY, 1..=MOST_AT_ONCE, |value, pointer, faults| {
        let object =
            fields::item(value.as_object().ok_or_else(|| "must be an object".to_owned()), pointer, faults)?;
        let mut inner = Fields::new(object, pointer.to_owned());
        let entry = read_entry(&mut inner);
        let inner = inner.faults();
        if inner.is_empty() {
            return entry.ok();
        }
        faults.extend(inner);
        None
    });
    read.finish()?;
    Ok(entries?)
}

fn read_entry(read: &mut Fields<'_>) -> Result<NewParticipant, Faulty> {
    let name = read.required("name", fields::text(1..=300));
    let email = read.optional("email", email);
    let external_reference = read.optional("external_reference", fields::text(1..=200));
    let weight = read.optional("weight", weight);
    Ok(NewParticipant {
        name: name?,
        email: email?,
        external_reference: external_reference?,
        weight: weight?.unwrap_or(Weight::ONE),
    })
}

/// Something before and after one `@`, within the length that RFC 5321 allows. Whether anybody reads
/// there, only a message could tell, and none is sent.
fn email(value: &Value) -> Result<String, String> {
    let text = fields::text(3..=254)(value)?;
    match text.split_once('@') {
        Some((local, host))
            if !local.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !text.contains(char::is_whitespace) =>
        {
            Ok(text)
        }
        _ => Err("must be an e-mail address".to_owned()),
    }
}

/// A decimal as a string, because a JSON number with a fraction is not exact; a whole number may be one.
fn weight(value: &Value) -> Result<Weight, String> {
    let parsed = match value {
        Value::String(text) => Weight::parse(text),
        Value::Number(number) if number.is_u64() => Weight::parse(&number.to_string()),
        _ => return Err("must be a decimal as a string, such as \"1.75\"".to_owned()),
    };
    parsed.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn weights_are_exact_texts_or_whole_numbers() {
        assert_eq!(weight(&json!("1.75")).unwrap().to_string(), "1.750000");
        assert_eq!(weight(&json!(3)).unwrap().to_string(), "3.000000");
        for inexact in [json!(1.75), json!(-1), json!(0), json!("0"), json!(true)] {
            assert!(weight(&inexact).is_err(), "{inexact}");
        }
    }

    #[test]
    fn an_address_has_something_on_both_sides_of_its_one_at() {
        assert!(email(&json!("ada@example.org")).is_ok());
        for bad in ["@example.org", "ada@", "a@b@c", "ada example@org", "ada"] {
            assert!(email(&json!(bad)).is_err(), "{bad}");
        }
    }
}
