//! The audit log, for the admins of a tenant. It can be read and nothing else.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Tenancy;
use crate::http::Problem;
use crate::http::auth::MayAdminister;
use crate::http::paging;
use crate::tenancy::store::audit_list::{AUDIT_LOG, AuditRow, list_audit_log};

#[derive(Serialize)]
struct Entry {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    #[serde(with = "time::serde::rfc3339")]
    happened_at: OffsetDateTime,
    actor: Actor,
    action: String,
    subject: Subject,
    before: Option<Value>,
    after: Option<Value>,
    request: Option<String>,
}

#[derive(Serialize)]
struct Actor {
    kind: String,
    key: Option<Uuid>,
}

#[derive(Serialize)]
struct Subject {
    kind: String,
    reference: String,
}

impl From<AuditRow> for Entry {
    fn from(row: AuditRow) -> Self {
        Self {
            id: row.audit_id,
            happened_at: row.happened_at,
            actor: Actor { kind: row.actor_kind, key: row.actor_key_id },
            action: row.action,
            subject: Subject { kind: row.subject_kind, reference: row.subject_reference },
            before: row.before,
            after: row.after,
            request: row.request,
        }
    }
}

/// GET /api/v1/audit-log
pub async fn list(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let asked = query.page_of(&AUDIT_LOG, caller.tenant_id, Vec::new())?;
    let page = list_audit_log(state.db.management(), caller.tenant_id, &asked.window).await?;
    asked.answer(page.map(Entry::from))
}
