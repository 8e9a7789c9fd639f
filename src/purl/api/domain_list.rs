//! GET /api/v1/domains

use axum::extract::State;
use axum::response::Response;

use super::Purls;
use super::domain_body::Body;
use crate::http::auth::{InDomains, MayRead};
use crate::http::{Problem, paging};
use crate::purl::store::domain_list::{DOMAINS, list_owned};
use crate::purl::store::domains::find_owner;

/// The tenant's domains in order of path, as far as the key's limits reach.
pub async fn list(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let asked = query.page_of(&DOMAINS, caller.tenant_id, Vec::new())?;
    let pool = state.db.management();
    let page = list_owned(pool, caller.tenant_id, caller.domains.as_deref(), &asked.window).await?;
    let owner = find_owner(pool, caller.tenant_id).await?.unwrap_or_default();
    asked.answer(page.map(|domain| Body::of(&state, &owner, &domain)))
}
