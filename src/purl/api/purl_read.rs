//! GET /api/v1/purls/{full path}

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::{Purls, addressed, purl_body};
use crate::http::Problem;
use crate::http::auth::{InDomains, MayRead};

/// The name as it is now, tombstones included; its ETag is what a change must name.
pub async fn read(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (domain, purl) = addressed::purl(&state, &caller, &uri, "/api/v1/purls").await?;
    Ok(purl_body::answer(&state, StatusCode::OK, &domain, &purl))
}
