//! Meetings: making one, reading it, taking it to a state.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::views;
use crate::http::Problem;
use crate::http::auth::{MayEdit, MayObserve};
use crate::http::body::JsonObject;
use crate::http::fields;
use crate::http::id::IdPath;
use crate::voting::Voting;
use crate::voting::model::MeetingState;
use crate::voting::store::meetings::find_meeting;

/// POST /api/v1/meetings
pub async fn create(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    body: JsonObject,
) -> Result<Response, Problem> {
    let mut read = body.fields();
    let title = read.required("title", fields::text(1..=300));
    read.finish()?;
    let meeting = voting.create_meeting(caller.tenant_id, &title?).await?;
    Ok(views::meeting(StatusCode::CREATED, meeting))
}

/// GET /api/v1/meetings/{id}
pub async fn read(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(meeting_id): IdPath,
) -> Result<Response, Problem> {
    let mut conn = voting.db.management().acquire().await?;
    let meeting =
        find_meeting(&mut conn, caller.tenant_id, meeting_id).await?.ok_or_else(Problem::not_found)?;
    Ok(views::meeting(StatusCode::OK, meeting))
}

/// POST /api/v1/meetings/{id}/state
pub async fn step(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(meeting_id): IdPath,
    body: JsonObject,
) -> Result<Response, Problem> {
    let mut read = body.fields();
    let state = read.required("state", |value| {
        MeetingState::parse(fields::string(value)?).ok_or_else(|| {
            let words: Vec<&str> = MeetingState::ALL.iter().map(|state| state.as_str()).collect();
            format!("must be one of {}", words.join(", "))
        })
    });
    read.finish()?;
    let meeting = voting.step_meeting(caller.tenant_id, meeting_id, state?).await?;
    Ok(views::meeting(StatusCode::OK, meeting))
}
