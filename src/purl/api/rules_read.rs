//! GET /api/v1/domain-rules/{path}: the rules in force, or an earlier state of them.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{Uri, header};
use serde_json::json;

use super::{Purls, addressed};
use crate::http::auth::{InDomains, MayRead};
use crate::http::query::QueryObject;
use crate::http::{Problem, etag, fields};
use crate::purl::ruleset;
use crate::purl::store::rule_sets;

/// What the routes of rules begin with.
pub const PREFIX: &str = "/api/v1/domain-rules";

/// The rules as a document that can be sent back. Its ETag is what a change must name, also beside an earlier state.
pub async fn read(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
    query: QueryObject,
) -> Result<Response, Problem> {
    let mut reader = query.fields();
    let wanted = reader.optional("revision", |value| fields::string(value).and_then(revision));
    reader.finish()?;
    let domain = addressed::domain(&state, &caller, &uri, PREFIX).await?;
    let revision = wanted?.unwrap_or(domain.rules_revision);
    let mut connection = state.db.management().acquire().await.map_err(crate::db::Error::from)?;
    let found = rule_sets::find_revision(&mut connection, &domain, revision).await?;
    let rules = match found {
        Some(rules) => rules,
        None if revision == 0 => Vec::new(),
        None => return Err(Problem::not_found()),
    };
    let mut body = ruleset::write(&rules);
    body["domain"] = domain.path.as_str().into();
    body["revision"] = json!(revision);
    Ok(([(header::ETAG, etag::of_revision(domain.rules_revision))], Json(body)).into_response())
}

/// A number of a state, from 1.
fn revision(text: &str) -> Result<i64, String> {
    let number = crate::ids::parse(text).filter(|number| *number > 0);
    number.ok_or_else(|| "must be the number of a revision".to_owned())
}
