//! Closing a poll: the answer is the result, the same bytes every time.

use axum::extract::State;
use axum::response::Response;

use super::views;
use crate::http::Problem;
use crate::http::auth::MayEdit;
use crate::http::id::IdPath;
use crate::voting::Voting;

/// POST /api/v1/polls/{id}/close
pub async fn close(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(poll_id): IdPath,
) -> Result<Response, Problem> {
    let result = voting.close_poll(caller.tenant_id, poll_id).await?;
    Ok(views::document(result))
}
