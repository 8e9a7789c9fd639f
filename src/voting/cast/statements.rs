//! The statements of a cast.

use tokio_postgres::types::Type;

use crate::db::statement::Statement;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&LOCK_POLL, &LOCK_POLLS, &INSERT_BALLOTS];

/// The lock, alone: what a select list says beside FOR UPDATE may be from before the wait, so it selects
/// nothing that anybody uses.
pub(in crate::voting) const LOCK_POLL: Statement = Statement {
    name: "lock_poll",
    sql: "/* lock_poll */ SELECT poll_id FROM polls WHERE tenant_id = $1 AND poll_id = $2 FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

/// The same for several polls, one after the other as the array lists them: in ascending order, as everybody does.
pub(super) const LOCK_POLLS: Statement = Statement {
    name: "lock_polls",
    sql: "/* lock_polls */
        SELECT p.poll_id FROM unnest($2) AS k (poll_id)
        CROSS JOIN LATERAL (SELECT poll_id FROM polls WHERE tenant_id = $1 AND poll_id = k.poll_id FOR UPDATE) AS p",
    types: &[Type::INT8, Type::INT8_ARRAY],
};

/// Guards, ballots, seats, the records' growth, and a row for each item. A statement of its own after the locks, so it sees
/// everything that earlier holders committed; the clock is read once, so a deadline never splits a batch. `OFFSET 0`
/// keeps the look for an own ballot in the primary key for each item: as a join it may read the whole poll. An option's
/// free seats go to its items in order of place; who has voted before takes none. Rows are updated where they were read
/// (`ctid`): nobody moves them while their polls are locked, and a join of the table could read more of it than these. It
/// says all there is to say, so that the second flight is COMMIT alone.
pub(super) const INSERT_BALLOTS: Statement = Statement {
    name: "cast_insert_ballots",
    sql: "/* cast_insert_ballots */
        WITH instant AS MATERIALIZED (SELECT clock_timestamp() AS now),
        guard AS MATERIALIZED (
            SELECT k.poll_id, p.ctid AS row, p.round, p.record_size, p.state, p.meeting_suspended, p.generation, instant.now,
                   coalesce(p.closes_at <= instant.now, false) AS past_deadline,
                   p.generation = k.generation AND p.state = 'open' AND NOT p.meeting_suspended
                   AND (p.closes_at IS NULL OR instant.now < p.closes_at) AS holds
            FROM instant CROSS JOIN unnest($2, $3) AS k (poll_id, generation)
            CROSS JOIN LATERAL (
                SELECT ctid, round, record_size, state, meeting_suspended, generation, closes_at FROM polls
                WHERE tenant_id = $1 AND poll_id = k.poll_id OFFSET 0) AS p
        ),
        item AS MATERIALIZED (
            SELECT i.participant_id, i.choice, i.event_hash, i.idempotency_key, i.option_id, i.actor_key, i.place,
                   guard.*, b.event_index AS before_index, b.event_hash AS before_hash, b.cast_at AS before_at,
                   b.choice AS before_choice, b.idempotency_key AS before_key, b.actor_key AS before_actor
            FROM guard JOIN unnest($4, $5, $6, $7, $8, $9, $10) WITH ORDINALITY
                 AS i (poll_id, participant_id, choice, event_hash, idempotency_key, option_id, actor_key, place)
                 ON i.poll_id = guard.poll_id
            LEFT JOIN LATERAL (
                SELECT event_index, event_hash, cast_at, choice, idempotency_key, actor_key FROM ballots
                WHERE tenant_id = $1 AND poll_id = guard.poll_id AND round = guard.round
                  AND participant_id = i.participant_id OFFSET 0) AS b ON true
        ),
        seat AS MATERIALIZED (
            SELECT guard.poll_id, s.option_id, s.free, s.ctid AS row
            FROM guard CROSS JOIN LATERAL (
                SELECT ctid, option_id, seats - taken AS free FROM poll_seats
                WHERE tenant_id = $1 AND poll_id = guard.poll_id AND round = guard.round OFFSET 0) AS s
        ),
        judged AS MATERIALIZED (
            SELECT i.*, seat.row AS seat,
                   i.holds AND i.before_index IS NULL
                   AND (seat.free IS NULL
                        OR row_number() OVER (PARTITION BY i.poll_id, i.option_id, i.before_index IS NULL
                                              ORDER BY i.place) <= seat.free) AS admitted
            FROM item i LEFT JOIN seat ON seat.poll_id = i.poll_id AND seat.option_id = i.option_id
        ),
        stored AS (
            INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice,
                                 event_hash, idempotency_key, actor_key)
            SELECT $1, i.poll_id, i.participant_id,
                   i.record_size + row_number() OVER (PARTITION BY i.poll_id ORDER BY i.place) - 1,
                   i.now, i.round, i.choice::jsonb, i.event_hash, i.idempotency_key, i.actor_key
            FROM judged i WHERE i.admitted
            RETURNING poll_id, participant_id, event_index, cast_at
        ),
        taken AS (
            UPDATE poll_seats s SET taken = s.taken + t.ballots::integer
            FROM (SELECT seat, count(*) AS ballots FROM judged WHERE admitted AND seat IS NOT NULL GROUP BY seat) AS t
            WHERE s.ctid = t.seat
        ),
        grown AS (
            UPDATE polls p SET record_size = p.record_size + g.ballots
            FROM (SELECT row, count(*) AS ballots FROM judged WHERE admitted GROUP BY row) AS g
            WHERE p.ctid = g.row
        )
        SELECT poll_id, participant_id, event_index, cast_at, NULL::text AS state, NULL::bytea AS event_hash,
               NULL::jsonb AS choice, NULL::text AS idempotency_key, NULL::uuid AS actor_key,
               NULL::boolean AS meeting_suspended, NULL::boolean AS past_deadline, NULL::bigint AS generation,
               NULL::boolean AS held
        FROM stored
        UNION ALL
        SELECT i.poll_id, i.participant_id, i.before_index, i.before_at, i.state, i.before_hash, i.before_choice,
               i.before_key, i.before_actor, i.meeting_suspended, i.past_deadline, i.generation, i.holds
        FROM judged i WHERE NOT i.admitted",
    types: &[
        Type::INT8,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
    ],
};
