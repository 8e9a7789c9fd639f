//! GET /api/v1/purl-revisions/{full path}

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::Uri;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Purls, addressed};
use crate::http::Problem;
use crate::http::auth::{InDomains, MayRead};
use crate::http::id;
use crate::http::query::QueryObject;
use crate::purl::store::names::{self, Revision};

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 200;

#[derive(Serialize)]
struct Body {
    items: Vec<Item>,
    /// What `before` of the next, older, page is; absent on the last.
    next_before: Option<i64>,
}

#[derive(Serialize)]
struct Item {
    revision: i64,
    status: u16,
    partial: bool,
    target: Option<String>,
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
            partial: state.is_partial,
            target: state.target,
            valid_until: state.valid_until,
            reason: state.tombstone_reason,
            successor: state.successor,
            written_at: state.written_at,
            written_by: state.written_by,
            superseded_at: state.superseded_at,
        }
    }
}

/// A number in a query, which arrives as text.
fn number(max: i64) -> impl FnOnce(&Value) -> Result<i64, String> {
    move |value| {
        let number = value.as_str().and_then(id::parse).filter(|number| *number <= max);
        number.ok_or_else(|| format!("must be a whole number from 1 to {max}"))
    }
}

/// Every state the name has had, the newest first. `before` (a revision) and `limit` walk it.
pub async fn list(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    uri: Uri,
    query: QueryObject,
) -> Result<Response, Problem> {
    let mut reader = query.fields();
    let before = reader.optional("before", number(i64::MAX));
    let limit = reader.optional("limit", number(MAX_LIMIT));
    reader.finish()?;
    let (before, limit) = (before?.unwrap_or(i64::MAX), limit?.unwrap_or(DEFAULT_LIMIT));

    let (domain, purl) = addressed::purl(&state, &caller, &uri, "/api/v1/purl-revisions").await?;
    let pool = state.db.management();
    let found = names::list_revisions(pool, &domain, &purl.name_key, before, limit).await?;
    // Revisions are numbered without gaps from 1, so the last one says whether there are older ones.
    let next_before = found.last().map(|oldest| oldest.revision).filter(|oldest| *oldest > 1);
    let items = found.into_iter().map(Item::from).collect();
    Ok(Json(Body { items, next_before }).into_response())
}
