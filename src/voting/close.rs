//! The close barrier: under the poll's lock the ballots are counted, the log gets its last two events, and
//! the result is written once. Every ballot acknowledged before is in it, and none comes after.
//!
//! A repeated close reads the result that is there. What the count means is for `count`.

use deadpool_postgres::Object;
use futures_util::future::{join3, join5};
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Voting;
use super::cast::LOCK_POLL;
use super::count::result::{Round, result_document};
use super::count::tally::{Choice, Count, Tally, tally};
use super::error::VotingError;
use super::model::{PollState, Rule};
use super::record::event;
use super::record::hash::Hash;
use super::rules;
use super::standing::word;
use super::store::results::count_of;
use crate::db;
use crate::db::audit::{self, Act, Author};
use crate::db::statement::{Statement, flight};
use crate::db::tx::Tx;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] =
    &[&FIND_ROUND, &LIST_CHOICES, &COUNT, &FIND_RESULT, &INSERT_EVENTS, &INSERT_RESULT, &UPDATE_CLOSED];

/// Read after the lock was granted. A poll is closed from its deadline on, however late that is written.
const FIND_ROUND: Statement = Statement {
    name: "close_find_round",
    sql: "/* close_find_round */
        SELECT p.state, p.generation, p.round, p.record_size, p.title, p.rule ->> 'name' AS rule, p.opened_at, p.opening_hash,
               p.electorate_hash, instant.now, least(instant.now, p.closes_at) AS closed_at
        FROM polls p CROSS JOIN (SELECT clock_timestamp() AS now OFFSET 0) AS instant
        WHERE p.tenant_id = $1 AND p.poll_id = $2",
    types: &[Type::INT8, Type::INT8],
};

const LIST_CHOICES: Statement = Statement {
    name: "close_list_choices",
    sql: "/* close_list_choices */
        SELECT option_id, title, seats FROM poll_options WHERE tenant_id = $1 AND poll_id = $2 ORDER BY position",
    types: &[Type::INT8, Type::INT8],
};

/// Grouped where the rows are; the group without an option is those who did not vote. Nothing is counted
/// when the poll is not open. `OFFSET 0` keeps each step a look-up by its whole primary key: joined, a fresh table
/// without statistics is read once for each voter.
const COUNT: Statement = Statement {
    name: "close_count",
    sql: "/* close_count */
        SELECT b.option_id, count(*) AS heads, sum(e.weight_micros)::text AS weight_micros
        FROM (SELECT round, state FROM polls WHERE tenant_id = $1 AND poll_id = $2 OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT participant_id, weight_micros FROM poll_electorate
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round OFFSET 0) AS e
        LEFT JOIN LATERAL (
            SELECT (choice ->> 0)::bigint AS option_id FROM ballots
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round AND participant_id = e.participant_id
            OFFSET 0) AS b ON true
        WHERE p.state = 'open'
        GROUP BY 1",
    types: &[Type::INT8, Type::INT8],
};

const FIND_RESULT: Statement = Statement {
    name: "close_find_result",
    sql: "/* close_find_result */
        SELECT r.body FROM (SELECT round FROM polls WHERE tenant_id = $1 AND poll_id = $2 OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT body FROM poll_results WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round OFFSET 0) AS r",
    types: &[Type::INT8, Type::INT8],
};

const INSERT_EVENTS: Statement = Statement {
    name: "close_insert_events",
    sql: "/* close_insert_events */
        INSERT INTO poll_events (tenant_id, poll_id, round, event_index, kind, body, event_hash, happened_at)
        VALUES ($1, $2, $3, $4, 'closed', $5, $6, $9), ($1, $2, $3, $4 + 1, 'counted', $7, $8, $9)",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT4,
        Type::INT8,
        Type::TEXT,
        Type::BYTEA,
        Type::TEXT,
        Type::BYTEA,
        Type::TIMESTAMPTZ,
    ],
};

const INSERT_RESULT: Statement = Statement {
    name: "close_insert_result",
    sql: "/* close_insert_result */
        INSERT INTO poll_results (tenant_id, poll_id, round, body, counted_at) VALUES ($1, $2, $3, $4, $5)",
    types: &[Type::INT8, Type::INT8, Type::INT4, Type::TEXT, Type::TIMESTAMPTZ],
};

const UPDATE_CLOSED: Statement = Statement {
    name: "close_update_closed",
    sql: "/* close_update_closed */
        UPDATE polls SET state = 'closed', result_state = 'counted', closed_at = $3,
                         record_size = record_size + 2, generation = generation + 1
        WHERE tenant_id = $1 AND poll_id = $2",
    types: &[Type::INT8, Type::INT8, Type::TIMESTAMPTZ],
};

impl Voting {
    /// Closes and counts an open poll, from a revision that the caller has seen; of a closed one the result again.
    /// The document is canonical JSON.
    pub async fn close_poll(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<String, VotingError> {
        let tx = Tx::begin(self.db.hot().await?, "close").await?;
        let result = close_within(tx.client(), author, poll_id, accepts, self.clock.now()).await?;
        tx.commit().await?;
        Ok(result)
    }
}

/// Closes and counts within a transaction that is open on this connection. `noted_at` is for the log alone: when the
/// poll closed, the database's clock says.
pub(super) async fn close_within(
    client: &Object,
    author: Author,
    poll_id: i64,
    accepts: impl Fn(i64) -> bool,
    noted_at: OffsetDateTime,
) -> Result<String, VotingError> {
    let tenant_id = author.tenant_id;
    let lock = LOCK_POLL.prepare(client).await?;
    let find_round = FIND_ROUND.prepare(client).await?;
    let list_choices = LIST_CHOICES.prepare(client).await?;
    let count = COUNT.prepare(client).await?;
    let find_result = FIND_RESULT.prepare(client).await?;
    let poll: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&tenant_id, &poll_id];
    let (locked, round, choices, groups, result) = flight(
        5,
        join5(
            client.query_opt(&lock, &poll),
            client.query_opt(&find_round, &poll),
            client.query(&list_choices, &poll),
            client.query(&count, &poll),
            client.query_opt(&find_result, &poll),
        ),
    )
    .await;
    locked.map_err(db::Error::from)?;
    let (round, choices) = (round.map_err(db::Error::from)?, choices.map_err(db::Error::from)?);
    let (groups, result) = (groups.map_err(db::Error::from)?, result.map_err(db::Error::from)?);

    let round = round.ok_or(VotingError::NotFound)?;
    let state = word(&round, "state", PollState::parse)?;
    if let (PollState::Closed, Some(result)) = (state, &result) {
        return Ok(column(result, "body")?);
    }
    let generation: i64 = column(&round, "generation")?;
    if !accepts(generation) {
        return Err(VotingError::Changed(generation));
    }
    rules::may_step_poll(state, PollState::Closed)?;
    let counted = tally_of(&choices, &groups)?;
    let result = write(client, tenant_id, poll_id, &round, &counted).await?;
    audit::insert_hot(client, author, noted_at, &[Act::new("poll.closed", &poll_id)]).await?;
    Ok(result)
}

fn tally_of(choices: &[Row], groups: &[Row]) -> Result<Tally, db::Error> {
    let choices: Vec<Choice> = choices
        .iter()
        .map(|row| {
            let (option_id, title) = (column(row, "option_id")?, column(row, "title")?);
            Ok(Choice { option_id, title, seats: column(row, "seats")? })
        })
        .collect::<Result<_, db::Error>>()?;
    let mut entitled = Count::default();
    let mut votes = Vec::new();
    for row in groups {
        let group = count_of(column(row, "heads")?, &column::<String>(row, "weight_micros")?)?;
        entitled = entitled + group;
        let option_id: Option<i64> = column(row, "option_id")?;
        votes.extend(option_id.map(|option_id| (option_id, group)));
    }
    tally(entitled, choices, votes).map_err(|error| db::Error::Internal(error.into()))
}

/// Writes events, result and state; what they say is decided.
async fn write(
    client: &Object,
    tenant_id: i64,
    poll_id: i64,
    row: &Row,
    counted: &Tally,
) -> Result<String, db::Error> {
    let number: i32 = column(row, "round")?;
    let size: i64 = column(row, "record_size")?;
    let now: OffsetDateTime = column(row, "now")?;
    let closed_at: OffsetDateTime = column(row, "closed_at")?;
    let closed = event::closed(poll_id, number, size, closed_at);
    let round = Round {
        poll_id,
        round: number,
        title: row.try_get("title")?,
        rule: word(row, "rule", Rule::parse)?,
        opened_at: column(row, "opened_at")?,
        closed_at,
        opening_hash: hash_of(row, "opening_hash")?,
        electorate_hash: hash_of(row, "electorate_hash")?,
        closed_event: (size, closed.hash),
    };
    let document = result_document(&round, counted);
    let (body, counted) = (document.encode(), event::counted(poll_id, number, &document));

    let insert_events = INSERT_EVENTS.prepare(client).await?;
    let insert_result = INSERT_RESULT.prepare(client).await?;
    let update_closed = UPDATE_CLOSED.prepare(client).await?;
    let (closed_hash, counted_hash) = (closed.hash.as_slice(), counted.hash.as_slice());
    let (events, result, updated) = flight(
        3,
        join3(
            client.execute(
                &insert_events,
                &[
                    &tenant_id,
                    &poll_id,
                    &number,
                    &size,
                    &closed.body,
                    &closed_hash,
                    &counted.body,
                    &counted_hash,
                    &now,
                ],
            ),
            client.execute(&insert_result, &[&tenant_id, &poll_id, &number, &body, &now]),
            client.execute(&update_closed, &[&tenant_id, &poll_id, &closed_at]),
        ),
    )
    .await;
    events?;
    result?;
    updated?;
    Ok(body)
}

fn hash_of(row: &Row, name: &str) -> Result<Hash, db::Error> {
    let bytes: &[u8] = row.try_get(name)?;
    bytes.try_into().map_err(|_| db::Error::Internal(format!("polls: column {name} is no SHA-256").into()))
}

fn column<T: for<'a> tokio_postgres::types::FromSql<'a>>(row: &Row, name: &str) -> Result<T, db::Error> {
    Ok(row.try_get(name)?)
}
