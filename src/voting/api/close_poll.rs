//! Closing a poll: the answer is the result, the same bytes every time.

use axum::extract::State;
use axum::response::Response;

use super::views;
use crate::http::Problem;
use crate::http::auth::MayEdit;
use crate::http::etag::IfMatch;
use crate::http::id::IdPath;
use crate::voting::Voting;

/// POST /api/v1/polls/{id}/close
pub async fn close(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    let result = voting.close_poll(caller.author(), poll_id, accepts).await?;
    Ok(views::document(result))
}
