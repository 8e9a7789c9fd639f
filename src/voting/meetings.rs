//! Steps of a meeting, and what they do to its polls: closing closes and counts the open ones and cancels
//! the drafts; suspending and resuming reach every cast through the generation.
//!
//! Locks the meeting, then its polls in id order, all in one transaction.

use deadpool_postgres::Object;
use serde_json::json;
use sqlx::PgConnection;
use time::OffsetDateTime;
use tokio_postgres::types::Type;

use super::Voting;
use super::close::close_within;
use super::error::VotingError;
use super::model::MeetingState;
use super::rules;
use super::store::meetings::{Meeting, count_meetings, find_meeting, insert_meeting};
use crate::db;
use crate::db::audit::{self, Act, Author};
use crate::db::quota::{self, Quota};
use crate::db::statement::Statement;
use crate::db::tx::Tx;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[
    &LOCK_MEETING,
    &FIND_STATE,
    &LOCK_POLLS,
    &LIST_OPEN_POLLS,
    &UPDATE_CANCELLED,
    &UPDATE_SUSPENDED,
    &UPDATE_STATE,
];

const LOCK_MEETING: Statement = Statement {
    name: "lock_meeting",
    sql: "/* lock_meeting */
        SELECT meeting_id FROM meetings WHERE tenant_id = $1 AND meeting_id = $2 FOR NO KEY UPDATE",
    types: &[Type::INT8, Type::INT8],
};

const FIND_STATE: Statement = Statement {
    name: "meeting_find_state",
    sql: "/* meeting_find_state */ SELECT state, revision FROM meetings WHERE tenant_id = $1 AND meeting_id = $2",
    types: &[Type::INT8, Type::INT8],
};

const LOCK_POLLS: Statement = Statement {
    name: "meeting_lock_polls",
    sql: "/* meeting_lock_polls */
        SELECT poll_id FROM polls WHERE tenant_id = $1 AND meeting_id = $2 AND state IN ('draft', 'open')
        ORDER BY poll_id FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

const LIST_OPEN_POLLS: Statement = Statement {
    name: "meeting_list_open_polls",
    sql: "/* meeting_list_open_polls */
        SELECT poll_id FROM polls WHERE tenant_id = $1 AND meeting_id = $2 AND state = 'open' ORDER BY poll_id",
    types: &[Type::INT8, Type::INT8],
};

const UPDATE_CANCELLED: Statement = Statement {
    name: "meeting_update_cancelled",
    sql: "/* meeting_update_cancelled */
        UPDATE polls SET state = 'cancelled', generation = generation + 1
        WHERE tenant_id = $1 AND meeting_id = $2 AND state = 'draft' RETURNING poll_id",
    types: &[Type::INT8, Type::INT8],
};

const UPDATE_SUSPENDED: Statement = Statement {
    name: "meeting_update_suspended",
    sql: "/* meeting_update_suspended */
        UPDATE polls SET meeting_suspended = $3, generation = generation + 1
        WHERE tenant_id = $1 AND meeting_id = $2 AND state = 'open'",
    types: &[Type::INT8, Type::INT8, Type::BOOL],
};

const UPDATE_STATE: Statement = Statement {
    name: "meeting_update_state",
    sql: "/* meeting_update_state */
        UPDATE meetings SET state = $3, revision = revision + 1, updated_at = $4
        WHERE tenant_id = $1 AND meeting_id = $2",
    types: &[Type::INT8, Type::INT8, Type::TEXT, Type::TIMESTAMPTZ],
};

impl Voting {
    /// Makes a meeting in draft, in which one participant may hold so many proxies, if the tenant's quota has room.
    pub async fn create_meeting(
        &self,
        tx: &mut PgConnection,
        author: Author,
        title: &str,
        proxies_per_holder: i32,
    ) -> Result<Meeting, VotingError> {
        let (tenant_id, now) = (author.tenant_id, self.clock.now());
        if let Some(limit) = quota::lock(tx, tenant_id, Quota::Meetings, &self.quotas).await? {
            limit.admit(count_meetings(tx, tenant_id, limit.count_to()).await?, 1)?;
        }
        let meeting_id = insert_meeting(tx, tenant_id, title, proxies_per_holder, now).await?;
        let after = json!({ "proxies_per_holder": proxies_per_holder });
        audit::insert(tx, author, now, &[Act::new("meeting.created", &meeting_id).after(after)]).await?;
        find_meeting(tx, tenant_id, meeting_id).await?.ok_or(VotingError::NotFound)
    }

    /// The tenant's meeting.
    pub async fn get_meeting(&self, tenant_id: i64, meeting_id: i64) -> Result<Meeting, VotingError> {
        let mut conn = self.db.management().acquire().await?;
        find_meeting(&mut conn, tenant_id, meeting_id).await?.ok_or(VotingError::NotFound)
    }

    /// Takes a meeting to a state, from a revision that the caller has seen. One that is there already stays as it
    /// is, so a retry is harmless.
    pub async fn step_meeting(
        &self,
        author: Author,
        meeting_id: i64,
        accepts: impl Fn(i64) -> bool,
        to: MeetingState,
    ) -> Result<Meeting, VotingError> {
        let tx = Tx::begin(self.db.hot().await?, "step_meeting").await?;
        self.step_within(tx.client(), author, meeting_id, accepts, to).await?;
        tx.commit().await?;
        let after = self.get_meeting(author.tenant_id, meeting_id).await;
        // The step is taken: a failure from here on must not say that nothing was written.
        after.map_err(|error| match error {
            VotingError::Db(error) => error.during_commit().into(),
            other => other,
        })
    }

    async fn step_within(
        &self,
        client: &Object,
        author: Author,
        meeting_id: i64,
        accepts: impl Fn(i64) -> bool,
        to: MeetingState,
    ) -> Result<(), VotingError> {
        let tenant_id = author.tenant_id;
        query(client, &LOCK_MEETING, tenant_id, meeting_id).await?;
        let rows = query(client, &FIND_STATE, tenant_id, meeting_id).await?;
        let row = rows.first().ok_or(VotingError::NotFound)?;
        let text: &str = row.try_get("state").map_err(db::Error::from)?;
        let revision: i64 = row.try_get("revision").map_err(db::Error::from)?;
        let from = MeetingState::parse(text).ok_or_else(|| {
            db::Error::Internal(format!("meetings {meeting_id}: unknown state {text:?}").into())
        })?;
        if from == to {
            return Ok(());
        }
        if !accepts(revision) {
            return Err(VotingError::Changed(revision));
        }
        rules::may_step_meeting(from, to)?;
        let now = self.clock.now();
        match (from, to) {
            (_, MeetingState::Closed) => close_polls(client, author, meeting_id, now).await?,
            (_, MeetingState::Suspended) => suspend_polls(client, tenant_id, meeting_id, true).await?,
            (MeetingState::Suspended, _) => suspend_polls(client, tenant_id, meeting_id, false).await?,
            _ => {}
        }
        let update = UPDATE_STATE.prepare(client).await?;
        client
            .execute(&update, &[&tenant_id, &meeting_id, &to.as_str(), &now])
            .await
            .map_err(db::Error::from)?;
        let entry = Act::new("meeting.stepped", &meeting_id);
        let entry = entry.before(json!({ "state": from.as_str() })).after(json!({ "state": to.as_str() }));
        Ok(audit::insert_hot(client, author, now, &[entry]).await?)
    }
}

async fn close_polls(
    client: &Object,
    author: Author,
    meeting_id: i64,
    now: OffsetDateTime,
) -> Result<(), VotingError> {
    let tenant_id = author.tenant_id;
    query(client, &LOCK_POLLS, tenant_id, meeting_id).await?;
    for row in query(client, &LIST_OPEN_POLLS, tenant_id, meeting_id).await? {
        close_within(client, author, row.try_get(0).map_err(db::Error::from)?, |_| true, now).await?;
    }
    let mut entries = Vec::new();
    for row in query(client, &UPDATE_CANCELLED, tenant_id, meeting_id).await? {
        let poll_id: i64 = row.try_get(0).map_err(db::Error::from)?;
        entries.push(Act::new("poll.cancelled", &poll_id));
    }
    Ok(audit::insert_hot(client, author, now, &entries).await?)
}

async fn suspend_polls(
    client: &Object,
    tenant_id: i64,
    meeting_id: i64,
    suspended: bool,
) -> Result<(), db::Error> {
    query(client, &LOCK_POLLS, tenant_id, meeting_id).await?;
    let update = UPDATE_SUSPENDED.prepare(client).await?;
    client.execute(&update, &[&tenant_id, &meeting_id, &suspended]).await?;
    Ok(())
}

async fn query(
    client: &Object,
    statement: &Statement,
    tenant_id: i64,
    meeting_id: i64,
) -> Result<Vec<tokio_postgres::Row>, db::Error> {
    let prepared = statement.prepare(client).await?;
    Ok(client.query(&prepared, &[&tenant_id, &meeting_id]).await?)
}
