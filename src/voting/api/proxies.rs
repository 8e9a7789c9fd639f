//! Proxies: giving one, taking it back.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};

use super::views::ParticipantView;
use crate::http::Problem;
use crate::http::auth::MayEdit;
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::fields;
use crate::http::id::IdPath;
use crate::voting::Voting;

/// PUT /api/v1/participants/{id}/proxy
pub async fn give(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(principal_id): IdPath,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let mut read = body.fields();
    let holder = read.required("holder", fields::id);
    read.finish()?;
    let (holder_id, accepts) = (holder?, |revision| if_match.accepts(revision));
    let given = voting.give_proxy(caller.author(), principal_id, accepts, holder_id).await?;
    let (participant, revision) = given;
    let headers = [
        (header::ETAG, etag::of_revision(revision)),
        (header::CACHE_CONTROL, http::HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Json(ParticipantView::from(participant))).into_response())
}

/// DELETE /api/v1/participants/{id}/proxy: again changes nothing, whatever If-Match says.
pub async fn revoke(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(principal_id): IdPath,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let accepts = |revision| if_match.accepts(revision);
    voting.revoke_proxy(caller.author(), principal_id, accepts).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
