//! Casting: ballots are stored under the poll's lock, in two flights, and judged by what is read after the
//! lock was granted.
//!
//! Written for batches; `submit` brings batches of one. Validation and eligibility come before (`standing`,
//! `eligibility`); nothing here decides who may vote.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use futures_util::future::{join, join3};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::ballot::StoredBallot;
use super::eligibility::Cast;
use super::model::PollState;
use super::standing::{ballot_of, word};
use crate::db::statement::{Statement, flight};
use crate::db::tx::Tx;
use crate::db::{self, BEGIN};

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&LOCK_POLL, &INSERT_BALLOTS, &UPDATE_RECORD_SIZE, &LIST_REASONS];

/// The lock, alone: what a select list says beside FOR UPDATE may be from before the wait, so it selects
/// nothing that anybody uses.
pub(super) const LOCK_POLL: Statement = Statement {
    name: "lock_poll",
    sql: "/* lock_poll */ SELECT poll_id FROM polls WHERE tenant_id = $1 AND poll_id = $2 FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

/// The guard. A statement of its own after the lock, so it sees everything that earlier holders committed;
/// the clock is read once, so a deadline never splits a batch. `OFFSET 0` keeps the check for an own
/// ballot a look-up in the primary key for each item: as a join it may read the whole poll.
const INSERT_BALLOTS: Statement = Statement {
    name: "cast_insert_ballots",
    sql: "/* cast_insert_ballots */
        WITH instant AS MATERIALIZED (SELECT clock_timestamp() AS now),
        guard AS MATERIALIZED (
            SELECT p.round, p.record_size, instant.now FROM polls p CROSS JOIN instant
            WHERE p.tenant_id = $1 AND p.poll_id = $2 AND p.generation = $3 AND p.state = 'open'
              AND NOT p.meeting_suspended AND (p.closes_at IS NULL OR instant.now < p.closes_at)
        )
        INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice,
                             event_hash, idempotency_key)
        SELECT $1, $2, i.participant_id, guard.record_size + row_number() OVER (ORDER BY i.place) - 1,
               guard.now, guard.round, i.choice::jsonb, i.event_hash, i.idempotency_key
        FROM guard CROSS JOIN unnest($4, $5, $6, $7) WITH ORDINALITY
             AS i (participant_id, choice, event_hash, idempotency_key, place)
        WHERE NOT EXISTS (
            SELECT FROM ballots b WHERE b.tenant_id = $1 AND b.poll_id = $2 AND b.round = guard.round
                                    AND b.participant_id = i.participant_id OFFSET 0)
        RETURNING participant_id, event_index, cast_at",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::TEXT_ARRAY,
    ],
};

const UPDATE_RECORD_SIZE: Statement = Statement {
    name: "cast_update_record_size",
    sql: "/* cast_update_record_size */
        UPDATE polls SET record_size = record_size + $3 WHERE tenant_id = $1 AND poll_id = $2",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// Why items were not stored, read under the same lock: the poll as the guard saw it and own ballots.
const LIST_REASONS: Statement = Statement {
    name: "cast_list_reasons",
    sql: "/* cast_list_reasons */
        SELECT p.state, p.meeting_suspended, p.generation,
               coalesce(p.closes_at <= clock_timestamp(), false) AS past_deadline,
               i.participant_id, b.event_index, b.event_hash, b.cast_at, b.choice, b.idempotency_key
        FROM polls p CROSS JOIN unnest($3::bigint[]) AS i (participant_id)
        LEFT JOIN LATERAL (
            SELECT event_index, event_hash, cast_at, choice, idempotency_key FROM ballots
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round
              AND participant_id = i.participant_id OFFSET 0) AS b ON true
        WHERE p.tenant_id = $1 AND p.poll_id = $2",
    types: &[Type::INT8, Type::INT8, Type::INT8_ARRAY],
};

/// Which poll a batch is for, and the generation that its items were judged at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Whose poll.
    pub tenant_id: i64,
    /// Which poll.
    pub poll_id: i64,
    /// What the guard compares.
    pub generation: i64,
}

/// What became of one item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Stored; it counts.
    Accepted(StoredBallot),
    /// The voter's earlier ballot stands.
    Before(StoredBallot),
    /// The poll is closed or its deadline has passed.
    Closed,
    /// The poll is not open.
    NotOpen,
    /// The meeting is interrupted.
    Suspended,
    /// Something changed since the item was judged: judge it again.
    Stale,
}

/// Stores a batch on one poll, under its lock, in one transaction; one verdict for each item, in order. Of
/// two items of one participant the first is the ballot and the second comes too late.
pub async fn cast_batch(client: Object, target: Target, items: &[Cast]) -> Result<Vec<Verdict>, db::Error> {
    let lock = LOCK_POLL.prepare(&client).await?;
    let insert = INSERT_BALLOTS.prepare(&client).await?;
    let update = UPDATE_RECORD_SIZE.prepare(&client).await?;
    let reasons = LIST_REASONS.prepare(&client).await?;
    let Target { tenant_id, poll_id, generation } = target;

    let mut seen = HashSet::new();
    let fresh: Vec<&Cast> = items.iter().filter(|item| seen.insert(item.participant_id)).collect();
    let participant_ids: Vec<i64> = fresh.iter().map(|item| item.participant_id).collect();
    let choices: Vec<String> = fresh.iter().map(|item| choice_text(&item.choice)).collect();
    let hashes: Vec<&[u8]> = fresh.iter().map(|item| item.event.hash.as_slice()).collect();
    let keys: Vec<Option<&str>> = fresh.iter().map(|item| item.idempotency_key.as_deref()).collect();

    let tx = Tx::new(client, "cast");
    let client = tx.client();
    let (begin, locked, inserted) = flight(
        3,
        join3(
            client.batch_execute(BEGIN),
            client.query_opt(&lock, &[&tenant_id, &poll_id]),
            client.query(
                &insert,
                &[&tenant_id, &poll_id, &generation, &participant_ids, &choices, &hashes, &keys],
            ),
        ),
    )
    .await;
    begin?;
    locked?;
    let accepted = accepted_of(&inserted?, &fresh)?;

    let how_many = i64::try_from(accepted.len()).unwrap_or(i64::MAX);
    let others: Vec<i64> = items.iter().map(|item| item.participant_id).collect();
    let others = if accepted.len() == items.len() { Vec::new() } else { others };
    let last = async |client: &Object| -> Result<Vec<Row>, db::Error> {
        let (updated, rows) = join(
            async {
                if how_many == 0 {
                    return Ok(0);
                }
                client.execute(&update, &[&tenant_id, &poll_id, &how_many]).await
            },
            async {
                if others.is_empty() {
                    return Ok(Vec::new());
                }
                client.query(&reasons, &[&tenant_id, &poll_id, &others]).await
            },
        )
        .await;
        updated?;
        Ok(rows?)
    };
    let rows = flight(2, tx.commit_after(last)).await?;
    verdicts(target, items, accepted, &rows)
}

/// RETURNING's order means nothing: rows are matched to items by participant.
fn accepted_of(rows: &[Row], sent: &[&Cast]) -> Result<HashMap<i64, StoredBallot>, db::Error> {
    let by_participant: HashMap<i64, &Cast> = sent.iter().map(|item| (item.participant_id, *item)).collect();
    let mut accepted = HashMap::with_capacity(rows.len());
    for row in rows {
        let participant_id: i64 = row.try_get("participant_id")?;
        let item = by_participant
            .get(&participant_id)
            .ok_or_else(|| unexpected("a stored ballot that nobody sent"))?;
        let ballot = StoredBallot {
            index: row.try_get("event_index")?,
            event_hash: item.event.hash.to_vec(),
            cast_at: row.try_get("cast_at")?,
            choice: item.choice.clone(),
            idempotency_key: item.idempotency_key.clone(),
        };
        accepted.insert(participant_id, ballot);
    }
    Ok(accepted)
}

fn verdicts(
    target: Target,
    items: &[Cast],
    mut accepted: HashMap<i64, StoredBallot>,
    reasons: &[Row],
) -> Result<Vec<Verdict>, db::Error> {
    let mut by_participant = HashMap::with_capacity(reasons.len());
    for row in reasons {
        let participant_id: i64 = row.try_get("participant_id")?;
        by_participant.insert(participant_id, row);
    }
    items
        .iter()
        .map(|item| {
            if let Some(ballot) = accepted.remove(&item.participant_id) {
                return Ok(Verdict::Accepted(ballot));
            }
            by_participant.get(&item.participant_id).map_or(Ok(Verdict::NotOpen), |row| reason(target, row))
        })
        .collect()
}

fn reason(target: Target, row: &Row) -> Result<Verdict, db::Error> {
    if let Some(ballot) = ballot_of(row)? {
        return Ok(Verdict::Before(ballot));
    }
    let generation: i64 = row.try_get("generation")?;
    Ok(match word(row, "state", PollState::parse)? {
        PollState::Closed => Verdict::Closed,
        PollState::Draft | PollState::Cancelled => Verdict::NotOpen,
        PollState::Open if row.try_get("past_deadline")? => Verdict::Closed,
        PollState::Open if row.try_get("meeting_suspended")? => Verdict::Suspended,
        PollState::Open if generation != target.generation => Verdict::Stale,
        PollState::Open => return Err(unexpected("a ballot refused for no reason")),
    })
}

/// A choice as stored: ids are digits, so no escaping is needed.
fn choice_text(option_ids: &[i64]) -> String {
    let quoted: Vec<String> = option_ids.iter().map(|id| format!("\"{id}\"")).collect();
    format!("[{}]", quoted.join(","))
}

fn unexpected(what: &str) -> db::Error {
    db::Error::Internal(format!("casting: {what}").into())
}
