//! The frozen electorate of a poll as `known` keeps it, read row by row: it is decoded as it arrives and never held twice.
//!
//! Who may vote is not judged here, and nothing is remembered.

use std::pin::pin;

use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::PollKey;
use crate::db;
use crate::db::statement::Statement;
use crate::voting::weight::Weight;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&LIST_VOTERS];

/// The electorate of the current round, one more than may be remembered at most, in whatever order: a sort would hold
/// all of it back until it is done.
///
/// Each step is a look-up that the planner cannot turn round (`OFFSET 0`, LATERAL): as a join, planned while the tables
/// were small, it paired every participant of the tenant with the whole electorate. The meeting is named so that either
/// index of participants finds the one row.
pub(super) const LIST_VOTERS: Statement = Statement {
    name: "known_list_voters",
    sql: "/* known_list_voters */
        SELECT e.participant_id, e.weight_micros, v.token_sha256, v.record_key,
               CASE WHEN e.holder_id IS NOT NULL THEN (
                   SELECT x.holder_id FROM proxies x
                   WHERE x.tenant_id = $1 AND x.principal_id = e.participant_id AND x.holder_id = e.holder_id
               ) END AS holder_id
        FROM (SELECT meeting_id, round, state FROM polls WHERE tenant_id = $1 AND poll_id = $2 OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT participant_id, weight_micros, holder_id FROM poll_electorate
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round OFFSET 0) AS e
        CROSS JOIN LATERAL (
            SELECT token_sha256, record_key, removed_at FROM participants
            WHERE tenant_id = $1 AND meeting_id = p.meeting_id AND participant_id = e.participant_id OFFSET 0) AS v
        WHERE p.state = 'open' AND v.removed_at IS NULL
        LIMIT $3",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// What a ballot is judged by.
#[derive(Debug)]
pub(super) struct KnownVoter {
    pub(super) participant_id: i64,
    pub(super) weight: Weight,
    pub(super) record_key: Uuid,
    pub(super) token_sha256: [u8; 32],
    /// Whose proxy is in force and was when the round opened.
    pub(super) holder_id: Option<i64>,
}

/// The electorate by participant, with [`LIST_VOTERS`] prepared on this connection; nobody unless there are less than `most`.
pub(super) async fn read(
    client: &Object,
    list_voters: &tokio_postgres::Statement,
    (tenant_id, poll_id): PollKey,
    most: usize,
) -> Result<Box<[KnownVoter]>, db::Error> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX - 1) + 1;
    let mut rows = pin!(client.query_raw(list_voters, [tenant_id, poll_id, limit]).await?);
    let mut voters = Vec::new();
    while let Some(row) = rows.try_next().await? {
        voters.push(voter_of(&row)?);
    }
    // The poll itself counts as one: an electorate that leaves no place for it would be pushed out as soon as it is read.
    if voters.len() >= most {
        return Ok(Box::default());
    }
    // In order already, unless the planner thought otherwise.
    voters.sort_unstable_by_key(|voter| voter.participant_id);
    Ok(voters.into_boxed_slice())
}

fn voter_of(row: &Row) -> Result<KnownVoter, db::Error> {
    let broken = || db::Error::Internal("poll_electorate: a voter without a weight or a token".into());
    let sha256: &[u8] = row.try_get("token_sha256")?;
    Ok(KnownVoter {
        participant_id: row.try_get("participant_id")?,
        weight: Weight::from_micros(row.try_get("weight_micros")?).ok_or_else(broken)?,
        record_key: row.try_get("record_key")?,
        token_sha256: sha256.try_into().map_err(|_| broken())?,
        holder_id: row.try_get("holder_id")?,
    })
}
