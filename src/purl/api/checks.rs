//! GET and PUT /api/v1/domain-checks/{path}: the answers that a domain's owner states.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{Uri, header};
use serde_json::{Value, json};

use super::problems::CHECKS_BROKEN;
use super::rules_update::invalid;
use super::{Purls, addressed, rules_told};
use crate::db;
use crate::http::Problem;
use crate::http::auth::{InDomains, MayEdit, MayRead};
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::purl::checks::{self, Check};
use crate::purl::judge::Judge;
use crate::purl::model::Domain;
use crate::purl::store::{check_sets, domains};

const PREFIX: &str = "/api/v1/domain-checks";

/// The checks as a document that can be sent back.
pub async fn read(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
) -> Result<Response, Problem> {
    let domain = addressed::domain(&state, &caller, &uri, PREFIX).await?;
    let mut connection = state.db.management().acquire().await.map_err(db::Error::from)?;
    let set = check_sets::get_checks(&mut connection, &domain).await?;
    Ok(rendered(&domain, set.revision, &set.checks))
}

/// Replaces the checks. Every one must be kept now; from then on no change of rules may break it.
pub async fn update(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let seen = addressed::domain(&state, &caller, &uri, PREFIX).await?;
    let mut document = body.0;
    for name in ["domain", "revision"] {
        document.remove(name);
    }
    let stated = checks::read(&Value::Object(document), &seen.path).map_err(|faults| invalid(&faults))?;
    let mut tx = state.db.begin().await?;
    let locked = domains::lock_domain_at(&mut tx, &seen.path).await?;
    let Some(domain) = locked.filter(|domain| domain.owner_tenant_id == caller.tenant_id) else {
        return Err(Problem::not_found());
    };
    let set = check_sets::get_checks(&mut tx, &domain).await?;
    if_match.check(set.revision)?;
    if stated == set.checks {
        return Ok(rendered(&domain, set.revision, &stated));
    }
    // Against changes of rules in other domains, which are judged by what is stated already.
    domains::raise_directory(&mut tx).await?;
    let now = state.clock.now();
    let (broken, through) = Judge::new(&mut tx, now).await?.ask(domain.path.as_str(), &stated).await?;
    if !broken.is_empty() {
        let detail = format!("{} of {} checks are not kept as it is", broken.len(), stated.len());
        let told = rules_told::broken(&broken);
        return Err(Problem::new(&CHECKS_BROKEN).detail(detail).member("broken_checks", told));
    }
    let mut depends_on: Vec<i64> = through.into_iter().chain([domain.domain_id]).collect();
    depends_on.sort_unstable();
    depends_on.dedup();
    let actor = caller.author().actor;
    let revision = check_sets::replace_checks(&mut tx, actor, &domain, &stated, &depends_on, now).await?;
    db::commit(tx).await?;
    Ok(rendered(&domain, revision, &stated))
}

fn rendered(domain: &Domain, revision: i64, stated: &[Check]) -> Response {
    let mut body = checks::write(stated);
    body["domain"] = domain.path.as_str().into();
    body["revision"] = json!(revision);
    ([(header::ETAG, etag::of_revision(revision))], Json(body)).into_response()
}
