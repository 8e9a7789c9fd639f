//! Results: reading the document that the close wrote, live numbers, publishing.

use sqlx::PgConnection;

use crate::db;
use crate::voting::count::tally::Count;
use crate::voting::weight::Amount;

/// The result document of a round, once counted.
pub async fn find_result(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
) -> Result<Option<String>, db::Error> {
    Ok(sqlx::query_scalar!(
        "SELECT body FROM poll_results WHERE tenant_id = $1 AND poll_id = $2 AND round = $3",
        tenant_id,
        poll_id,
        round
    )
    .fetch_optional(conn)
    .await?)
}

/// The published result of a poll's current round, by the tenant's slug: no principal is needed.
pub async fn find_published(
    conn: &mut PgConnection,
    slug: &str,
    poll_id: i64,
) -> Result<Option<String>, db::Error> {
    Ok(sqlx::query_scalar!(
        "SELECT r.body FROM tenants t
         JOIN polls p ON p.tenant_id = t.tenant_id
         JOIN poll_results r ON r.tenant_id = p.tenant_id AND r.poll_id = p.poll_id AND r.round = p.round
         WHERE t.slug = $1 AND p.poll_id = $2 AND p.result_state = 'published'",
        slug,
        poll_id
    )
    .fetch_optional(conn)
    .await?)
}

/// Publishes the counted result of a round. The caller holds the poll's lock and has seen that it is one.
pub async fn update_published(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE polls SET result_state = 'published', generation = generation + 1
         WHERE tenant_id = $1 AND poll_id = $2",
        tenant_id,
        poll_id
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE poll_results SET published_at = clock_timestamp()
         WHERE tenant_id = $1 AND poll_id = $2 AND round = $3 AND published_at IS NULL",
        tenant_id,
        poll_id,
        round
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ballots so far, grouped by option, and the electorate; for polls whose results are live. `OFFSET 0` as in
/// the close: the ballot stays a look-up by its whole key.
pub async fn list_live_counts(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
) -> Result<(Count, Vec<(i64, Count)>), db::Error> {
    let rows = sqlx::query!(
        r#"SELECT b.option_id AS "option_id?", count(*) AS "heads!",
                  sum(e.weight_micros)::text AS "weight_micros!"
           FROM poll_electorate e
           LEFT JOIN LATERAL (
               SELECT (b.choice ->> 0)::bigint AS option_id FROM ballots b
               WHERE b.tenant_id = e.tenant_id AND b.poll_id = e.poll_id AND b.round = e.round
                 AND b.participant_id = e.participant_id OFFSET 0) AS b ON true
           WHERE e.tenant_id = $1 AND e.poll_id = $2 AND e.round = $3
           GROUP BY 1"#,
        tenant_id,
        poll_id,
        round
    )
    .fetch_all(conn)
    .await?;
    let mut entitled = Count::default();
    let mut groups = Vec::new();
    for row in rows {
        let group = count_of(row.heads, &row.weight_micros)?;
        entitled = entitled + group;
        groups.extend(row.option_id.map(|option_id| (option_id, group)));
    }
    Ok((entitled, groups))
}

/// A count as SQL gives it: `sum(bigint)` is numeric and may pass 64 bits, so it travels as text.
pub fn count_of(heads: i64, weight_micros: &str) -> Result<Count, db::Error> {
    let impossible = || db::Error::Internal("ballots: a sum of weights is no whole number".into());
    Ok(Count {
        heads: u64::try_from(heads).map_err(|_| impossible())?,
        weight: Amount::from_micros(weight_micros.parse().map_err(|_| impossible())?),
    })
}
