//! What a cast must know before the lock: poll, options and voter, read in one pipelined flight. The answer of the
//! database itself, for whatever `known` does not vouch for.
//!
//! The poll's generation is read first. Whatever is read after it is at least as new, so a generation
//! that the guard still finds under the lock vouches for all of it.

use deadpool_postgres::Object;
use futures_util::future::join4;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Voting;
use super::ballot::{Signatory, StoredBallot};
use super::eligibility::{Actor, PollStanding, VoterStanding};
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
               (SELECT holder_id FROM proxies
                WHERE tenant_id = $1 AND principal_id = $3 AND holder_id = e.holder_id) AS holder_id,
               b.event_index, b.event_hash, b.cast_at, b.choice, b.idempotency_key, b.actor_key
        FROM participants v
        LEFT JOIN polls p ON p.tenant_id = $1 AND p.poll_id = $2
        LEFT JOIN LATERAL (
            SELECT weight_micros, holder_id FROM poll_electorate
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round AND participant_id = $3 OFFSET 0) AS e ON true
        LEFT JOIN LATERAL (
            SELECT event_index, event_hash, cast_at, choice, idempotency_key, actor_key FROM ballots
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round AND participant_id = $3 OFFSET 0) AS b ON true
        WHERE v.tenant_id = $1 AND v.participant_id = $3",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// What was found for a token and a poll.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and nearly always the large one")]
pub enum Standing {
    /// No such token.
    Unauthenticated,
    /// The token is good; the tenant has no such poll.
    UnknownPoll,
    /// Both are there; whether they belong together is for the judge.
    Found(PollStanding, VoterStanding),
}

impl Voting {
    /// Reads the poll, who holds the token, and the participant who is `represented` where that is another one.
    pub async fn find_standing(
        &self,
        client: &Object,
        token: &PresentedToken,
        poll_id: i64,
        represented: Option<i64>,
    ) -> Result<Standing, db::Error> {
        let find_poll = FIND_POLL.prepare(client).await?;
        let list_option_ids = LIST_OPTION_IDS.prepare(client).await?;
        let find_voter = FIND_VOTER.prepare(client).await?;
        let tenant_id = token.tenant_id;
        // Nobody has this id, so no row is read for it.
        let other = represented.unwrap_or(0);
        let (poll, options, voter, other) = flight(
            4,
            join4(
                client.query_opt(&find_poll, &[&tenant_id, &poll_id]),
                client.query(&list_option_ids, &[&tenant_id, &poll_id]),
                client.query_opt(&find_voter, &[&tenant_id, &poll_id, &token.participant_id]),
                client.query_opt(&find_voter, &[&tenant_id, &poll_id, &other]),
            ),
        )
        .await;
        let (poll, options, voter, other) = (poll?, options?, voter?, other?);
        let Some(voter) = voter else { return Ok(Standing::Unauthenticated) };
        if voter.try_get("removed")? || !token.matches(voter.try_get("token_sha256")?) {
            return Ok(Standing::Unauthenticated);
        }
        let Some(poll) = poll else { return Ok(Standing::UnknownPoll) };
        let poll = poll_of(poll_id, &options, &poll)?;
        let Some(represented) = represented else {
            return Ok(Standing::Found(poll, voter_of(token.participant_id, &voter)?));
        };
        let acting = Actor { participant_id: token.participant_id, record_key: voter.try_get("record_key")? };
        let standing = represented_of(represented, other.as_ref(), voter.try_get("meeting_id")?)?;
        Ok(Standing::Found(poll, VoterStanding { acting: Some(acting), ..standing }))
    }
}

/// Somebody in whose name another one comes. Who is not in that one's meeting, or no more, is as one whose proxy nobody
/// has, so that nothing can be learnt about them.
fn represented_of(
    participant_id: i64,
    row: Option<&Row>,
    meeting_id: i64,
) -> Result<VoterStanding, db::Error> {
    if let Some(row) = row
        && !row.try_get::<_, bool>("removed")?
    {
        let standing = voter_of(participant_id, row)?;
        if standing.meeting_id == meeting_id {
            return Ok(standing);
        }
    }
    let (signatory, ballot, holder_id, acting) = (None, None, None, None);
    Ok(VoterStanding { participant_id, meeting_id, signatory, ballot, holder_id, acting })
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
    Ok(VoterStanding {
        participant_id,
        meeting_id: row.try_get("meeting_id")?,
        signatory,
        ballot: ballot_of(row)?,
        holder_id: row.try_get("holder_id")?,
        acting: None,
    })
}

/// The ballot in a row that may have none: columns event_index, event_hash, cast_at, choice, idempotency_key and
/// actor_key.
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
        actor_key: row.try_get("actor_key")?,
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
