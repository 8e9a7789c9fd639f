//! Participants who are there: listing, reading one, another token, removal.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

use super::views::ParticipantView;
use crate::http::Problem;
use crate::http::auth::{MayEdit, MayObserve};
use crate::http::body::OptionalJsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::id::IdPath;
use crate::http::idempotency::Keyed;
use crate::http::paging;
use crate::voting::Voting;
use crate::voting::store::participant_list::{PARTICIPANTS, list_participants};
use crate::voting::store::participants::find_participant;

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

/// GET /api/v1/participants/{id}
pub async fn read(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(participant_id): IdPath,
) -> Result<Response, Problem> {
    let mut conn = voting.db.management().acquire().await?;
    let found = find_participant(&mut conn, caller.tenant_id, participant_id).await?;
    let (participant, revision) = found.ok_or_else(Problem::not_found)?;
    let headers = [(header::ETAG, etag::of_revision(revision)), no_store()];
    Ok((headers, Json(ParticipantView::from(participant))).into_response())
}

/// POST /api/v1/participants/{id}/token
pub async fn reissue_token(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(participant_id): IdPath,
    if_match: IfMatch,
    Keyed(once, body): Keyed<OptionalJsonObject>,
) -> Result<Response, Problem> {
    body.fields().finish()?;
    let author = caller.author();
    once.run(author, async |tx| {
        let accepts = |revision| if_match.accepts(revision);
        let (token, revision) = voting.reissue_token(tx, author, participant_id, accepts).await?;
        let view = json!({ "id": participant_id.to_string(), "token": token.reveal() });
        let headers = [(header::ETAG, etag::of_revision(revision)), no_store()];
        Ok((StatusCode::CREATED, headers, Json(view)).into_response())
    })
    .await
}

/// DELETE /api/v1/participants/{id}: again changes nothing, whatever If-Match says.
pub async fn remove(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(participant_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    voting.remove_participant(caller.author(), participant_id, accepts).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn no_store() -> (HeaderName, HeaderValue) {
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}
