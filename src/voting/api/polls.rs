//! Polls: making one, reading it, listing those of a meeting, changing a draft.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::viewer::Viewer;
use super::views::PollView;
use super::{poll_settings, views};
use crate::http::Problem;
use crate::http::auth::{MayEdit, MayObserve};
use crate::http::body::JsonObject;
use crate::http::etag::IfMatch;
use crate::http::id::IdPath;
use crate::http::idempotency::Keyed;
use crate::http::paging;
use crate::voting::Voting;
use crate::voting::store::poll_list::{POLLS, list_polls};

/// POST /api/v1/meetings/{id}/polls
pub async fn create(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(meeting_id): IdPath,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let settings = poll_settings::read(&body)?;
    let author = caller.author();
    once.run(author, async |tx| {
        let poll = voting.create_poll(tx, author, meeting_id, &settings).await?;
        Ok(views::poll(StatusCode::CREATED, poll))
    })
    .await
}

/// GET /api/v1/meetings/{id}/polls
pub async fn list(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(meeting_id): IdPath,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    voting.get_meeting(caller.tenant_id, meeting_id).await?;
    let asked = query.page_of(&POLLS, caller.tenant_id, vec![meeting_id.to_string()])?;
    let page = list_polls(voting.db.management(), caller.tenant_id, meeting_id, &asked.window).await?;
    asked.answer(page.map(PollView::from))
}

/// GET /api/v1/polls/{id}
pub async fn read(
    State(voting): State<Voting>,
    viewer: Viewer,
    IdPath(poll_id): IdPath,
) -> Result<Response, Problem> {
    let poll = viewer.get_poll(&voting, poll_id).await?;
    Ok(views::poll(StatusCode::OK, poll))
}

/// PUT /api/v1/polls/{id}
pub async fn change(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let settings = poll_settings::read(&body)?;
    let accepts = |generation| if_match.accepts(generation);
    let poll = voting.change_poll(caller.author(), poll_id, accepts, &settings).await?;
    Ok(views::poll(StatusCode::OK, poll))
}
