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
use crate::http::paging;
use crate::voting::Voting;
use crate::voting::store::participant_list::{PARTICIPANTS, list_participants};

/// GET /api/v1/meetings/{id}/participants
pub async fn list(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(meeting_id): IdPath,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    voting.get_meeting(caller.tenant_id, meeting_id).await?;
    let asked = query.page_of(&PARTICIPANTS, caller.tenant_id, vec![meeting_id.to_string()])?;
    let pool = voting.db.management();
    let page = list_participants(pool, caller.tenant_id, meeting_id, &asked.window).await?;
    asked.answer(page.map(ParticipantView::from))
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
