//! GET /api/v1/purls?domain=…

use axum::extract::State;
use axum::response::Response;
use serde_json::Value;

use super::purl_body::Body;
use super::{Purls, addressed};
use crate::http::auth::{InDomains, MayRead};
use crate::http::{Problem, fields, paging};
use crate::purl::domain_path::DomainPath;
use crate::purl::model;
use crate::purl::store::name_list::{list_names, listing_of};

/// The names of a domain in order, tombstones included; with `state`, those that are in it now.
pub async fn list(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    query: paging::Query,
) -> Result<Response, Problem> {
    let mut reader = query.fields();
    let path = reader.required("domain", |value| {
        DomainPath::parse(fields::string(value)?).map_err(|fault| fault.to_string())
    });
    let wanted = reader.optional("state", state_word);
    reader.finish()?;
    let (path, wanted) = (path?, wanted?);

    let domain = addressed::domain_at(&state, &caller, &path).await?;
    let filters = vec![
        domain.domain_id.to_string(),
        wanted.map_or_else(String::new, |state| state.as_str().to_owned()),
    ];
    let asked = query.page_of(listing_of(wanted), caller.tenant_id, filters)?;
    let pool = state.db.management();
    let page = list_names(pool, &domain, wanted, state.clock.now(), &asked.window).await?;
    asked.answer(page.map(|purl| Body::of(&state, &domain, purl)))
}

fn state_word(value: &Value) -> Result<model::State, String> {
    let state = model::State::parse(fields::string(value)?);
    state.ok_or_else(|| format!("must be one of {}", model::State::ALL.map(model::State::as_str).join(", ")))
}
