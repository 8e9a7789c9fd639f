//! Who may cast for whom now. The caller holds the meeting's lock, which keeps the rules between proxies.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db;
use crate::voting::rules::Ties;

/// Who holds the principal's proxy.
pub async fn find_holder(
    conn: &mut PgConnection,
    tenant_id: i64,
    principal_id: i64,
) -> Result<Option<i64>, db::Error> {
    let holder = sqlx::query_scalar!(
        "SELECT holder_id FROM proxies WHERE tenant_id = $1 AND principal_id = $2",
        tenant_id,
        principal_id
    );
    Ok(holder.fetch_optional(conn).await?)
}

/// What already ties the two to others, the proxy that the principal has given aside.
pub async fn find_ties(
    conn: &mut PgConnection,
    tenant_id: i64,
    principal_id: i64,
    holder_id: i64,
) -> Result<Ties, db::Error> {
    let ties = sqlx::query_as!(
        Ties,
        r#"SELECT EXISTS (SELECT FROM proxies WHERE tenant_id = $1 AND holder_id = $2) AS "principal_holds!",
                  EXISTS (SELECT FROM proxies WHERE tenant_id = $1 AND principal_id = $3) AS "holder_gave!",
                  (SELECT count(*) FROM proxies
                   WHERE tenant_id = $1 AND holder_id = $3 AND principal_id <> $2) AS "held!""#,
        tenant_id,
        principal_id,
        holder_id
    );
    Ok(ties.fetch_one(conn).await?)
}

/// Gives the principal's proxy to the holder, in place of another one.
pub async fn upsert_proxy(
    conn: &mut PgConnection,
    tenant_id: i64,
    principal_id: i64,
    holder_id: i64,
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    sqlx::query!(
        "INSERT INTO proxies (tenant_id, principal_id, holder_id, given_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant_id, principal_id) DO UPDATE SET holder_id = $3, given_at = $4",
        tenant_id,
        principal_id,
        holder_id,
        now
    )
    .execute(&mut *conn)
    .await?;
    update_revisions(conn, tenant_id, &[principal_id]).await
}

/// Ends the proxies that somebody has given or holds: principal and holder of each.
pub async fn delete_proxies(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
) -> Result<Vec<(i64, i64)>, db::Error> {
    let rows = sqlx::query!(
        "DELETE FROM proxies WHERE tenant_id = $1 AND (principal_id = $2 OR holder_id = $2)
         RETURNING principal_id, holder_id",
        tenant_id,
        participant_id
    )
    .fetch_all(&mut *conn)
    .await?;
    let ended: Vec<(i64, i64)> = rows.into_iter().map(|row| (row.principal_id, row.holder_id)).collect();
    let principals: Vec<i64> = ended.iter().map(|(principal_id, _)| *principal_id).collect();
    update_revisions(conn, tenant_id, &principals).await?;
    Ok(ended)
}

async fn update_revisions(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_ids: &[i64],
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE participants SET revision = revision + 1 WHERE tenant_id = $1 AND participant_id = ANY($2)",
        tenant_id,
        participant_ids
    )
    .execute(conn)
    .await?;
    Ok(())
}
