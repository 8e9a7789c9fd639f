//! A published result, for everybody: no key, any origin.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};

use super::views;
use crate::http::Problem;
use crate::http::id::TextPath;
use crate::ids;
use crate::voting::Voting;
use crate::voting::store::results::find_published;

/// GET /api/v1/public/{slug}/polls/{id}
pub async fn read(
    State(voting): State<Voting>,
    TextPath((slug, poll_id)): TextPath<(String, String)>,
) -> Result<Response, Problem> {
    let poll_id = ids::parse(&poll_id).ok_or_else(Problem::not_found)?;
    let mut conn = voting.db.management().acquire().await?;
    let body = find_published(&mut conn, &slug, poll_id).await?.ok_or_else(Problem::not_found)?;
    let mut response = views::document(body);
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    // A result never changes, but a withdrawal or a new round must show.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    Ok(response)
}
