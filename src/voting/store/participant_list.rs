//! The participants of a meeting, page by page.

use sqlx::PgPool;
use time::OffsetDateTime;

use super::participants::{Participant, weight_of};
use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};

/// In order of id.
pub static PARTICIPANTS: Listing<i64> =
    Listing { name: "participants", index: "participants_meeting_id_idx", start: 0 };

struct ParticipantRow {
    participant_id: i64,
    meeting_id: i64,
    name: String,
    email: Option<String>,
    external_reference: Option<String>,
    weight_micros: i64,
    holder_id: Option<i64>,
    created_at: OffsetDateTime,
    removed_at: Option<OffsetDateTime>,
}

impl TryFrom<ParticipantRow> for Participant {
    type Error = db::Error;

    fn try_from(row: ParticipantRow) -> Result<Self, db::Error> {
        Ok(Self {
            participant_id: row.participant_id,
            meeting_id: row.meeting_id,
            name: row.name,
            email: row.email,
            external_reference: row.external_reference,
            weight: weight_of(row.participant_id, row.weight_micros)?,
            holder_id: row.holder_id,
            created_at: row.created_at,
            removed_at: row.removed_at,
        })
    }
}

/// Everybody who is or was in the meeting.
pub async fn list_participants(
    pool: &PgPool,
    tenant_id: i64,
    meeting_id: i64,
    window: &Window<i64>,
) -> Result<Page<Participant, i64>, db::Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                ParticipantRow,
                r#"/* list participants */
                   SELECT p.participant_id, p.meeting_id, p.name, p.email, p.external_reference, p.weight_micros,
                          p.created_at, p.removed_at,
                          (SELECT x.holder_id FROM proxies x
                           WHERE x.tenant_id = $1 AND x.principal_id = p.participant_id) AS holder_id
                   FROM participants p WHERE p.tenant_id = $1 AND p.meeting_id = $2 AND p.participant_id >= $3
                   ORDER BY p.participant_id LIMIT $4"#,
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
                ParticipantRow,
                r#"/* list participants */
                   SELECT p.participant_id, p.meeting_id, p.name, p.email, p.external_reference, p.weight_micros,
                          p.created_at, p.removed_at,
                          (SELECT x.holder_id FROM proxies x
                           WHERE x.tenant_id = $1 AND x.principal_id = p.participant_id) AS holder_id
                   FROM participants p WHERE p.tenant_id = $1 AND p.meeting_id = $2 AND p.participant_id < $3
                   ORDER BY p.participant_id DESC LIMIT $4"#,
                tenant_id,
                meeting_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    let participants = rows.into_iter().map(Participant::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(participants, |participant: &Participant| participant.participant_id))
}
