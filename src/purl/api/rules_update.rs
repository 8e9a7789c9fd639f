//! PUT /api/v1/domain-rules/{path}, and going back to an earlier state of them.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{Uri, header};
use serde_json::{Value, json};

use super::rules_read::PREFIX;
use super::{Purls, addressed, rules_told};
use crate::db;
use crate::http::auth::{Caller, InDomains, MayEdit};
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::problem_codes::{INVALID, PRECONDITION_FAILED};
use crate::http::query::QueryObject;
use crate::http::{Problem, fields};
use crate::purl::change_preview::{self, Preview};
use crate::purl::model::Domain;
use crate::purl::rule_change::{self, ChangeError};
use crate::purl::ruleset::{self, Fault, Rule};
use crate::purl::store::{domains, rule_sets};

/// Replaces the rules of a domain, all at once. With `dry_run` nothing is changed, and the answer is what would be.
pub async fn update(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    query: QueryObject,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let dry_run = dry_run(&query)?;
    let mut document = body.0;
    // What was read can be sent back as it is.
    for name in ["domain", "revision"] {
        document.remove(name);
    }
    let rules = ruleset::read(&Value::Object(document)).map_err(|faults| invalid(&faults))?;
    let domain = addressed::domain(&state, &caller, &uri, PREFIX).await?;
    put(&state, &caller, &domain, &if_match, rules, dry_run).await
}

/// POST /api/v1/domain-rule-rollbacks/{path}: puts an earlier state in force again, as a new one.
pub async fn roll_back(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    query: QueryObject,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let dry_run = dry_run(&query)?;
    let mut reader = body.fields();
    let revision = reader.required("revision", fields::integer(0..=i64::MAX));
    reader.finish()?;
    let revision = revision?;
    let domain = addressed::domain(&state, &caller, &uri, "/api/v1/domain-rule-rollbacks").await?;
    let mut connection = state.db.management().acquire().await.map_err(db::Error::from)?;
    let found = rule_sets::find_revision(&mut connection, &domain, revision).await?;
    drop(connection);
    let rules = match found {
        Some(rules) => rules,
        // Before the first state there were none.
        None if revision == 0 => Vec::new(),
        None => {
            let detail = format!("the rules of this domain had no state {revision}");
            return Err(Problem::new(&INVALID).fault("/revision", detail));
        }
    };
    put(&state, &caller, &domain, &if_match, rules, dry_run).await
}

fn dry_run(query: &QueryObject) -> Result<bool, Problem> {
    let mut reader = query.fields();
    let dry_run = reader.optional("dry_run", |value| match value.as_str() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err("must be true or false".to_owned()),
    });
    reader.finish()?;
    Ok(dry_run?.unwrap_or(false))
}

/// Faults of a document of rules or checks.
pub fn invalid(faults: &[Fault]) -> Problem {
    // Of very many the first ones: an answer must not be many times the size of the body.
    let told = faults.iter().take(100);
    told.fold(Problem::new(&INVALID), |problem, fault| {
        problem.fault(fault.pointer.clone(), fault.detail.clone())
    })
}

async fn put(
    state: &Purls,
    caller: &Caller,
    seen: &Domain,
    if_match: &IfMatch,
    rules: Vec<Rule>,
    dry_run: bool,
) -> Result<Response, Problem> {
    if_match.check(seen.rules_revision)?;
    // Compiled before anything is locked; it must compile even where nobody is answered by it yet.
    let preview =
        Preview::compile(seen, rules, state.own.clone()).await?.map_err(|faults| invalid(&faults))?;
    let mut tx = state.db.begin().await?;
    let locked = domains::lock_domain_at(&mut tx, &seen.path).await?;
    let Some(domain) = locked.filter(|domain| domain.owner_tenant_id == caller.tenant_id) else {
        return Err(Problem::not_found());
    };
    if domain.rules_revision != seen.rules_revision && !matches!(if_match, IfMatch::Any) {
        let etag = etag::of_revision(domain.rules_revision);
        return Err(Problem::new(&PRECONDITION_FAILED).header(header::ETAG, etag));
    }
    let current = rule_sets::find_rules(&mut tx, &domain).await?;
    let now = state.clock.now();
    let changed = current != preview.rules;
    let mut told = change_preview::compare(&mut tx, &domain, current, &preview).await?;
    let mut revision = domain.rules_revision;
    if changed {
        let actor = caller.author().actor;
        match rule_change::change_rules(&mut tx, actor, &domain, &preview.rules, now).await {
            Ok(after) => revision = after.rules_revision,
            Err(ChangeError::Broken(broken)) if dry_run => told.broken = broken,
            Err(error) => return Err(error.into()),
        }
        told.round = change_preview::find_round(&mut tx, &domain, &preview.rules, now).await?;
    }
    if dry_run {
        tx.rollback().await.map_err(db::Error::from)?;
        revision = domain.rules_revision;
    } else {
        let committed = db::commit(tx).await;
        // Whatever came of it: a broken COMMIT may have changed it.
        state.resolver.directory.written();
        committed?;
    }
    let mut body = rules_told::body(&told);
    body["revision"] = json!(revision);
    body["rules"] = json!(preview.rules.len());
    body["changed"] = json!(changed && !dry_run);
    body["dry_run"] = json!(dry_run);
    Ok(([(header::ETAG, etag::of_revision(revision))], Json(body)).into_response())
}
