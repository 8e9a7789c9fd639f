//! One name as management reads it.

use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use time::OffsetDateTime;

use crate::db;
use crate::purl::model::{Domain, Purl};
use crate::purl::row;

/// A row of `purls`, as far as management shows it.
pub(super) struct NameRow {
    pub(super) purl_id: i64,
    pub(super) name_key: String,
    pub(super) name: String,
    pub(super) revision: i64,
    pub(super) status: i16,
    pub(super) kind: Option<String>,
    pub(super) target: Option<String>,
    pub(super) variants: Option<Value>,
    pub(super) valid_until: Option<OffsetDateTime>,
    pub(super) tombstone_reason: Option<String>,
    pub(super) successor: Option<String>,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

impl TryFrom<NameRow> for Purl {
    type Error = db::Error;

    fn try_from(found: NameRow) -> Result<Self, db::Error> {
        Ok(Self {
            purl_id: found.purl_id,
            name_key: found.name_key,
            name: found.name,
            revision: found.revision,
            status: row::status(found.purl_id, found.status)?,
            kind: row::kind(found.purl_id, found.kind.as_deref())?,
            target: found.target,
            variants: row::variants(found.purl_id, found.variants.as_ref())?,
            valid_until: found.valid_until,
            tombstone_reason: found.tombstone_reason,
            successor: found.successor,
            created_at: found.created_at,
            updated_at: found.updated_at,
        })
    }
}

/// The name with this key.
pub async fn find_purl(pool: &PgPool, domain: &Domain, name_key: &str) -> Result<Option<Purl>, db::Error> {
    let found = sqlx::query_as!(
        NameRow,
        "SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until, tombstone_reason,
                successor, created_at, updated_at
         FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3",
        domain.home_tenant_id,
        domain.domain_id,
        name_key
    );
    found.fetch_optional(pool).await?.map(Purl::try_from).transpose()
}

/// The names with these keys.
pub async fn list_purls(
    connection: &mut PgConnection,
    domain: &Domain,
    keys: &[String],
) -> Result<Vec<Purl>, db::Error> {
    let rows = sqlx::query_as!(
        NameRow,
        "SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until, tombstone_reason,
                successor, created_at, updated_at
         FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = ANY ($3)",
        domain.home_tenant_id,
        domain.domain_id,
        keys
    );
    rows.fetch_all(connection).await?.into_iter().map(Purl::try_from).collect()
}
