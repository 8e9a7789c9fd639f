//! Who takes part in a meeting: adding, reissuing a token, removing. Order is kept by the meeting's lock.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use sqlx::PgConnection;

use super::Voting;
use super::ballot::Fault;
use super::error::VotingError;
use super::rules;
use super::store::{meetings, participants, polls};
use super::token::MintedToken;
use super::weight::Weight;
use crate::db;
use crate::db::audit::{self, Act, Author};
use crate::db::quota::{self, Quota};

/// Most participants that one call adds.
pub const MOST_AT_ONCE: usize = 5_000;

/// Somebody to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewParticipant {
    /// As shown.
    pub name: String,
    /// As given; compared without regard to ASCII case.
    pub email: Option<String>,
    /// The organisation's own reference, compared byte by byte.
    pub external_reference: Option<String>,
    /// What the person casts.
    pub weight: Weight,
}

/// Somebody added, with the token that is shown this once.
#[derive(Debug, Clone)]
pub struct Added {
    /// The new id.
    pub participant_id: i64,
    /// What was asked for.
    pub participant: NewParticipant,
    /// For the person, and for nobody else.
    pub token: MintedToken,
}

/// The form of an address that must be unique in a meeting: ASCII letters lowered, nothing else, because
/// only the receiving host knows whether the rest matters.
pub fn email_key(email: &str) -> String {
    email.to_ascii_lowercase()
}

/// Keys that two of the entries share, as faults of the later one. Pure.
pub fn list_repeats(entries: &[NewParticipant], pointer: impl Fn(usize, &str) -> String) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen: HashMap<(&str, String), usize> = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        for (field, key) in keys_of(entry) {
            if let Some(first) = seen.get(&(field, key.clone())) {
                let detail = format!("is the same as in {}", pointer(*first, field));
                faults.push(Fault { pointer: pointer(place, field), detail });
            } else {
                seen.insert((field, key), place);
            }
        }
    }
    faults
}

fn keys_of(entry: &NewParticipant) -> impl Iterator<Item = (&'static str, String)> {
    let email = entry.email.as_deref().map(|email| ("email", email_key(email)));
    let reference = entry.external_reference.clone().map(|reference| ("external_reference", reference));
    email.into_iter().chain(reference)
}

impl Voting {
    /// Adds them all or none, if the tenant's quota has room. `pointer` names a field of an entry in the caller's body, for faults.
    pub async fn add_participants(
        &self,
        tx: &mut PgConnection,
        author: Author,
        meeting_id: i64,
        entries: &[NewParticipant],
        pointer: impl Fn(usize, &str) -> String,
    ) -> Result<Vec<Added>, VotingError> {
        let (tenant_id, now) = (author.tenant_id, self.clock.now());
        let limit = quota::lock(tx, tenant_id, Quota::Participants, &self.quotas).await?;
        self.lock_changeable(tx, tenant_id, meeting_id).await?;
        let emails: Vec<String> =
            entries.iter().filter_map(|entry| entry.email.as_deref().map(email_key)).collect();
        let references: Vec<String> =
            entries.iter().filter_map(|entry| entry.external_reference.clone()).collect();
        let (taken_emails, taken_references) =
            participants::list_taken_keys(tx, tenant_id, meeting_id, &emails, &references).await?;
        let taken_emails: HashSet<String> = taken_emails.into_iter().collect();
        let taken_references: HashSet<String> = taken_references.into_iter().collect();
        let faults: Vec<Fault> = entries
            .iter()
            .enumerate()
            .flat_map(|(place, entry)| keys_of(entry).map(move |(field, key)| (place, field, key)))
            .filter(|(_, field, key)| match *field {
                "email" => taken_emails.contains(key),
                _ => taken_references.contains(key),
            })
            .map(|(place, field, _)| Fault {
                pointer: pointer(place, field),
                detail: "is taken by another participant of the meeting".to_owned(),
            })
            .collect();
        if !faults.is_empty() {
            return Err(VotingError::ParticipantExists(faults));
        }
        let how_many = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        if let Some(limit) = limit {
            let used = participants::count_participants(tx, tenant_id, limit.count_to()).await?;
            limit.admit(used, how_many)?;
        }
        let ids = participants::reserve_ids(tx, how_many).await?;
        let added: Vec<Added> = ids
            .into_iter()
            .zip(entries)
            .map(|(participant_id, participant)| Added {
                participant_id,
                participant: participant.clone(),
                token: MintedToken::new(tenant_id, participant_id, self.ids.bytes()),
            })
            .collect();
        let rows: Vec<participants::NewRow> = added.iter().map(|added| self.row_of(added)).collect();
        participants::insert_participants(tx, tenant_id, meeting_id, &rows, now).await?;
        let entries: Vec<Act> = added.iter().map(|added| entry_of(meeting_id, added)).collect();
        audit::insert(tx, author, now, &entries).await?;
        Ok(added)
    }

    fn row_of(&self, added: &Added) -> participants::NewRow {
        participants::NewRow {
            participant_id: added.participant_id,
            record_key: self.ids.uuid_v4(),
            name: added.participant.name.clone(),
            email: added.participant.email.clone(),
            email_key: added.participant.email.as_deref().map(email_key),
            external_reference: added.participant.external_reference.clone(),
            weight: added.participant.weight,
            salt: self.ids.bytes(),
            token_sha256: added.token.sha256(),
        }
    }

    /// Gives the participant another token, from a revision that the caller has seen; the token and the new revision.
    /// The one before is dead from the commit on, also for casts on their way, because the generation of the meeting's
    /// open polls is raised under their locks.
    pub async fn reissue_token(
        &self,
        tx: &mut PgConnection,
        author: Author,
        participant_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<(MintedToken, i64), VotingError> {
        let tenant_id = author.tenant_id;
        let found = participants::find_membership(tx, tenant_id, participant_id).await?;
        let meeting_id = found.ok_or(VotingError::NotFound)?.meeting_id;
        self.lock_changeable(tx, tenant_id, meeting_id).await?;
        let found = participants::find_membership(tx, tenant_id, participant_id).await?;
        let found = found.ok_or(VotingError::NotFound)?;
        if found.removed {
            return Err(VotingError::ParticipantRemoved);
        }
        if !accepts(found.revision) {
            return Err(VotingError::Changed(found.revision));
        }
        let token = MintedToken::new(tenant_id, participant_id, self.ids.bytes());
        participants::update_token(tx, tenant_id, participant_id, &token.sha256()).await?;
        polls::update_generations(tx, tenant_id, meeting_id).await?;
        let entry = Act::new("participant.token_reissued", &participant_id);
        audit::insert(tx, author, self.clock.now(), &[entry]).await?;
        Ok((token, found.revision + 1))
    }

    /// Removes the participant from the meeting: proxies given and held are over, the token is dead, so nothing more is cast with it; what
    /// was cast, the frozen electorates and the results stay. Again changes nothing.
    pub async fn remove_participant(
        &self,
        author: Author,
        participant_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<(), VotingError> {
        let (tenant_id, now) = (author.tenant_id, self.clock.now());
        let mut tx = self.db.begin().await?;
        let found = participants::find_membership(&mut tx, tenant_id, participant_id).await?;
        let meeting_id = found.ok_or(VotingError::NotFound)?.meeting_id;
        meetings::lock_meeting(&mut tx, tenant_id, meeting_id).await?;
        let found = participants::find_membership(&mut tx, tenant_id, participant_id).await?;
        let found = found.ok_or(VotingError::NotFound)?;
        if found.removed {
            return Ok(());
        }
        if !accepts(found.revision) {
            return Err(VotingError::Changed(found.revision));
        }
        self.end_proxies(&mut tx, author, participant_id).await?;
        participants::tombstone_participant(&mut tx, tenant_id, participant_id, now).await?;
        polls::update_generations(&mut tx, tenant_id, meeting_id).await?;
        audit::insert(&mut tx, author, now, &[Act::new("participant.removed", &participant_id)]).await?;
        Ok(db::commit(tx).await?)
    }

    /// Locks a meeting that is not over.
    pub(super) async fn lock_changeable(
        &self,
        conn: &mut PgConnection,
        tenant_id: i64,
        meeting_id: i64,
    ) -> Result<meetings::Meeting, VotingError> {
        let meeting =
            meetings::lock_meeting(conn, tenant_id, meeting_id).await?.ok_or(VotingError::NotFound)?;
        if rules::may_change_meeting(meeting.state) {
            Ok(meeting)
        } else {
            Err(VotingError::MeetingOver(meeting.state))
        }
    }
}

/// By reference only: no name, no address, nothing that an erasure would have to reach.
fn entry_of(meeting_id: i64, added: &Added) -> Act {
    let weight = added.participant.weight.to_string();
    let after = json!({ "meeting": meeting_id.to_string(), "weight": weight });
    Act::new("participant.added", &added.participant_id).after(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(email: Option<&str>, reference: Option<&str>) -> NewParticipant {
        NewParticipant {
            name: "N".into(),
            email: email.map(Into::into),
            external_reference: reference.map(Into::into),
            weight: Weight::ONE,
        }
    }

    #[test]
    fn repeats_inside_one_call_are_faults_of_the_later_entry() {
        let entries = [
            entry(Some("Ada@example.org"), Some("1")),
            entry(None, None),
            entry(Some("ada@example.org"), Some("1")),
            entry(None, Some("ada@example.org")),
        ];
        let faults = list_repeats(&entries, |place, field| format!("/participants/{place}/{field}"));
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/participants/2/email", "/participants/2/external_reference"]);
        assert_eq!(faults[0].detail, "is the same as in /participants/0/email");
    }
}
