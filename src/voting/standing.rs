//! What a cast must know before the lock: poll, options and voter, read in one pipelined flight. The answer of the
//! database itself, for whatever `known` does not vouch for.
//!
//! The poll's generation is read first. Whatever is read after it is at least as new, so a generation
//! that the guard still finds under the lock vouches for all of it.

use deadpool_postgres::Object;
use futures_util::future::join3;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Voting;
use super::ballot::{Signatory, StoredBallot};
use super::eligibility::{PollStanding, VoterStanding};
use super::model::{BallotKind, PollState};
use super::token::PresentedToken;
use super::weight::Weight;
use crate::db;
use crate::db::statement::{Statement, flight};

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&FIND_POLL, &LIST_OPTION_IDS, &FIND_VOTER];

pub(super) const FIND_POLL: Statement = Statement {
    name: "standing_find_poll",
    sql: "/* standing_find_poll */
        SELECT meeting_id, state, meeting_suspended, generation, round, ballot_kind,
               coalesce(closes_at <= clock_timestamp(), false) AS past_deadline
        FROM polls WHERE tenant_id = $1 AND poll_id = $2",
    types: &[Type::INT8, Type::INT8],
};

pub(super) const LIST_OPTION_IDS: Statement = Statement {
    name: "standing_list_option_ids",
    sql: "/* standing_list_option_ids */
        SELECT option_id FROM poll_options WHERE tenant_id = $1 AND poll_id = $2 ORDER BY position",
    types: &[Type::INT8, Type::INT8],
};

/// `OFFSET 0` keeps both look-ups on their whole primary keys, also where the planner has no statistics yet;
/// `removed_at` is no condition, because one would let it choose a partial index and read the whole tenant.
const FIND_VOTER: Statement = Statement {
    name: "standing_find_voter",
    sql: "/* standing_find_voter */
        SELECT v.meeting_id, v.token_sha256, v.removed_at IS NOT NULL AS removed, v.record_key, e.weight_micros,
               b.event_index, b.event_hash, b.cast_at, b.choice, b.idempotency_key
        FROM participants v
        LEFT JOIN polls p ON p.tenant_id = $1 AND p.poll_id = $2
        LEFT JOIN LATERAL (
            SELECT weight_micros FROM poll_electorate
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round AND participant_id = $3 OFFSET 0) AS e ON true
        LEFT JOIN LATERAL (
            SELECT event_index, event_hash, cast_at, choice, idempotency_key FROM ballots
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round AND participant_id = $3 OFFSET 0) AS b ON true
        WHERE v.tenant_id = $1 AND v.participant_id = $3",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// What was found for a token and a poll.
#[derive(Debug)]
pub enum Standing {
    /// No such token.
    Unauthenticated,
    /// The token is good; the tenant has no such poll.
    UnknownPoll,
    /// Both are there; whether they belong together is for the judge.
    Found(PollStanding, VoterStanding),
}

impl Voting {
    /// Reads poll and voter for a token.
    pub async fn find_standing(
        &self,
        client: &Object,
        token: &PresentedToken,
        poll_id: i64,
    ) -> Result<Standing, db::Error> {
        let find_poll = FIND_POLL.prepare(client).await?;
        let list_option_ids = LIST_OPTION_IDS.prepare(client).await?;
        let find_voter = FIND_VOTER.prepare(client).await?;
        let tenant_id = token.tenant_id;
        let (poll, options, voter) = flight(
            3,
            join3(
                client.query_opt(&find_poll, &[&tenant_id, &poll_id]),
                client.query(&list_option_ids, &[&tenant_id, &poll_id]),
                client.query_opt(&find_voter, &[&tenant_id, &poll_id, &token.participant_id]),
            ),
        )
        .await;
        let (poll, options, voter) = (poll?, options?, voter?);
        let Some(voter) = voter else { return Ok(Standing::Unauthenticated) };
        if voter.try_get("removed")? || !token.matches(voter.try_get("token_sha256")?) {
            return Ok(Standing::Unauthenticated);
        }
        let Some(poll) = poll else { return Ok(Standing::UnknownPoll) };
        let poll = poll_of(poll_id, &options, &poll)?;
        let voter = voter_of(token.participant_id, &voter)?;
        Ok(Standing::Found(poll, voter))
    }
}

/// The poll in a row of [`FIND_POLL`], with the rows of [`LIST_OPTION_IDS`].
pub(super) fn poll_of(poll_id: i64, options: &[Row], row: &Row) -> Result<PollStanding, db::Error> {
    Ok(PollStanding {
        poll_id,
        option_ids: options.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?,
        meeting_id: row.try_get("meeting_id")?,
        state: word(row, "state", PollState::parse)?,
        meeting_suspended: row.try_get("meeting_suspended")?,
        past_deadline: row.try_get("past_deadline")?,
        generation: row.try_get("generation")?,
        round: row.try_get("round")?,
        ballot_kind: word(row, "ballot_kind", BallotKind::parse)?,
    })
}

fn voter_of(participant_id: i64, row: &Row) -> Result<VoterStanding, db::Error> {
    let weight: Option<i64> = row.try_get("weight_micros")?;
    let signatory = match weight.and_then(Weight::from_micros) {
        Some(weight) => Some(Signatory { record_key: row.try_get("record_key")?, weight }),
        None => None,
    };
    let meeting_id = row.try_get("meeting_id")?;
    Ok(VoterStanding { participant_id, meeting_id, signatory, ballot: ballot_of(row)? })
}

/// The ballot in a row that may have none: columns event_index, event_hash, cast_at, choice and
/// idempotency_key.
pub(super) fn ballot_of(row: &Row) -> Result<Option<StoredBallot>, db::Error> {
    let Some(index) = row.try_get("event_index")? else { return Ok(None) };
    let choice: serde_json::Value = row.try_get("choice")?;
    let option_ids: Option<Vec<i64>> = choice
        .as_array()
        .and_then(|ids| ids.iter().map(|id| id.as_str().and_then(|id| id.parse().ok())).collect());
    Ok(Some(StoredBallot {
        index,
        event_hash: row.try_get("event_hash")?,
        cast_at: row.try_get("cast_at")?,
        choice: option_ids
            .ok_or_else(|| db::Error::Internal(format!("ballots: column choice holds {choice}").into()))?,
        idempotency_key: row.try_get("idempotency_key")?,
    }))
}

/// A column that holds one of the words of the model.
pub(super) fn word<T>(
    row: &Row,
    column: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, db::Error> {
    let text: &str = row.try_get(column)?;
    parse(text).ok_or_else(|| {
        db::Error::Internal(format!("polls: column {column} holds the unknown value {text:?}").into())
    })
}
