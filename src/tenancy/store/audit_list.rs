//! The audit log of a tenant, page by page. It is written by `db::audit`.

use serde_json::Value;
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::db::Error;
use crate::db::keyset::{Listing, Page, Seek, Window};

/// The newest first: in order of id, which is numbered as entries are written. (Entries of two transactions at once may
/// become visible in the other order.)
pub static AUDIT_LOG: Listing<i64> = Listing { name: "audit log", index: "audit_log_pkey", start: i64::MAX };

/// An entry as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRow {
    /// Its number.
    pub audit_id: i64,
    /// When, by the clock of the server that acted.
    pub happened_at: OffsetDateTime,
    /// `key`, `command_line` or `server`.
    pub actor_kind: String,
    /// The key that acted.
    pub actor_key_id: Option<Uuid>,
    /// `<kind>.<what was done>`.
    pub action: String,
    /// What it was done to.
    pub subject_kind: String,
    /// How the API calls that.
    pub subject_reference: String,
    /// What the act replaced.
    pub before: Option<Value>,
    /// What it made.
    pub after: Option<Value>,
    /// Id of the request.
    pub request: Option<String>,
}

/// Entries of a tenant.
pub async fn list_audit_log(
    pool: &PgPool,
    tenant_id: i64,
    window: &Window<i64>,
) -> Result<Page<AuditRow, i64>, Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                AuditRow,
                "/* list audit log */
                 SELECT audit_id, happened_at, actor_kind, actor_key_id, action, subject_kind, subject_reference,
                        before, after, request
                 FROM audit_log WHERE tenant_id = $1 AND audit_id <= $2 ORDER BY audit_id DESC LIMIT $3",
                tenant_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                AuditRow,
                "/* list audit log */
                 SELECT audit_id, happened_at, actor_kind, actor_key_id, action, subject_kind, subject_reference,
                        before, after, request
                 FROM audit_log WHERE tenant_id = $1 AND audit_id > $2 ORDER BY audit_id LIMIT $3",
                tenant_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    Ok(window.page(rows, |row| row.audit_id))
}
