//! GET /api/v1/domain-rule-revisions/{path}

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Purls, addressed};
use crate::http::auth::{InDomains, MayRead};
use crate::http::{Problem, paging};
use crate::purl::store::rule_sets::{RULE_REVISIONS, RuleRevision, list_rule_revisions};

#[derive(Serialize)]
struct Item {
    revision: i64,
    rules: i64,
    #[serde(with = "time::serde::rfc3339")]
    written_at: OffsetDateTime,
    written_by: Option<Uuid>,
}

/// Every state that the rules of a domain have had, the newest first. Each is read whole with `?revision=`.
pub async fn list(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let domain = addressed::domain(&state, &caller, &uri, "/api/v1/domain-rule-revisions").await?;
    let asked = query.page_of(&RULE_REVISIONS, caller.tenant_id, vec![domain.domain_id.to_string()])?;
    let page = list_rule_revisions(state.db.management(), &domain, &asked.window).await?;
    asked.answer(page.map(|RuleRevision { revision, rules, written_at, written_by }| Item {
        revision,
        rules,
        written_at,
        written_by,
    }))
}
