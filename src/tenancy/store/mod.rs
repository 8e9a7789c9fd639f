//! SQL of tenants and keys. The key directory is global: a request finds its tenant here.

pub mod audit_list;
pub mod key_list;
pub mod quotas;

use serde_json::json;
use sqlx::{PgConnection, PgExecutor, PgPool};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::slug::Slug;
use crate::db::audit::{self, Act, Actor, Author, SERVICE};
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
    /// The tenant's own limit of requests a second, if it has one.
    pub requests_per_second: Option<i32>,
    /// The same at once.
    pub requests_burst: Option<i32>,
}

/// A key that the present transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLock {
    /// Its id.
    pub api_key_id: Uuid,
    /// Its tenant; None for an operator's.
    pub tenant_id: Option<i64>,
    /// Whether it is revoked.
    pub revoked: bool,
}

/// Stores a tenant; its log begins with this. A taken slug is the unique violation `tenants_slug_key`.
pub async fn insert_tenant(
    conn: &mut PgConnection,
    actor: Actor,
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
    let tenant = row.fetch_one(&mut *conn).await?;
    let author = Author { tenant_id: tenant.tenant_id, actor };
    let entry = Act::new("tenant.created", &tenant.slug).after(json!({ "id": tenant.tenant_id.to_string() }));
    audit::insert(conn, author, now, &[entry]).await?;
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

/// Stores a key with its limits.
pub async fn insert_key(conn: &mut PgConnection, actor: Actor, key: &NewKey<'_>) -> Result<(), Error> {
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
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "INSERT INTO api_key_domains (api_key_id, domain_id) SELECT $1, unnest($2::bigint[])",
        key.api_key_id,
        key.domain_ids
    )
    .execute(&mut *conn)
    .await?;
    let author = Author { tenant_id: key.tenant_id.unwrap_or(SERVICE), actor };
    let domains: Vec<String> = key.domain_ids.iter().map(i64::to_string).collect();
    let expires_at = key.expires_at.and_then(|at| at.format(&Rfc3339).ok());
    let after = json!({ "scope": key.scope, "domains": domains, "expires_at": expires_at });
    audit::insert(conn, author, key.created_at, &[Act::new("key.created", &key.api_key_id).after(after)])
        .await
}

/// What authentication needs of a key.
pub async fn find_key_secret(pool: &PgPool, api_key_id: Uuid) -> Result<Option<KeySecret>, Error> {
    let row = sqlx::query_as!(
        KeySecret,
        r#"SELECT k.tenant_id, scope, secret_sha256, expires_at, revoked_at, last_used_at,
                  ARRAY(SELECT domain_id FROM api_key_domains d WHERE d.api_key_id = k.api_key_id) AS "domain_ids!",
                  q.requests_per_second AS "requests_per_second?", q.requests_burst AS "requests_burst?"
           FROM api_keys k LEFT JOIN tenant_quotas q ON q.tenant_id = k.tenant_id WHERE api_key_id = $1"#,
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
    executor: impl PgExecutor<'_>,
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
    Ok(row.fetch_optional(executor).await?)
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

/// Locks a key of this tenant, of whichever if `tenant_id` is None, until the transaction ends; its own tenant and
/// whether it is revoked. None if there is no such key.
pub async fn lock_key(
    conn: &mut PgConnection,
    tenant_id: Option<i64>,
    api_key_id: Uuid,
) -> Result<Option<KeyLock>, Error> {
    let row = sqlx::query!(
        r#"SELECT tenant_id, revoked_at IS NOT NULL AS "revoked!" FROM api_keys
           WHERE api_key_id = $2 AND ($1::bigint IS NULL OR tenant_id = $1) FOR NO KEY UPDATE"#,
        tenant_id,
        api_key_id
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| KeyLock { api_key_id, tenant_id: row.tenant_id, revoked: row.revoked }))
}

/// Revokes a locked key; one that was revoked before stays as it is. Announced by the same transaction, so that
/// other processes hear of it if it happened.
pub async fn revoke_key(
    conn: &mut PgConnection,
    actor: Actor,
    key: &KeyLock,
    now: OffsetDateTime,
) -> Result<(), Error> {
    if key.revoked {
        return Ok(());
    }
    sqlx::query!("UPDATE api_keys SET revoked_at = $2 WHERE api_key_id = $1", key.api_key_id, now)
        .execute(&mut *conn)
        .await?;
    let payloads = notify::payloads(KEYS_TOPIC, [key.api_key_id.to_string()]);
    sqlx::query!(
        "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS p (payload)",
        notify::CHANNEL,
        &payloads
    )
    .execute(&mut *conn)
    .await?;
    let author = Author { tenant_id: key.tenant_id.unwrap_or(SERVICE), actor };
    audit::insert(conn, author, now, &[Act::new("key.revoked", &key.api_key_id)]).await
}

/// Ids of these domains, as far as this tenant owns them, with their paths.
pub async fn list_owned_domains(
    executor: impl PgExecutor<'_>,
    tenant_id: i64,
    paths: &[String],
) -> Result<Vec<(String, i64)>, Error> {
    let rows = sqlx::query!(
        "SELECT path, domain_id FROM domains WHERE owner_tenant_id = $1 AND path = ANY($2)",
        tenant_id,
        paths
    );
    Ok(rows.fetch_all(executor).await?.into_iter().map(|row| (row.path, row.domain_id)).collect())
}
