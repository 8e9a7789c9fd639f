//! SQL of tenants and keys. The key directory is global: a request finds its tenant here.

pub mod key_list;

use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use super::slug::Slug;
use crate::db::{Error, notify};

/// The topic of messages about keys; an item is the key's id.
pub const KEYS_TOPIC: &str = "keys";

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub tenant_id: i64,
    /// Its word in addresses.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// Its id.
    pub api_key_id: Uuid,
    /// Its tenant; None for an operator's.
    pub tenant_id: Option<i64>,
    /// Its scope's word.
    pub scope: String,
    /// What its owner calls it.
    pub label: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was revoked.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was last used, to about ten minutes.
    pub last_used_at: Option<OffsetDateTime>,
    /// Paths of the domains it is limited to; empty: not limited.
    pub domains: Vec<String>,
}

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    /// Its id.
    pub api_key_id: Uuid,
    /// Its tenant; None for an operator's.
    pub tenant_id: Option<i64>,
    /// Its scope's word.
    pub scope: &'a str,
    /// What its owner calls it.
    pub label: &'a str,
    /// SHA-256 of its secret.
    pub secret_sha256: [u8; 32],
    /// Now.
    pub created_at: OffsetDateTime,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
    /// Ids of the domains it is limited to; empty: not limited.
    pub domain_ids: &'a [i64],
}

/// What authentication needs of a key.
#[derive(Clone, Debug)]
pub struct KeySecret {
    /// Its tenant; None for an operator's.
    pub tenant_id: Option<i64>,
    /// Its scope's word.
    pub scope: String,
    /// SHA-256 of its secret.
    pub secret_sha256: Vec<u8>,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was revoked.
    pub revoked_at: Option<OffsetDateTime>,
    /// When it was last used.
    pub last_used_at: Option<OffsetDateTime>,
    /// Ids of the domains it is limited to; empty: not limited.
    pub domain_ids: Vec<i64>,
}

/// Stores a tenant. A taken slug is the unique violation `tenants_slug_key`.
pub async fn insert_tenant(
    pool: &PgPool,
    slug: &Slug,
    name: &str,
    now: OffsetDateTime,
) -> Result<Tenant, Error> {
    let row = sqlx::query_as!(
        Tenant,
        "INSERT INTO tenants (slug, name, created_at) VALUES ($1, $2, $3) RETURNING tenant_id, slug, name, created_at",
        slug.as_str(),
        name,
        now
    );
    let mut tx = pool.begin_with(crate::db::BEGIN).await?;
    let tenant = row.fetch_one(&mut *tx).await?;
    tx.commit().await.map_err(|error| Error::from(error).during_commit())?;
    Ok(tenant)
}

/// The tenant of a slug.
pub async fn find_tenant(pool: &PgPool, slug: &str) -> Result<Option<Tenant>, Error> {
    let row = sqlx::query_as!(
        Tenant,
        "SELECT tenant_id, slug, name, created_at FROM tenants WHERE slug = $1",
        slug
    );
    Ok(row.fetch_optional(pool).await?)
}

/// Whether there is any tenant.
pub async fn any_tenant(pool: &PgPool) -> Result<bool, Error> {
    Ok(sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM tenants) AS "any!""#).fetch_one(pool).await?)
}

/// Stores a key with its limits, all or nothing.
pub async fn insert_key(pool: &PgPool, key: &NewKey<'_>) -> Result<(), Error> {
    let mut tx = pool.begin_with(crate::db::BEGIN).await?;
    sqlx::query!(
        "INSERT INTO api_keys (api_key_id, tenant_id, scope, label, secret_sha256, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        key.api_key_id,
        key.tenant_id,
        key.scope,
        key.label,
        key.secret_sha256.as_slice(),
        key.created_at,
        key.expires_at
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "INSERT INTO api_key_domains (api_key_id, domain_id) SELECT $1, unnest($2::bigint[])",
        key.api_key_id,
        key.domain_ids
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await.map_err(|error| Error::from(error).during_commit())
}

/// What authentication needs of a key.
pub async fn find_key_secret(pool: &PgPool, api_key_id: Uuid) -> Result<Option<KeySecret>, Error> {
    let row = sqlx::query_as!(
        KeySecret,
        r#"SELECT tenant_id, scope, secret_sha256, expires_at, revoked_at, last_used_at,
                  ARRAY(SELECT domain_id FROM api_key_domains d WHERE d.api_key_id = k.api_key_id) AS "domain_ids!"
           FROM api_keys k WHERE api_key_id = $1"#,
        api_key_id
    );
    Ok(row.fetch_optional(pool).await?)
}

/// Notes a use, unless one was noted in the last ten minutes, or somebody else is writing to the row: a request must
/// not wait for this.
pub async fn update_key_last_used(pool: &PgPool, api_key_id: Uuid, now: OffsetDateTime) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE api_keys SET last_used_at = $2
         WHERE api_key_id = (
             SELECT api_key_id FROM api_keys
             WHERE api_key_id = $1 AND (last_used_at IS NULL OR last_used_at < $2::timestamptz - interval '10 minutes')
             FOR UPDATE SKIP LOCKED)",
        api_key_id,
        now
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// A key of this tenant (None: of the operator).
pub async fn find_key(
    pool: &PgPool,
    tenant_id: Option<i64>,
    api_key_id: Uuid,
) -> Result<Option<KeyRow>, Error> {
    let row = sqlx::query_as!(
        KeyRow,
        r#"SELECT api_key_id, tenant_id, scope, label, created_at, expires_at, revoked_at, last_used_at,
                  ARRAY(SELECT path FROM api_key_domains d JOIN domains USING (domain_id)
                        WHERE d.api_key_id = k.api_key_id ORDER BY path) AS "domains!"
           FROM api_keys k WHERE api_key_id = $2 AND tenant_id IS NOT DISTINCT FROM $1"#,
        tenant_id,
        api_key_id
    );
    Ok(row.fetch_optional(pool).await?)
}

/// All keys of a tenant (None: the operator's), in order of creation. For the command line.
pub async fn list_all_keys(pool: &PgPool, tenant_id: Option<i64>) -> Result<Vec<KeyRow>, Error> {
    let rows = sqlx::query_as!(
        KeyRow,
        r#"SELECT api_key_id, tenant_id, scope, label, created_at, expires_at, revoked_at, last_used_at,
                  ARRAY(SELECT path FROM api_key_domains d JOIN domains USING (domain_id)
                        WHERE d.api_key_id = k.api_key_id ORDER BY path) AS "domains!"
           FROM api_keys k WHERE tenant_id IS NOT DISTINCT FROM $1 ORDER BY api_key_id"#,
        tenant_id
    );
    Ok(rows.fetch_all(pool).await?)
}

/// Revokes a key, of whichever tenant if `tenant_id` is None. False if there is no such key. Revoking twice keeps
/// the first time. Goes to the other processes with the same statement, so that it is heard if it happened.
pub async fn revoke_key(
    pool: &PgPool,
    tenant_id: Option<i64>,
    api_key_id: Uuid,
    now: OffsetDateTime,
) -> Result<bool, Error> {
    let payloads = notify::payloads(KEYS_TOPIC, [api_key_id.to_string()]);
    let told = sqlx::query_scalar!(
        r#"WITH revoked AS (
               UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3)
               WHERE api_key_id = $2 AND ($1::bigint IS NULL OR tenant_id = $1) RETURNING api_key_id)
           SELECT pg_notify($5, payload)::text AS "told" FROM revoked, unnest($4::text[]) AS p (payload)"#,
        tenant_id,
        api_key_id,
        now,
        &payloads,
        notify::CHANNEL
    );
    let mut tx = pool.begin_with(crate::db::BEGIN).await?;
    let told = told.fetch_optional(&mut *tx).await?;
    tx.commit().await.map_err(|error| Error::from(error).during_commit())?;
    Ok(told.is_some())
}

/// Ids of these domains, as far as this tenant owns them, with their paths.
pub async fn list_owned_domains(
    pool: &PgPool,
    tenant_id: i64,
    paths: &[String],
) -> Result<Vec<(String, i64)>, Error> {
    let rows = sqlx::query!(
        "SELECT path, domain_id FROM domains WHERE owner_tenant_id = $1 AND path = ANY($2)",
        tenant_id,
        paths
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(|row| (row.path, row.domain_id)).collect())
}
