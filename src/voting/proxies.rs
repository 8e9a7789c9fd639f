//! Giving and revoking proxies. Order is kept by the meeting's lock; casts on their way are judged again, because the
//! generation of the meeting's open polls is raised under their locks. Who may hold what is for `rules`.

use serde_json::json;
use sqlx::PgConnection;

use super::Voting;
use super::error::VotingError;
use super::rules;
use super::store::participants::{self, Participant};
use super::store::{meetings, polls, proxies};
use crate::db;
use crate::db::audit::{self, Act, Author};

impl Voting {
    /// Lets the holder cast for the principal, from a revision that the caller has seen; in polls that open from now on,
    /// and again in those that opened while this holder had the proxy. Replaces an earlier holder; the same one again changes nothing.
    pub async fn give_proxy(
        &self,
        author: Author,
        principal_id: i64,
        accepts: impl Fn(i64) -> bool,
        holder_id: i64,
    ) -> Result<(Participant, i64), VotingError> {
        let (tenant_id, now) = (author.tenant_id, self.clock.now());
        let mut tx = self.db.begin().await?;
        let (meeting, revision) = self.lock_principal(&mut tx, tenant_id, principal_id).await?;
        let before = proxies::find_holder(&mut tx, tenant_id, principal_id).await?;
        if !accepts(revision) {
            return Err(VotingError::Changed(revision));
        }
        if before != Some(holder_id) {
            let holder = participants::find_membership(&mut tx, tenant_id, holder_id).await?;
            if !holder.is_some_and(|holder| holder.meeting_id == meeting.meeting_id && !holder.removed) {
                return Err(VotingError::NoSuchHolder);
            }
            let ties = proxies::find_ties(&mut tx, tenant_id, principal_id, holder_id).await?;
            rules::may_give_proxy(principal_id, holder_id, ties, meeting.proxies_per_holder)?;
            proxies::upsert_proxy(&mut tx, tenant_id, principal_id, holder_id, now).await?;
            polls::update_generations(&mut tx, tenant_id, meeting.meeting_id).await?;
            let holder = |holder: Option<i64>| json!({ "holder": holder.map(|id| id.to_string()) });
            let entry = Act::new("participant.proxy_given", &principal_id);
            let entry = entry.before(holder(before)).after(holder(Some(holder_id)));
            audit::insert(&mut tx, author, now, &[entry]).await?;
        }
        let found = participants::find_participant(&mut tx, tenant_id, principal_id).await?;
        db::commit(tx).await?;
        found.ok_or(VotingError::NotFound)
    }

    /// Takes the principal's proxy back, from a revision that the caller has seen: nothing more is cast with it, in open
    /// polls neither. Again changes nothing.
    pub async fn revoke_proxy(
        &self,
        author: Author,
        principal_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<(), VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let (meeting, revision) = self.lock_principal(&mut tx, tenant_id, principal_id).await?;
        if proxies::find_holder(&mut tx, tenant_id, principal_id).await?.is_none() {
            return Ok(());
        }
        if !accepts(revision) {
            return Err(VotingError::Changed(revision));
        }
        self.end_proxies(&mut tx, author, principal_id).await?;
        polls::update_generations(&mut tx, tenant_id, meeting.meeting_id).await?;
        Ok(db::commit(tx).await?)
    }

    /// Ends the proxies that somebody has given or holds, and notes each. The caller raises the generations.
    pub(super) async fn end_proxies(
        &self,
        tx: &mut PgConnection,
        author: Author,
        participant_id: i64,
    ) -> Result<(), VotingError> {
        let ended = proxies::delete_proxies(tx, author.tenant_id, participant_id).await?;
        let entries: Vec<Act> = ended
            .iter()
            .map(|(principal_id, holder_id)| {
                let before = json!({ "holder": holder_id.to_string() });
                Act::new("participant.proxy_revoked", principal_id).before(before)
            })
            .collect();
        Ok(audit::insert(tx, author, self.clock.now(), &entries).await?)
    }

    /// Locks the meeting of somebody who has not left it; with the revision of the participant, read after that.
    async fn lock_principal(
        &self,
        tx: &mut PgConnection,
        tenant_id: i64,
        principal_id: i64,
    ) -> Result<(meetings::Meeting, i64), VotingError> {
        let found = participants::find_membership(tx, tenant_id, principal_id).await?;
        let meeting_id = found.ok_or(VotingError::NotFound)?.meeting_id;
        let meeting = self.lock_changeable(tx, tenant_id, meeting_id).await?;
        let found = participants::find_membership(tx, tenant_id, principal_id).await?;
        let found = found.ok_or(VotingError::NotFound)?;
        if found.removed { Err(VotingError::ParticipantRemoved) } else { Ok((meeting, found.revision)) }
    }
}
