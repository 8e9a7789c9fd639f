//! Steps of a poll: open, extend, cancel, publish. (Closing answers with the result: `close_poll`.)

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::views;
use crate::http::Problem;
use crate::http::auth::MayEdit;
use crate::http::body::JsonObject;
use crate::http::etag::IfMatch;
use crate::http::fields;
use crate::http::id::IdPath;
use crate::voting::Voting;

/// POST /api/v1/polls/{id}/open
pub async fn open(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    let poll = voting.open_poll(caller.author(), poll_id, accepts).await?;
    Ok(views::poll(StatusCode::OK, poll))
}

/// POST /api/v1/polls/{id}/deadline
pub async fn extend_deadline(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let mut read = body.fields();
    let closes_at = read.required("closes_at", fields::instant);
    read.finish()?;
    let (closes_at, accepts) = (closes_at?, |revision| if_match.accepts(revision));
    let poll = voting.extend_deadline(caller.author(), poll_id, accepts, closes_at).await?;
    Ok(views::poll(StatusCode::OK, poll))
}

/// POST /api/v1/polls/{id}/cancel
pub async fn cancel(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    let poll = voting.cancel_poll(caller.author(), poll_id, accepts).await?;
    Ok(views::poll(StatusCode::OK, poll))
}

/// POST /api/v1/polls/{id}/publish
pub async fn publish(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    let poll = voting.publish_poll(caller.author(), poll_id, accepts).await?;
    Ok(views::poll(StatusCode::OK, poll))
}
