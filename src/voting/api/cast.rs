//! Casting a ballot. 201 and a receipt; a retry with its Idempotency-Key gets the same answer.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use metrics::counter;

use super::problems::{
    ALREADY_VOTED, MEETING_SUSPENDED, NOT_ELIGIBLE, NOT_PROXY, OPTION_FULL, POLL_CLOSED, POLL_NOT_OPEN,
};
use super::viewer::{BallotToken, authenticate};
use crate::http::Problem;
use crate::http::auth::unauthenticated;
use crate::http::body::JsonObject;
use crate::http::fields;
use crate::http::id::{IdPath, TextPath};
use crate::http::idempotency;
use crate::http::problem_codes::{IDEMPOTENCY_KEY_REUSED, INVALID};
use crate::ids;
use crate::telemetry::metrics::BALLOTS;
use crate::voting::Voting;
use crate::voting::ballot::Receipt;
use crate::voting::eligibility::{Refusal, Submission};
use crate::voting::submit::Answer;
use crate::voting::token::PresentedToken;

/// Most items of `options` that are looked at; no poll has more options.
const MOST_ITEMS: usize = 200;

/// PUT /api/v1/polls/{id}/ballot
pub async fn cast(
    State(voting): State<Voting>,
    BallotToken(token): BallotToken,
    IdPath(poll_id): IdPath,
    headers: HeaderMap,
    body: Result<JsonObject, Problem>,
) -> Result<Response, Problem> {
    answer(&voting, &token, (poll_id, None), read_submission(&headers, body)).await
}

/// PUT /api/v1/polls/{id}/ballots/{participant}
pub async fn cast_for(
    State(voting): State<Voting>,
    BallotToken(token): BallotToken,
    TextPath((poll, participant)): TextPath<(String, String)>,
    headers: HeaderMap,
    body: Result<JsonObject, Problem>,
) -> Result<Response, Problem> {
    let ids = ids::parse(&poll).zip(ids::parse(&participant));
    let (poll_id, represented) = ids.ok_or_else(Problem::not_found)?;
    answer(&voting, &token, (poll_id, Some(represented)), read_submission(&headers, body)).await
}

async fn answer(
    voting: &Voting,
    token: &PresentedToken,
    (poll_id, represented): (i64, Option<i64>),
    submission: Result<Submission, Problem>,
) -> Result<Response, Problem> {
    let submission = match submission {
        Ok(submission) => submission,
        Err(problem) => {
            // Only a voter is told what is wrong; a good ballot proves its token on the way.
            Box::pin(authenticate(voting, token)).await?;
            return Err(problem);
        }
    };
    match voting.cast(token, poll_id, represented, &submission).await? {
        Answer::Unauthenticated => Err(unauthenticated()),
        Answer::Accepted(receipt) => {
            counter!(BALLOTS, "verdict" => "accepted").increment(1);
            Ok(receipt_response(receipt))
        }
        Answer::Replayed(receipt) => {
            counter!(BALLOTS, "verdict" => "replayed").increment(1);
            let mut response = receipt_response(receipt);
            idempotency::mark_replayed(&mut response);
            Ok(response)
        }
        Answer::Refused(refusal) => {
            let problem = problem_of(refusal);
            counter!(BALLOTS, "verdict" => problem.code().code).increment(1);
            Err(problem)
        }
    }
}

fn receipt_response(receipt: Receipt) -> Response {
    (StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(receipt)).into_response()
}

fn read_submission(headers: &HeaderMap, body: Result<JsonObject, Problem>) -> Result<Submission, Problem> {
    Ok(Submission { idempotency_key: idempotency::key(headers)?, choice: read_choice(&body?)? })
}

fn read_choice(body: &JsonObject) -> Result<Vec<i64>, Problem> {
    let mut read = body.fields();
    let choice = read.each("options", 0..=MOST_ITEMS, |value, pointer, faults| {
        fields::item(fields::id(value), pointer, faults)
    });
    read.finish()?;
    Ok(choice?)
}

fn problem_of(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::UnknownPoll => Problem::not_found(),
        Refusal::NotOpen => Problem::new(&POLL_NOT_OPEN),
        Refusal::Closed => Problem::new(&POLL_CLOSED),
        Refusal::Suspended => Problem::new(&MEETING_SUSPENDED),
        Refusal::NotEligible => Problem::new(&NOT_ELIGIBLE),
        Refusal::OptionFull(option_id) => Problem::new(&OPTION_FULL).member("option", option_id.to_string()),
        Refusal::KeyReused => Problem::new(&IDEMPOTENCY_KEY_REUSED),
        Refusal::NotProxy => Problem::new(&NOT_PROXY),
        Refusal::AlreadyVoted(None) => Problem::new(&ALREADY_VOTED),
        Refusal::AlreadyVoted(Some(receipt)) => {
            let problem = Problem::new(&ALREADY_VOTED).member("reference", receipt.reference());
            match serde_json::to_value(&receipt) {
                Ok(first) => problem.member("first", first),
                Err(_) => problem,
            }
        }
        Refusal::Invalid(faults) => Problem::new(&INVALID).faults(faults.into_iter().map(Into::into)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<A, B, C, D, E, F>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    /// It is made anew, and moved, for every ballot; what is rare is boxed.
    #[test]
    fn what_a_cast_keeps_while_it_waits_is_small() {
        assert!(bytes(cast) <= 1_536, "{}", bytes(cast));
    }
}
