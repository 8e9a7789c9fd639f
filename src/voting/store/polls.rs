//! Polls and their options. The poll's row is a lock row: whoever changes it takes [`lock_poll`] first.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::poll_list::PollRow;
use crate::db;
use crate::voting::count::tally::Choice;
use crate::voting::model::{BallotKind, PollState, ResultState, ResultsVisibility, Rule, Secrecy};
use crate::voting::rules;

/// An option as it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOption {
    /// What it says.
    pub title: String,
    /// How many ballots it takes; `None`: as many as come.
    pub seats: Option<i32>,
}

/// What can be changed while a poll is in draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The question.
    pub title: String,
    /// Its explanation.
    pub description: String,
    /// What a ballot may say.
    pub ballot_kind: BallotKind,
    /// Who can see who voted how.
    pub secrecy: Secrecy,
    /// When the numbers can be seen.
    pub results: ResultsVisibility,
    /// What makes a winner.
    pub rule: Rule,
    /// From when on no ballot counts.
    pub closes_at: Option<OffsetDateTime>,
    /// The options in their order.
    pub options: Vec<NewOption>,
}

/// A poll as stored, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    /// Its id.
    pub poll_id: i64,
    /// The meeting it belongs to.
    pub meeting_id: i64,
    /// See [`Settings`].
    pub title: String,
    /// See [`Settings`].
    pub description: String,
    /// See [`Settings`].
    pub ballot_kind: BallotKind,
    /// See [`Settings`].
    pub secrecy: Secrecy,
    /// See [`Settings`].
    pub results: ResultsVisibility,
    /// See [`Settings`].
    pub rule: Rule,
    /// See [`Settings`].
    pub closes_at: Option<OffsetDateTime>,
    /// The options in their order.
    pub options: Vec<Choice>,
    /// As stored; what is shown is [`Poll::shown_state`].
    pub state: PollState,
    /// As stored; what is shown is [`Poll::shown_state`].
    pub result_state: ResultState,
    /// Whether the deadline has passed by the database's clock.
    pub past_deadline: bool,
    /// The current round.
    pub round: i32,
    /// Raised by every change except ballots; the ETag.
    pub generation: i64,
    /// By the database's clock.
    pub opened_at: Option<OffsetDateTime>,
    /// By the database's clock.
    pub closed_at: Option<OffsetDateTime>,
    /// Over terms and options, once open.
    pub opening_hash: Option<Vec<u8>>,
    /// Over the electorate, once open.
    pub electorate_hash: Option<Vec<u8>>,
    /// When it was made.
    pub created_at: OffsetDateTime,
}

impl Poll {
    /// State and result state as anybody is told, the deadline considered.
    pub fn shown_state(&self) -> (PollState, ResultState) {
        rules::shown_state(self.state, self.result_state, self.past_deadline)
    }
}

/// Makes a poll in draft; its id. The caller holds the meeting's lock.
pub async fn insert_poll(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
    settings: &Settings,
    now: OffsetDateTime,
) -> Result<i64, db::Error> {
    let poll_id = sqlx::query_scalar!(
        "INSERT INTO polls (tenant_id, meeting_id, title, description, ballot_kind, secrecy, rule, results,
                            closes_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8, $9, $10) RETURNING poll_id",
        tenant_id,
        meeting_id,
        settings.title,
        settings.description,
        settings.ballot_kind.as_str(),
        settings.secrecy.as_str(),
        settings.rule.document().encode(),
        settings.results.as_str(),
        settings.closes_at,
        now
    )
    .fetch_one(&mut *conn)
    .await?;
    insert_options(conn, tenant_id, poll_id, &settings.options).await?;
    Ok(poll_id)
}

/// Replaces the settings of a draft. The caller holds the poll's lock and has seen that it is one.
pub async fn update_draft(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    settings: &Settings,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE polls SET title = $3, description = $4, ballot_kind = $5, secrecy = $6, rule = $7::text::jsonb,
                          results = $8, closes_at = $9, generation = generation + 1
         WHERE tenant_id = $1 AND poll_id = $2",
        tenant_id,
        poll_id,
        settings.title,
        settings.description,
        settings.ballot_kind.as_str(),
        settings.secrecy.as_str(),
        settings.rule.document().encode(),
        settings.results.as_str(),
        settings.closes_at
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("DELETE FROM poll_options WHERE tenant_id = $1 AND poll_id = $2", tenant_id, poll_id)
        .execute(&mut *conn)
        .await?;
    insert_options(conn, tenant_id, poll_id, &settings.options).await
}

async fn insert_options(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    options: &[NewOption],
) -> Result<(), db::Error> {
    let titles: Vec<String> = options.iter().map(|option| option.title.clone()).collect();
    let seats: Vec<Option<i32>> = options.iter().map(|option| option.seats).collect();
    sqlx::query!(
        "INSERT INTO poll_options (tenant_id, poll_id, position, title, seats)
         SELECT $1, $2, i.position::integer, i.title, i.seats
         FROM unnest($3::text[], $4::integer[]) WITH ORDINALITY AS i (title, seats, position) ORDER BY i.position",
        tenant_id,
        poll_id,
        &titles,
        &seats as &[Option<i32>]
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The poll, if the tenant has it, in one statement, so that row and options belong together.
pub async fn find_poll(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
) -> Result<Option<Poll>, db::Error> {
    let row = sqlx::query_as!(
        PollRow,
        r#"SELECT p.poll_id, p.meeting_id, p.title, p.description, p.ballot_kind, p.secrecy, p.results,
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
           FROM polls p WHERE p.tenant_id = $1 AND p.poll_id = $2"#,
        tenant_id,
        poll_id
    );
    row.fetch_optional(conn).await?.map(Poll::try_from).transpose()
}

/// Locks the poll, then reads it: what is read is what the lock protects. `None` if there is none.
pub async fn lock_poll(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
) -> Result<Option<Poll>, db::Error> {
    sqlx::query!(
        "SELECT poll_id FROM polls WHERE tenant_id = $1 AND poll_id = $2 FOR UPDATE",
        tenant_id,
        poll_id
    )
    .fetch_optional(&mut *conn)
    .await?;
    find_poll(conn, tenant_id, poll_id).await
}

/// Raises the generation of the meeting's open polls under their locks, in id order, so that every cast
/// checked before is judged again. The caller holds the meeting's lock.
pub async fn update_generations(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
) -> Result<(), db::Error> {
    let poll_ids = sqlx::query_scalar!(
        "SELECT poll_id FROM polls WHERE tenant_id = $1 AND meeting_id = $2 AND state = 'open'
         ORDER BY poll_id FOR UPDATE",
        tenant_id,
        meeting_id
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE polls SET generation = generation + 1 WHERE tenant_id = $1 AND poll_id = ANY($2)",
        tenant_id,
        &poll_ids
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets another deadline. The caller holds the poll's lock.
pub async fn update_deadline(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
    closes_at: OffsetDateTime,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE polls SET closes_at = $3, generation = generation + 1 WHERE tenant_id = $1 AND poll_id = $2",
        tenant_id,
        poll_id,
        closes_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Cancels a draft. The caller holds the poll's lock and has seen that it is one.
pub async fn update_cancelled(
    conn: &mut PgConnection,
    tenant_id: i64,
    poll_id: i64,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE polls SET state = 'cancelled', generation = generation + 1
         WHERE tenant_id = $1 AND poll_id = $2",
        tenant_id,
        poll_id
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether an instant is still to come by the database's clock, the only one that judges deadlines.
pub async fn is_in_future(conn: &mut PgConnection, instant: OffsetDateTime) -> Result<bool, db::Error> {
    Ok(sqlx::query_scalar!(r#"SELECT $1 > clock_timestamp() AS "future!""#, instant).fetch_one(conn).await?)
}

/// An open poll whose deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuePoll {
    /// The deadline.
    pub closes_at: OffsetDateTime,
    /// Whose it is.
    pub tenant_id: i64,
    /// Its id.
    pub poll_id: i64,
}

/// The next open poll, over all tenants and after `place` in the order of deadlines, whose deadline has passed.
pub async fn find_due_poll(conn: &mut PgConnection, place: DuePoll) -> Result<Option<DuePoll>, db::Error> {
    // now(), not clock_timestamp(): only a stable function is an index condition.
    let row = sqlx::query_as!(
        DuePoll,
        r#"SELECT closes_at AS "closes_at!", tenant_id, poll_id FROM polls
           WHERE state = 'open' AND closes_at <= now() AND (closes_at, tenant_id, poll_id) > ($1, $2, $3)
           ORDER BY closes_at, tenant_id, poll_id LIMIT 1"#,
        place.closes_at,
        place.tenant_id,
        place.poll_id
    );
    Ok(row.fetch_optional(conn).await?)
}
