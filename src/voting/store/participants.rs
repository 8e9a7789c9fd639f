//! Participants of a meeting. A removed one keeps the row, so that frozen electorates stay whole.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::impossible;
use crate::db;
use crate::voting::weight::Weight;

/// A participant as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Its id.
    pub participant_id: i64,
    /// The meeting it belongs to.
    pub meeting_id: i64,
    /// Name as given.
    pub name: String,
    /// Address as given.
    pub email: Option<String>,
    /// The organisation's own reference.
    pub external_reference: Option<String>,
    /// What the person casts.
    pub weight: Weight,
    /// Who may cast for the person.
    pub holder_id: Option<i64>,
    /// When it was added.
    pub created_at: OffsetDateTime,
    /// When the person left, if so.
    pub removed_at: Option<OffsetDateTime>,
}

/// What a change of a participant is decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The meeting it belongs to.
    pub meeting_id: i64,
    /// Raised by every change; the ETag.
    pub revision: i64,
    /// Whether the person has left.
    pub removed: bool,
}

/// A row to insert.
#[derive(Debug, Clone)]
pub struct NewRow {
    /// From [`reserve_ids`].
    pub participant_id: i64,
    /// Random, version 4.
    pub record_key: Uuid,
    /// See [`Participant`].
    pub name: String,
    /// See [`Participant`].
    pub email: Option<String>,
    /// The address folded for comparison.
    pub email_key: Option<String>,
    /// See [`Participant`].
    pub external_reference: Option<String>,
    /// See [`Participant`].
    pub weight: Weight,
    /// Random, for the electorate hash.
    pub salt: [u8; 32],
    /// Hash of the ballot token.
    pub token_sha256: [u8; 32],
}

/// Takes ids from the sequence, because a ballot token contains the id of its participant.
pub async fn reserve_ids(conn: &mut PgConnection, how_many: i64) -> Result<Vec<i64>, db::Error> {
    Ok(sqlx::query_scalar!(
        r#"SELECT nextval(pg_get_serial_sequence('participants', 'participant_id')) AS "id!"
           FROM generate_series(1, $1::bigint)"#,
        how_many
    )
    .fetch_all(conn)
    .await?)
}

/// How many participants the tenant has, those who left included, counted no further than `most`.
pub async fn count_participants(
    conn: &mut PgConnection,
    tenant_id: i64,
    most: i64,
) -> Result<i64, db::Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT FROM participants WHERE tenant_id = $1 LIMIT $2) AS counted"#,
        tenant_id,
        most
    );
    Ok(count.fetch_one(conn).await?)
}

/// Which of these addresses and references the meeting has already, among those who have not left.
pub async fn list_taken_keys(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
    email_keys: &[String],
    references: &[String],
) -> Result<(Vec<String>, Vec<String>), db::Error> {
    let rows = sqlx::query!(
        "SELECT email_key, external_reference FROM participants
         WHERE tenant_id = $1 AND meeting_id = $2 AND removed_at IS NULL
           AND (email_key = ANY($3) OR external_reference = ANY($4))",
        tenant_id,
        meeting_id,
        email_keys,
        references
    )
    .fetch_all(conn)
    .await?;
    let mut taken = (Vec::new(), Vec::new());
    for row in rows {
        taken.0.extend(row.email_key);
        taken.1.extend(row.external_reference);
    }
    Ok(taken)
}

/// Inserts them all in one statement.
pub async fn insert_participants(
    conn: &mut PgConnection,
    tenant_id: i64,
    meeting_id: i64,
    rows: &[NewRow],
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    let ids: Vec<i64> = rows.iter().map(|row| row.participant_id).collect();
    let record_keys: Vec<Uuid> = rows.iter().map(|row| row.record_key).collect();
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let emails: Vec<Option<String>> = rows.iter().map(|row| row.email.clone()).collect();
    let email_keys: Vec<Option<String>> = rows.iter().map(|row| row.email_key.clone()).collect();
    let references: Vec<Option<String>> = rows.iter().map(|row| row.external_reference.clone()).collect();
    let weights: Vec<i64> = rows.iter().map(|row| row.weight.micros()).collect();
    let salts: Vec<Vec<u8>> = rows.iter().map(|row| row.salt.to_vec()).collect();
    let tokens: Vec<Vec<u8>> = rows.iter().map(|row| row.token_sha256.to_vec()).collect();
    sqlx::query!(
        "INSERT INTO participants (tenant_id, participant_id, meeting_id, record_key, name, email, email_key,
                                   external_reference, weight_micros, salt, token_sha256, created_at)
         OVERRIDING SYSTEM VALUE
         SELECT $1, i.participant_id, $2, i.record_key, i.name, i.email, i.email_key, i.external_reference,
                i.weight_micros, i.salt, i.token_sha256, $12
         FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
                     $10::bytea[], $11::bytea[])
              AS i (participant_id, record_key, name, email, email_key, external_reference, weight_micros,
                    salt, token_sha256)",
        tenant_id,
        meeting_id,
        &ids,
        &record_keys,
        &names,
        &emails as &[Option<String>],
        &email_keys as &[Option<String>],
        &references as &[Option<String>],
        &weights,
        &salts,
        &tokens,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One participant, gone or not, with the revision that is its ETag.
pub async fn find_participant(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
) -> Result<Option<(Participant, i64)>, db::Error> {
    let row = sqlx::query!(
        r#"SELECT p.meeting_id, p.name, p.email, p.external_reference, p.weight_micros, p.created_at, p.removed_at,
                  p.revision, x.holder_id AS "holder_id?"
           FROM participants p
           LEFT JOIN proxies x ON x.tenant_id = p.tenant_id AND x.principal_id = p.participant_id
           WHERE p.tenant_id = $1 AND p.participant_id = $2"#,
        tenant_id,
        participant_id
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let participant = Participant {
        participant_id,
        meeting_id: row.meeting_id,
        name: row.name,
        email: row.email,
        external_reference: row.external_reference,
        weight: weight_of(participant_id, row.weight_micros)?,
        holder_id: row.holder_id,
        created_at: row.created_at,
        removed_at: row.removed_at,
    };
    Ok(Some((participant, row.revision)))
}

/// Where a participant stands; `None` if the tenant has no such.
pub async fn find_membership(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
) -> Result<Option<Membership>, db::Error> {
    let row = sqlx::query_as!(
        Membership,
        r#"SELECT meeting_id, revision, removed_at IS NOT NULL AS "removed!" FROM participants
           WHERE tenant_id = $1 AND participant_id = $2"#,
        tenant_id,
        participant_id
    );
    Ok(row.fetch_optional(conn).await?)
}

/// The meeting of a participant who has not left, and the hash of the token; for authentication.
/// `removed_at` is no condition, so that only the primary key can serve the look-up.
pub async fn find_token(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
) -> Result<Option<(i64, Vec<u8>)>, db::Error> {
    let row = sqlx::query!(
        "SELECT meeting_id, token_sha256, removed_at FROM participants
         WHERE tenant_id = $1 AND participant_id = $2",
        tenant_id,
        participant_id
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.filter(|row| row.removed_at.is_none()).map(|row| (row.meeting_id, row.token_sha256)))
}

/// Replaces the token: the one before is dead.
pub async fn update_token(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
    token_sha256: &[u8; 32],
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE participants SET token_sha256 = $3, revision = revision + 1
         WHERE tenant_id = $1 AND participant_id = $2",
        tenant_id,
        participant_id,
        token_sha256
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the person as gone; a second time changes nothing.
pub async fn tombstone_participant(
    conn: &mut PgConnection,
    tenant_id: i64,
    participant_id: i64,
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE participants SET removed_at = $3, revision = revision + 1
         WHERE tenant_id = $1 AND participant_id = $2 AND removed_at IS NULL",
        tenant_id,
        participant_id,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A stored weight.
pub(super) fn weight_of(participant_id: i64, micros: i64) -> Result<Weight, db::Error> {
    Weight::from_micros(micros)
        .ok_or_else(|| impossible("participants", "weight_micros", &micros.to_string(), participant_id))
}
