//! The meetings of a tenant, page by page.

use sqlx::PgPool;
use time::OffsetDateTime;
use time::macros::datetime;

use super::meetings::{Meeting, MeetingRow};
use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};

/// Place of a meeting in the listing: when it was made, and its id among those of one instant.
pub type MeetingKey = (OffsetDateTime, i64);

/// The newest first. No meeting is made after the year 9999, the last that RFC 3339 can write.
pub static MEETINGS: Listing<MeetingKey> = Listing {
    name: "meetings",
    index: "meetings_created_at_idx",
    start: (datetime!(9999-12-31 23:59:59.999999 UTC), i64::MAX),
};

/// Meetings of a tenant.
pub async fn list_meetings(
    pool: &PgPool,
    tenant_id: i64,
    window: &Window<MeetingKey>,
) -> Result<Page<Meeting, MeetingKey>, db::Error> {
    let rows = match &window.seek {
        Seek::From((created_at, meeting_id)) => {
            sqlx::query_as!(
                MeetingRow,
                "/* list meetings */
                 SELECT meeting_id, title, state, proxies_per_holder, revision, created_at, updated_at FROM meetings
                 WHERE tenant_id = $1 AND (created_at, meeting_id) <= ($2, $3)
                 ORDER BY created_at DESC, meeting_id DESC LIMIT $4",
                tenant_id,
                created_at,
                meeting_id,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before((created_at, meeting_id)) => {
            sqlx::query_as!(
                MeetingRow,
                "/* list meetings */
                 SELECT meeting_id, title, state, proxies_per_holder, revision, created_at, updated_at FROM meetings
                 WHERE tenant_id = $1 AND (created_at, meeting_id) > ($2, $3)
                 ORDER BY created_at, meeting_id LIMIT $4",
                tenant_id,
                created_at,
                meeting_id,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    let meetings = rows.into_iter().map(Meeting::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(meetings, |meeting: &Meeting| (meeting.created_at, meeting.meeting_id)))
}
