//! GET /api/v1/purl-revisions/{full path}

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Purls, addressed};
use crate::http::auth::{InDomains, MayRead};
use crate::http::{Problem, paging};
use crate::purl::store::revisions::{REVISIONS, Revision, list_revisions};
use crate::purl::variant;

#[derive(Serialize)]
struct Item {
    revision: i64,
    status: u16,
    kind: &'static str,
    target: Option<String>,
    variants: Value,
    #[serde(with = "time::serde::rfc3339::option")]
    valid_until: Option<OffsetDateTime>,
    reason: Option<String>,
    successor: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    written_at: OffsetDateTime,
    written_by: Option<Uuid>,
    #[serde(with = "time::serde::rfc3339::option")]
    superseded_at: Option<OffsetDateTime>,
}

impl From<Revision> for Item {
    fn from(state: Revision) -> Self {
        Self {
            revision: state.revision,
            status: state.status,
            kind: state.kind.as_str(),
            target: state.target,
            variants: variant::to_json(&state.variants),
            valid_until: state.valid_until,
            reason: state.tombstone_reason,
            successor: state.successor,
            written_at: state.written_at,
            written_by: state.written_by,
            superseded_at: state.superseded_at,
        }
    }
}

/// Every state the name has had, the newest first.
pub async fn list(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let (domain, purl) = addressed::purl(&state, &caller, &uri, "/api/v1/purl-revisions").await?;
    let filters = vec![domain.domain_id.to_string(), purl.name_key.clone()];
    let asked = query.page_of(&REVISIONS, caller.tenant_id, filters)?;
    let page = list_revisions(state.db.management(), &domain, &purl.name_key, &asked.window).await?;
    asked.answer(page.map(Item::from))
}
