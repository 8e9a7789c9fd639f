//! GET /api/v1/domains/{path}

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::{Purls, addressed, domain_body};
use crate::http::Problem;
use crate::http::auth::{InDomains, MayRead};

/// The domain with its policies; its ETag is what a change must name.
pub async fn read(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
) -> Result<Response, Problem> {
    let domain = addressed::domain(&state, &caller, &uri, "/api/v1/domains").await?;
    domain_body::answer(&state, StatusCode::OK, &domain).await
}
