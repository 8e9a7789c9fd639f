//! Participants who are there: listing, another token, removal.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

use super::views::ParticipantView;
use crate::http::Problem;
use crate::http::auth::{MayEdit, MayObserve};
use crate::http::id::IdPath;
use crate::voting::Voting;
use crate::voting::store::meetings::find_meeting;
use crate::voting::store::participants::list_participants;

/// GET /api/v1/meetings/{id}/participants
pub async fn list(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(meeting_id): IdPath,
) -> Result<Response, Problem> {
    let mut conn = voting.db.management().acquire().await?;
    find_meeting(&mut conn, caller.tenant_id, meeting_id).await?.ok_or_else(Problem::not_found)?;
    let rows = list_participants(&mut conn, caller.tenant_id, meeting_id).await?;
    let views: Vec<ParticipantView> = rows.into_iter().map(Into::into).collect();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(json!({ "participants": views }))).into_response())
}

/// POST /api/v1/participants/{id}/token
pub async fn reissue_token(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(participant_id): IdPath,
) -> Result<Response, Problem> {
    let token = voting.reissue_token(caller.tenant_id, participant_id).await?;
    let view = json!({ "id": participant_id.to_string(), "token": token.reveal() });
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(view)).into_response())
}

/// DELETE /api/v1/participants/{id}
pub async fn remove(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(participant_id): IdPath,
) -> Result<Response, Problem> {
    voting.remove_participant(caller.tenant_id, participant_id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
