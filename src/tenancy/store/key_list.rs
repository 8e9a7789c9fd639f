//! The keys of a tenant, page by page.

use sqlx::PgPool;
use uuid::Uuid;

use super::KeyRow;
use crate::db::Error;
use crate::db::keyset::{Listing, Page, Seek, Window};

/// In order of id, which is order of creation (UUIDv7).
pub static KEYS: Listing<Uuid> =
    Listing { name: "keys", index: "api_keys_tenant_id_idx", start: Uuid::nil() };

/// Keys of a tenant, revoked ones included.
pub async fn list_keys(
    pool: &PgPool,
    tenant_id: i64,
    window: &Window<Uuid>,
) -> Result<Page<KeyRow, Uuid>, Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                KeyRow,
                r#"/* list keys */
                   SELECT api_key_id, tenant_id, scope, label, created_at, expires_at, revoked_at, last_used_at,
                          ARRAY(SELECT path FROM api_key_domains d JOIN domains USING (domain_id)
                                WHERE d.api_key_id = k.api_key_id ORDER BY path) AS "domains!"
                   FROM api_keys k WHERE tenant_id = $1 AND api_key_id >= $2
                   ORDER BY api_key_id LIMIT $3"#,
                tenant_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                KeyRow,
                r#"/* list keys */
                   SELECT api_key_id, tenant_id, scope, label, created_at, expires_at, revoked_at, last_used_at,
                          ARRAY(SELECT path FROM api_key_domains d JOIN domains USING (domain_id)
                                WHERE d.api_key_id = k.api_key_id ORDER BY path) AS "domains!"
                   FROM api_keys k WHERE tenant_id = $1 AND api_key_id < $2
                   ORDER BY api_key_id DESC LIMIT $3"#,
                tenant_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    Ok(window.page(rows, |row| row.api_key_id))
}
