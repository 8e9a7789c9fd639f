//! PUT /api/v1/domains/{path}

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::domain_body::{self, PolicyFields};
use super::{Purls, addressed};
use crate::db;
use crate::http::auth::{InDomains, MayEdit};
use crate::http::body::JsonObject;
use crate::http::etag::IfMatch;
use crate::http::{Problem, fields, problem_codes};
use crate::purl::model::Policies;
use crate::purl::rule_change;
use crate::purl::store::domains;

/// Replaces the policies: what the body leaves out goes back to its default. Case is fixed at creation.
pub async fn update(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let mut reader = body.fields();
    let policies = PolicyFields::read(&mut reader);
    let case_insensitive = reader.optional("case_insensitive", fields::boolean);
    reader.finish()?;
    let policies = policies.over(Policies::default())?;
    let case_insensitive = case_insensitive?;
    for _ in 0..addressed::ATTEMPTS {
        let domain = addressed::domain(&state, &caller, &uri, "/api/v1/domains").await?;
        if_match.check(domain.generation)?;
        if case_insensitive.is_some_and(|wanted| wanted != domain.case_insensitive) {
            return Err(Problem::new(&problem_codes::INVALID)
                .fault("/case_insensitive", "is fixed when the domain is made"));
        }
        let expected = matches!(if_match, IfMatch::Revisions(_)).then_some(domain.generation);
        let (mut tx, actor, now) = (state.db.begin().await?, caller.author().actor, state.clock.now());
        let changed = domains::update_policies(&mut tx, actor, &domain, expected, &policies, now).await?;
        if let Some(domain) = changed {
            rule_change::judge(&mut tx, &domain, now).await?;
            let owner = domains::find_owner(&mut *tx, domain.owner_tenant_id).await?;
            let committed = db::commit(tx).await;
            // Whatever came of it: a broken COMMIT may have changed it.
            state.resolver.directory.written();
            committed?;
            let owner = owner.as_deref().unwrap_or_default();
            return Ok(domain_body::render(&state, StatusCode::OK, &domain, owner));
        }
    }
    Err(Problem::unavailable())
}
