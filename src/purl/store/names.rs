//! Names as management reads them: one, and its history.

use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::db;
use crate::purl::model::{Domain, Purl};
use crate::purl::row;

/// One state of a name, current or superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub revision: i64,
    /// 301, 302, 303, 307, 308, 404 or 410.
    pub status: u16,
    /// Whether it answered for everything below it.
    pub is_partial: bool,
    /// Where it pointed.
    pub target: Option<String>,
    /// When it was to expire.
    pub valid_until: Option<OffsetDateTime>,
    /// Of a tombstone: why.
    pub tombstone_reason: Option<String>,
    /// Of a tombstone: what to use instead.
    pub successor: Option<String>,
    /// From when it was in force.
    pub written_at: OffsetDateTime,
    /// The key that wrote it; none from the command line.
    pub written_by: Option<Uuid>,
    /// Until when it was in force; none for the current one.
    pub superseded_at: Option<OffsetDateTime>,
}

/// The name with this key.
pub async fn find_purl(pool: &PgPool, domain: &Domain, name_key: &str) -> Result<Option<Purl>, db::Error> {
    let found = sqlx::query!(
        "SELECT purl_id, name_key, name, revision, status, is_partial, target, valid_until, tombstone_reason,
                successor, created_at, updated_at
         FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3",
        domain.home_tenant_id,
        domain.domain_id,
        name_key
    )
    .fetch_optional(pool)
    .await?;
    let Some(found) = found else { return Ok(None) };
    Ok(Some(Purl {
        purl_id: found.purl_id,
        name_key: found.name_key,
        name: found.name,
        revision: found.revision,
        status: row::status(found.purl_id, found.status)?,
        is_partial: found.is_partial,
        target: found.target,
        valid_until: found.valid_until,
        tombstone_reason: found.tombstone_reason,
        successor: found.successor,
        created_at: found.created_at,
        updated_at: found.updated_at,
    }))
}

/// States of a name before revision `before`, the newest first, at most `limit`. The row in `purls` is the
/// newest one; the others are in `purl_revisions`.
pub async fn list_revisions(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
    before: i64,
    limit: i64,
) -> Result<Vec<Revision>, db::Error> {
    let rows = sqlx::query!(
        r#"SELECT revision AS "revision!", status AS "status!", is_partial AS "is_partial!", target, valid_until,
                  tombstone_reason, successor, written_at AS "written_at!", written_by, superseded_at
           FROM (SELECT revision, status, is_partial, target, valid_until, tombstone_reason, successor,
                        updated_at AS written_at, updated_by AS written_by, NULL::timestamptz AS superseded_at
                 FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision < $4
                 UNION ALL
                 (SELECT revision, status, is_partial, target, valid_until, tombstone_reason, successor,
                         written_at, written_by, superseded_at
                  FROM purl_revisions WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision < $4
                  ORDER BY revision DESC LIMIT $5)) AS states
           ORDER BY revision DESC LIMIT $5"#,
        domain.home_tenant_id,
        domain.domain_id,
        name_key,
        before,
        limit
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|found| {
            Ok(Revision {
                revision: found.revision,
                status: row::status(found.revision, found.status)?,
                is_partial: found.is_partial,
                target: found.target,
                valid_until: found.valid_until,
                tombstone_reason: found.tombstone_reason,
                successor: found.successor,
                written_at: found.written_at,
                written_by: found.written_by,
                superseded_at: found.superseded_at,
            })
        })
        .collect()
}
