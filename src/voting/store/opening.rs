//! Opening a poll: reading who may vote and freezing it. The caller holds the locks of meeting and poll.

use futures_util::TryStreamExt as _;
use sqlx::PgConnection;

use super::impossible;
use super::participants::weight_of;
use crate::db::{self, NO_NESTED_LOOPS};
use crate::voting::record::electorate::{Entry, person_hash};
use crate::voting::record::event::Event;
use crate::voting::record::hash::Hash;

/// One voter of an electorate about to be frozen.
#[derive(Debug, Clone)]
pub struct Voter {
    /// Which participant.
    pub participant_id: i64,
    /// Who holds the voter's proxy.
    pub holder_id: Option<i64>,
    /// As hashed.
    pub entry: Entry,
}

/// Everybody who is in the meeting now.
pub async fn list_voters(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
) -> Result<Vec<Voter>, db::Error> {
    sqlx::raw_sql(NO_NESTED_LOOPS).execute(&mut *conn).await?;
    // One by one as they come: all rows at once would take several times the memory.
    let mut rows = sqlx::query!(
        r#"SELECT v.participant_id, v.record_key, v.name, v.external_reference, v.weight_micros, v.salt,
                  x.holder_id AS "holder_id?", h.record_key AS "holder_key?"
           FROM participants v
           LEFT JOIN proxies x ON x.tenant_id = v.tenant_id AND x.principal_id = v.participant_id
           LEFT JOIN participants h ON h.tenant_id = x.tenant_id AND h.participant_id = x.holder_id
           WHERE v.tenant_id = $1 AND v.meeting_id = $2 AND v.removed_at IS NULL ORDER BY v.participant_id"#,
        tenant_id,
        meeting_id
    )
    .fetch(conn);
    let mut voters = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let salt: [u8; 32] = row
            .salt
            .try_into()
            .map_err(|_| impossible("participants", "salt", "of another length", row.participant_id))?;
        voters.push(Voter {
            participant_id: row.participant_id,
            holder_id: row.holder_id,
            entry: Entry {
                record_key: row.record_key,
                person: person_hash(&salt, &row.name, row.external_reference.as_deref()),
                weight: weight_of(row.participant_id, row.weight_micros)?,
                holder: row.holder_key,
            },
        });
    }
    Ok(voters)
}

/// Freezes exactly these voters as the electorate of the round.
pub async fn insert_electorate(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
    voters: &[Voter],
) -> Result<(), db::Error> {
    let ids: Vec<i64> = voters.iter().map(|voter| voter.participant_id).collect();
    let weights: Vec<i64> = voters.iter().map(|voter| voter.entry.weight.micros()).collect();
    let holders: Vec<Option<i64>> = voters.iter().map(|voter| voter.holder_id).collect();
    sqlx::query!(
        "INSERT INTO poll_electorate (tenant_id, poll_id, round, participant_id, weight_micros, holder_id)
         SELECT $1, $2, $3, i.participant_id, i.weight_micros, i.holder_id
         FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) AS i (participant_id, weight_micros, holder_id)",
        tenant_id,
        poll_id,
        round,
        &ids,
        &weights,
        &holders as &[Option<i64>]
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes the round's counters of those options that have seats, with nothing taken.
pub async fn insert_seats(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
) -> Result<(), db::Error> {
    sqlx::query!(
        "INSERT INTO poll_seats (tenant_id, poll_id, round, option_id, seats)
         SELECT tenant_id, poll_id, $3, option_id, seats FROM poll_options
         WHERE tenant_id = $1 AND poll_id = $2 AND seats IS NOT NULL",
        tenant_id,
        poll_id,
        round
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Opens the poll with event 0 of its log, both at one instant of the database's clock. False, and nothing is
/// written, when the deadline has passed at that instant.
pub async fn update_opened(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    round: i32,
    (opening_hash, electorate_hash): (&Hash, &Hash),
    opened: &Event,
) -> Result<bool, db::Error> {
    let done = sqlx::query!(
        "WITH instant AS MATERIALIZED (SELECT clock_timestamp() AS now),
         opened AS (
             UPDATE polls SET state = 'open', opened_at = instant.now, generation = generation + 1,
                              opening_hash = $4, electorate_hash = $5, record_size = 1
             FROM instant
             WHERE tenant_id = $1 AND poll_id = $2 AND round = $3
               AND (closes_at IS NULL OR instant.now < closes_at)
             RETURNING opened_at
         )
         INSERT INTO poll_events (tenant_id, poll_id, round, event_index, kind, body, event_hash, happened_at)
         SELECT $1, $2, $3, 0, 'opened', $6, $7, opened_at FROM opened",
        tenant_id,
        poll_id,
        round,
        opening_hash,
        electorate_hash,
        opened.body,
        &opened.hash
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
