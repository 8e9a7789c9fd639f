//! Casting: the ballots of one poll that wait are stored under its lock, in one transaction of two flights, and judged
//! by what is read after the lock was granted.
//!
//! Validation and eligibility come before (`known`, `standing`, `eligibility`); nothing here decides who may vote.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use deadpool_postgres::Object;
use futures_util::future::join3;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::ballot::StoredBallot;
use super::eligibility::Cast;
use super::known::PollKey;
use super::model::PollState;
use super::standing::ballot_of;
use crate::db::batch::Work;
use crate::db::statement::{Statement, flight};
use crate::db::tx::Tx;
use crate::db::{self, BEGIN};

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&LOCK_POLL, &INSERT_BALLOTS];

/// The lock, alone: what a select list says beside FOR UPDATE may be from before the wait, so it selects
/// nothing that anybody uses.
pub(super) const LOCK_POLL: Statement = Statement {
    name: "lock_poll",
    sql: "/* lock_poll */ SELECT poll_id FROM polls WHERE tenant_id = $1 AND poll_id = $2 FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

/// Guard, ballots, seats, the record's growth, and a row for each item. A statement of its own after the lock, so it sees
/// everything that earlier holders committed; the clock is read once, so a deadline never splits a batch. `OFFSET 0`
/// keeps the look for an own ballot in the primary key for each item: as a join it may read the whole poll. An option's
/// free seats go to its items in order of place; who has voted before takes none. It says all there is to say, so that
/// the second flight is COMMIT alone.
const INSERT_BALLOTS: Statement = Statement {
    name: "cast_insert_ballots",
    sql: "/* cast_insert_ballots */
        WITH instant AS MATERIALIZED (SELECT clock_timestamp() AS now),
        guard AS MATERIALIZED (
            SELECT p.round, p.record_size, p.state, p.meeting_suspended, p.generation, instant.now,
                   coalesce(p.closes_at <= instant.now, false) AS past_deadline,
                   p.generation = $3 AND p.state = 'open' AND NOT p.meeting_suspended
                   AND (p.closes_at IS NULL OR instant.now < p.closes_at) AS holds
            FROM polls p CROSS JOIN instant
            WHERE p.tenant_id = $1 AND p.poll_id = $2
        ),
        item AS MATERIALIZED (
            SELECT i.participant_id, i.choice, i.event_hash, i.idempotency_key, i.option_id, i.actor_key, i.place,
                   b.event_index AS before_index, b.event_hash AS before_hash, b.cast_at AS before_at,
                   b.choice AS before_choice, b.idempotency_key AS before_key, b.actor_key AS before_actor
            FROM guard CROSS JOIN unnest($4, $5, $6, $7, $8, $9) WITH ORDINALITY
                 AS i (participant_id, choice, event_hash, idempotency_key, option_id, actor_key, place)
            LEFT JOIN LATERAL (
                SELECT event_index, event_hash, cast_at, choice, idempotency_key, actor_key FROM ballots
                WHERE tenant_id = $1 AND poll_id = $2 AND round = guard.round
                  AND participant_id = i.participant_id OFFSET 0) AS b ON true
        ),
        seat AS MATERIALIZED (
            SELECT s.option_id, s.seats - s.taken AS free
            FROM guard JOIN poll_seats s ON s.tenant_id = $1 AND s.poll_id = $2 AND s.round = guard.round
        ),
        judged AS MATERIALIZED (
            SELECT i.*, seat.option_id IS NOT NULL AS seated,
                   guard.holds AND i.before_index IS NULL
                   AND (seat.free IS NULL
                        OR row_number() OVER (PARTITION BY i.option_id, i.before_index IS NULL
                                              ORDER BY i.place) <= seat.free) AS admitted
            FROM guard CROSS JOIN item i LEFT JOIN seat ON seat.option_id = i.option_id
        ),
        stored AS (
            INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice,
                                 event_hash, idempotency_key, actor_key)
            SELECT $1, $2, i.participant_id, guard.record_size + row_number() OVER (ORDER BY i.place) - 1,
                   guard.now, guard.round, i.choice::jsonb, i.event_hash, i.idempotency_key, i.actor_key
            FROM guard CROSS JOIN judged i WHERE i.admitted
            RETURNING participant_id, event_index, cast_at
        ),
        taken AS (
            UPDATE poll_seats s SET taken = s.taken + t.ballots::integer
            FROM guard CROSS JOIN (SELECT option_id, count(*) AS ballots FROM judged WHERE admitted AND seated
                                   GROUP BY option_id) AS t
            WHERE s.tenant_id = $1 AND s.poll_id = $2 AND s.round = guard.round AND s.option_id = t.option_id
        ),
        grown AS (
            UPDATE polls SET record_size = record_size + (SELECT count(*) FROM stored)
            WHERE tenant_id = $1 AND poll_id = $2 AND EXISTS (SELECT FROM stored)
        )
        SELECT participant_id, event_index, cast_at, NULL::text AS state, NULL::bytea AS event_hash, NULL::jsonb AS choice,
               NULL::text AS idempotency_key, NULL::uuid AS actor_key, NULL::boolean AS meeting_suspended,
               NULL::boolean AS past_deadline, NULL::bigint AS generation, NULL::boolean AS held
        FROM stored
        UNION ALL
        SELECT i.participant_id, i.before_index, i.before_at, guard.state, i.before_hash, i.before_choice,
               i.before_key, i.before_actor,
               guard.meeting_suspended, guard.past_deadline, guard.generation, guard.holds
        FROM guard CROSS JOIN judged i WHERE NOT i.admitted",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
    ],
};

/// What became of one item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Stored; it counts. Its place in the round's log, and when by the database's clock.
    Accepted(i64, OffsetDateTime),
    /// The voter's earlier ballot stands. Only said of what was judged at the current generation.
    Before(StoredBallot),
    /// The poll is closed or its deadline has passed.
    Closed,
    /// The poll is not open.
    NotOpen,
    /// The meeting is interrupted.
    Suspended,
    /// The guard held, but the seats of the option chosen are taken.
    OptionFull,
    /// Something changed since the item was judged: judge it again.
    Stale,
}

/// Ballots as the work of a [`Batcher`](crate::db::batch::Batcher).
#[derive(Debug)]
pub struct Casting;

impl Work for Casting {
    type Key = PollKey;
    type Item = Arc<Cast>;
    type Verdict = Verdict;

    const NAME: &'static str = "ballots";

    fn tenant(key: &PollKey) -> i64 {
        key.0
    }

    fn bytes(cast: &Arc<Cast>) -> usize {
        size_of::<Cast>()
            + size_of_val(cast.choice.as_slice())
            + cast.event.body.len()
            + cast.idempotency_key.as_ref().map_or(0, String::len)
    }

    fn operations(cast: &Arc<Cast>) -> Option<[u64; 2]> {
        Some([cast.participant_id.cast_unsigned(); 2])
    }

    async fn run(
        &self,
        client: Object,
        key: &PollKey,
        items: &[Arc<Cast>],
    ) -> Result<Vec<Verdict>, db::Error> {
        cast_batch(client, *key, items).await
    }
}

/// Stores a batch on one poll, under its lock, in one transaction; one verdict for each item, in order. Of two items
/// of one participant the first is stored and the second is to be judged again, as are those judged at an earlier
/// generation than others: generations only grow.
pub async fn cast_batch<C: Borrow<Cast>>(
    client: Object,
    (tenant_id, poll_id): PollKey,
    items: &[C],
) -> Result<Vec<Verdict>, db::Error> {
    let items: Vec<&Cast> = items.iter().map(Borrow::borrow).collect();
    let lock = LOCK_POLL.prepare(&client).await?;
    let insert = INSERT_BALLOTS.prepare(&client).await?;

    let generation = items.iter().map(|item| item.generation).max().unwrap_or_default();
    let mut places = HashMap::with_capacity(items.len());
    let mut sent = Vec::with_capacity(items.len());
    for (place, item) in items.iter().copied().enumerate() {
        if item.generation == generation && !places.contains_key(&item.participant_id) {
            places.insert(item.participant_id, place);
            sent.push(item);
        }
    }
    let participant_ids: Vec<i64> = sent.iter().map(|item| item.participant_id).collect();
    let choices: Vec<String> = sent.iter().map(|item| choice_text(&item.choice)).collect();
    let hashes: Vec<&[u8]> = sent.iter().map(|item| item.event.hash.as_slice()).collect();
    let keys: Vec<Option<&str>> = sent.iter().map(|item| item.idempotency_key.as_deref()).collect();
    let actors: Vec<Option<Uuid>> = sent.iter().map(|item| item.actor_key).collect();
    let option_ids: Vec<Option<i64>> = sent.iter().map(|item| item.choice.first().copied()).collect();

    let tx = Tx::new(client, "cast");
    let client = tx.client();
    let (begun, locked, stored) = flight(
        3,
        join3(
            client.batch_execute(BEGIN),
            client.query_opt(&lock, &[&tenant_id, &poll_id]),
            client.query(
                &insert,
                &[
                    &tenant_id,
                    &poll_id,
                    &generation,
                    &participant_ids,
                    &choices,
                    &hashes,
                    &keys,
                    &option_ids,
                    &actors,
                ],
            ),
        ),
    )
    .await;
    begun?;
    locked?;
    let rows = stored?;
    flight(1, tx.commit()).await?;

    // A poll that is gone has no row for anybody.
    let absent = if rows.is_empty() { Verdict::NotOpen } else { Verdict::Stale };
    let mut verdicts = vec![absent; items.len()];
    for row in &rows {
        // RETURNING's order means nothing: rows are matched to items by participant.
        let participant_id: i64 = row.try_get(PARTICIPANT)?;
        let place = places.get(&participant_id).ok_or_else(|| unexpected("a row for nobody"))?;
        verdicts[*place] = verdict(row, items[*place].generation)?;
    }
    Ok(verdicts)
}

/// Columns that every row is read by: by number, because a name is searched for.
const PARTICIPANT: usize = 0;
const INDEX: usize = 1;
const CAST_AT: usize = 2;
const STATE: usize = 3;

fn verdict(row: &Row, judged_at: i64) -> Result<Verdict, db::Error> {
    let Some(state) = row.try_get::<_, Option<&str>>(STATE)? else {
        return Ok(Verdict::Accepted(row.try_get(INDEX)?, row.try_get(CAST_AT)?));
    };
    let generation: i64 = row.try_get("generation")?;
    if let Some(ballot) = ballot_of(row)? {
        // A ballot is shown to its voter alone, and whether this is the voter still, the judgement cannot say any more: the
        // token may have been replaced since.
        return Ok(if generation == judged_at { Verdict::Before(ballot) } else { Verdict::Stale });
    }
    if row.try_get("held")? {
        return Ok(Verdict::OptionFull);
    }
    Ok(match PollState::parse(state).ok_or_else(|| unexpected("a poll in an unknown state"))? {
        PollState::Closed => Verdict::Closed,
        PollState::Draft | PollState::Cancelled => Verdict::NotOpen,
        PollState::Open if row.try_get("past_deadline")? => Verdict::Closed,
        PollState::Open if row.try_get("meeting_suspended")? => Verdict::Suspended,
        PollState::Open if generation != judged_at => Verdict::Stale,
        PollState::Open => return Err(unexpected("a ballot refused for no reason")),
    })
}

/// A choice as stored: ids are digits, so no escaping is needed.
fn choice_text(option_ids: &[i64]) -> String {
    let mut text = String::with_capacity(2 + option_ids.len() * 12);
    for (place, option_id) in option_ids.iter().enumerate() {
        let before = if place == 0 { '[' } else { ',' };
        // Writing to a String cannot fail.
        let _ = write!(text, "{before}\"{option_id}\"");
    }
    text.push_str(if text.is_empty() { "[]" } else { "]" });
    text
}

fn unexpected(what: &str) -> db::Error {
    db::Error::Internal(format!("casting: {what}").into())
}
