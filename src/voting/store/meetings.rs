//! Meetings: the rows and the lock that orders changes of a meeting, its participants and its polls.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::impossible;
use crate::db;
use crate::voting::model::MeetingState;

/// A meeting as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// Its id.
    pub meeting_id: i64,
    /// Its name.
    pub title: String,
    /// Where it stands.
    pub state: MeetingState,
    /// For how many others one participant may cast.
    pub proxies_per_holder: i32,
    /// Raised by every change; the ETag.
    pub revision: i64,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it was changed last.
    pub updated_at: OffsetDateTime,
}

/// Makes a meeting in draft; its id.
pub async fn insert_meeting(
    conn: &mut PgConnection,
    tenant_id: i64,
    title: &str,
    proxies_per_holder: i32,
    now: OffsetDateTime,
) -> Result<i64, db::Error> {
    Ok(sqlx::query_scalar!(
        "INSERT INTO meetings (tenant_id, title, created_at, updated_at, proxies_per_holder)
         VALUES ($1, $2, $3, $3, $4) RETURNING meeting_id",
        tenant_id,
        title,
        now,
        proxies_per_holder
    )
    .fetch_one(conn)
    .await?)
}

/// How many meetings the tenant has, counted no further than `most`.
pub async fn count_meetings(conn: &mut PgConnection, tenant_id: i64, most: i64) -> Result<i64, db::Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT FROM meetings WHERE tenant_id = $1 LIMIT $2) AS counted"#,
        tenant_id,
        most
    );
    Ok(count.fetch_one(conn).await?)
}

/// A row of `meetings`.
pub(super) struct MeetingRow {
    pub(super) meeting_id: i64,
    pub(super) title: String,
    pub(super) state: String,
    pub(super) proxies_per_holder: i32,
    pub(super) revision: i64,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

impl TryFrom<MeetingRow> for Meeting {
    type Error = db::Error;

    fn try_from(row: MeetingRow) -> Result<Self, db::Error> {
        let state = MeetingState::parse(&row.state)
            .ok_or_else(|| impossible("meetings", "state", &row.state, row.meeting_id))?;
        Ok(Self {
            meeting_id: row.meeting_id,
            title: row.title,
            state,
            proxies_per_holder: row.proxies_per_holder,
            revision: row.revision,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// The meeting, if the tenant has it.
pub async fn find_meeting(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
) -> Result<Option<Meeting>, db::Error> {
    let row = sqlx::query_as!(
        MeetingRow,
        "SELECT meeting_id, title, state, proxies_per_holder, revision, created_at, updated_at FROM meetings
         WHERE tenant_id = $1 AND meeting_id = $2",
        tenant_id,
        meeting_id
    );
    row.fetch_optional(conn).await?.map(Meeting::try_from).transpose()
}

/// Locks the meeting, then reads it: what is read is what the lock protects. `None` if there is none.
///
/// `NO KEY UPDATE`, because participants refer to the row and their key checks must not wait.
pub async fn lock_meeting(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
) -> Result<Option<Meeting>, db::Error> {
    sqlx::query!(
        "SELECT meeting_id FROM meetings WHERE tenant_id = $1 AND meeting_id = $2 FOR NO KEY UPDATE",
        tenant_id,
        meeting_id
    )
    .fetch_optional(&mut *conn)
    .await?;
    find_meeting(conn, tenant_id, meeting_id).await
}
