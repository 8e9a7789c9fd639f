//! The polls of a meeting, page by page, and the form that a poll's row has wherever it is read.

use sqlx::PgPool;
use time::OffsetDateTime;

use super::impossible;
use super::polls::Poll;
use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::voting::count::tally::Choice;
use crate::voting::model::{BallotKind, PollState, ResultState, ResultsVisibility, Rule, Secrecy};

/// In order of id, which is the order in which they were made.
pub static POLLS: Listing<i64> = Listing { name: "polls", index: "polls_meeting_id_idx", start: 0 };

/// A row of `polls` with its options, in one statement, so that they belong together.
pub(super) struct PollRow {
    pub(super) poll_id: i64,
    pub(super) meeting_id: i64,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) ballot_kind: String,
    pub(super) secrecy: String,
    pub(super) results: String,
    pub(super) rule: String,
    pub(super) state: String,
    pub(super) result_state: String,
    pub(super) round: i32,
    pub(super) generation: i64,
    pub(super) closes_at: Option<OffsetDateTime>,
    pub(super) opened_at: Option<OffsetDateTime>,
    pub(super) closed_at: Option<OffsetDateTime>,
    pub(super) opening_hash: Option<Vec<u8>>,
    pub(super) electorate_hash: Option<Vec<u8>>,
    pub(super) created_at: OffsetDateTime,
    pub(super) past_deadline: bool,
    pub(super) option_ids: Vec<i64>,
    pub(super) option_titles: Vec<String>,
    pub(super) option_seats: Vec<Option<i32>>,
}

impl TryFrom<PollRow> for Poll {
    type Error = db::Error;

    fn try_from(row: PollRow) -> Result<Self, db::Error> {
        let unknown = |column: &str, value: &str| impossible("polls", column, value, row.poll_id);
        Ok(Self {
            poll_id: row.poll_id,
            meeting_id: row.meeting_id,
            ballot_kind: BallotKind::parse(&row.ballot_kind)
                .ok_or_else(|| unknown("ballot_kind", &row.ballot_kind))?,
            secrecy: Secrecy::parse(&row.secrecy).ok_or_else(|| unknown("secrecy", &row.secrecy))?,
            results: ResultsVisibility::parse(&row.results)
                .ok_or_else(|| unknown("results", &row.results))?,
            rule: Rule::parse(&row.rule).ok_or_else(|| unknown("rule", &row.rule))?,
            state: PollState::parse(&row.state).ok_or_else(|| unknown("state", &row.state))?,
            result_state: ResultState::parse(&row.result_state)
                .ok_or_else(|| unknown("result_state", &row.result_state))?,
            title: row.title,
            description: row.description,
            closes_at: row.closes_at,
            options: row
                .option_ids
                .into_iter()
                .zip(row.option_titles)
                .zip(row.option_seats)
                .map(|((option_id, title), seats)| Choice { option_id, title, seats })
                .collect(),
            past_deadline: row.past_deadline,
            round: row.round,
            generation: row.generation,
            opened_at: row.opened_at,
            closed_at: row.closed_at,
            opening_hash: row.opening_hash,
            electorate_hash: row.electorate_hash,
            created_at: row.created_at,
        })
    }
}

/// Polls of a meeting.
pub async fn list_polls(
    pool: &PgPool,
    tenant_id: i64,
    meeting_id: i64,
    window: &Window<i64>,
) -> Result<Page<Poll, i64>, db::Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                PollRow,
                r#"/* list polls */
                   SELECT p.poll_id, p.meeting_id, p.title, p.description, p.ballot_kind, p.secrecy, p.results,
                          p.rule ->> 'name' AS "rule!", p.state, p.result_state, p.round, p.generation, p.closes_at,
                          p.opened_at, p.closed_at, p.opening_hash, p.electorate_hash, p.created_at,
                          coalesce(p.closes_at <= clock_timestamp(), false) AS "past_deadline!",
                          ARRAY (SELECT o.option_id FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_ids!",
                          ARRAY (SELECT o.title FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_titles!",
                          ARRAY (SELECT o.seats FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_seats!: Vec<Option<i32>>"
                   FROM polls p WHERE p.tenant_id = $1 AND p.meeting_id = $2 AND p.poll_id >= $3
                   ORDER BY p.poll_id LIMIT $4"#,
                tenant_id,
                meeting_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                PollRow,
                r#"/* list polls */
                   SELECT p.poll_id, p.meeting_id, p.title, p.description, p.ballot_kind, p.secrecy, p.results,
                          p.rule ->> 'name' AS "rule!", p.state, p.result_state, p.round, p.generation, p.closes_at,
                          p.opened_at, p.closed_at, p.opening_hash, p.electorate_hash, p.created_at,
                          coalesce(p.closes_at <= clock_timestamp(), false) AS "past_deadline!",
                          ARRAY (SELECT o.option_id FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_ids!",
                          ARRAY (SELECT o.title FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_titles!",
                          ARRAY (SELECT o.seats FROM poll_options o
                                 WHERE o.tenant_id = p.tenant_id AND o.poll_id = p.poll_id
                                 ORDER BY o.position) AS "option_seats!: Vec<Option<i32>>"
                   FROM polls p WHERE p.tenant_id = $1 AND p.meeting_id = $2 AND p.poll_id < $3
                   ORDER BY p.poll_id DESC LIMIT $4"#,
                tenant_id,
                meeting_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    let polls = rows.into_iter().map(Poll::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(polls, |poll: &Poll| poll.poll_id))
}
