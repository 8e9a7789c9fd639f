//! SQL of quotas: what a tenant has of everything that is limited, and the change of its limits with its entry in
//! the log. Limits themselves are read by `db::quota`.

use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::Error;
use crate::db::audit::{self, Act, Author};
use crate::db::quota::{self, Defaults, Exceeded, Overrides, Quota};

/// How far use is counted for show: what is more is shown as this.
pub const COUNTED: i64 = 1_000_000;

/// Limits as bodies, answers and the log have them.
pub fn document(overrides: &Overrides) -> Value {
    let Overrides { domains, names, meetings, participants, api_keys, requests_per_second, requests_burst } =
        overrides;
    json!({
        "domains": domains, "names": names, "meetings": meetings, "participants": participants,
        "api_keys": api_keys, "requests_per_second": requests_per_second, "requests_burst": requests_burst,
    })
}

/// Replaces the limits of the author's tenant, which is locked.
pub async fn replace_overrides(
    conn: &mut PgConnection,
    author: Author,
    slug: &str,
    to: &Overrides,
    now: OffsetDateTime,
) -> Result<(), Error> {
    let (before, revision) = quota::find_overrides(&mut *conn, author.tenant_id).await?;
    quota::update_overrides(conn, author.tenant_id, to, revision + 1, now).await?;
    let act = Act::new("tenant.quotas_changed", slug).before(document(&before)).after(document(to));
    audit::insert(conn, author, now, &[act]).await
}

/// What the tenant has. Names are counted where they are made; the others here, each by an index and at most to
/// [`COUNTED`].
pub async fn find_use(
    conn: &mut PgConnection,
    tenant_id: i64,
    now: OffsetDateTime,
) -> Result<[(Quota, i64); 5], Error> {
    let row = sqlx::query!(
        r#"SELECT (SELECT count(*) FROM (SELECT FROM domain_state WHERE tenant_id = $1 LIMIT $2) AS d) AS "domains!",
                  (SELECT coalesce(sum(names_count), 0)::bigint FROM domain_state WHERE tenant_id = $1) AS "names!",
                  (SELECT count(*) FROM (SELECT FROM meetings WHERE tenant_id = $1 LIMIT $2) AS m) AS "meetings!",
                  (SELECT count(*) FROM (SELECT FROM participants WHERE tenant_id = $1 LIMIT $2) AS p) AS "participants!""#,
        tenant_id,
        COUNTED
    )
    .fetch_one(&mut *conn)
    .await?;
    let api_keys = count_valid_keys(conn, tenant_id, COUNTED, now).await?;
    Ok([
        (Quota::Domains, row.domains),
        (Quota::Names, row.names),
        (Quota::Meetings, row.meetings),
        (Quota::Participants, row.participants),
        (Quota::ApiKeys, api_keys),
    ])
}

/// Whether the tenant may have one more key, with the tenant locked until the transaction ends.
pub async fn admit_key(
    conn: &mut PgConnection,
    tenant_id: i64,
    defaults: &Defaults,
    now: OffsetDateTime,
) -> Result<Result<(), Exceeded>, Error> {
    let Some(limit) = quota::lock(conn, tenant_id, Quota::ApiKeys, defaults).await? else {
        return Ok(Ok(()));
    };
    let used = count_valid_keys(conn, tenant_id, limit.count_to(), now).await?;
    Ok(limit.admit(used, 1))
}

async fn count_valid_keys(
    conn: &mut PgConnection,
    tenant_id: i64,
    most: i64,
    now: OffsetDateTime,
) -> Result<i64, Error> {
    // Two scans, so that keys which have expired, like those which were revoked, are not read.
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (
               SELECT FROM api_keys WHERE tenant_id = $1 AND revoked_at IS NULL AND expires_at IS NULL
               UNION ALL
               SELECT FROM api_keys WHERE tenant_id = $1 AND revoked_at IS NULL AND expires_at > $3
               LIMIT $2) AS counted"#,
        tenant_id,
        most,
        now
    );
    Ok(count.fetch_one(conn).await?)
}
