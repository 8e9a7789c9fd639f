//! Polls beside casting and closing: making, changing a draft, opening, extending, cancelling, publishing.
//!
//! Each is one transaction that locks meeting, then poll, and decides from what it reads after that.

use serde_json::{Value, json};
use sqlx::{PgConnection, Postgres, Transaction};
use time::OffsetDateTime;

use super::Voting;
use super::count::tally::Count;
use super::error::VotingError;
use super::known::PollKey;
use super::model::{PollState, ResultState, instant_text};
use super::record::electorate::electorate_hash;
use super::record::event;
use super::record::opening::Terms;
use super::rules;
use super::store::polls::{Poll, Settings};
use super::store::{meetings, opening, polls, results};
use super::weight::Amount;
use crate::db;
use crate::db::audit::{self, Act, Author};

impl Voting {
    /// Makes a poll in draft.
    pub async fn create_poll(
        &self,
        tx: &mut PgConnection,
        author: Author,
        meeting_id: i64,
        settings: &Settings,
    ) -> Result<Poll, VotingError> {
        let (tenant_id, now) = (author.tenant_id, self.clock.now());
        self.lock_changeable(tx, tenant_id, meeting_id).await?;
        let poll_id = polls::insert_poll(tx, tenant_id, meeting_id, settings, now).await?;
        let poll = polls::find_poll(tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        let mut after = terms(&poll);
        after["meeting"] = meeting_id.to_string().into();
        audit::insert(tx, author, now, &[Act::new("poll.created", &poll_id).after(after)]).await?;
        Ok(poll)
    }

    /// Replaces the settings of a draft whose generation is one that the caller has seen.
    pub async fn change_poll(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
        settings: &Settings,
    ) -> Result<Poll, VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        check_seen(&poll, accepts)?;
        if poll.state != PollState::Draft {
            return Err(VotingError::NotADraft);
        }
        polls::update_draft(&mut tx, tenant_id, poll_id, settings).await?;
        let entry = Act::new("poll.changed", &poll_id).before(terms(&poll));
        self.finish(tx, author, poll_id, entry).await
    }

    /// Opens a poll: freezes the electorate, hashes terms and electorate, and writes event 0.
    pub async fn open_poll(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<Poll, VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let found = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        let meeting = meetings::lock_meeting(&mut tx, tenant_id, found.meeting_id)
            .await?
            .ok_or(VotingError::NotFound)?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        check_seen(&poll, accepts)?;
        rules::may_step_poll(poll.state, PollState::Open)?;
        if !rules::may_open_polls(meeting.state) {
            return Err(VotingError::MeetingNotOpen(meeting.state));
        }
        if poll.past_deadline {
            return Err(VotingError::DeadlinePassed);
        }
        let voters = opening::list_voters(&mut tx, tenant_id, poll.meeting_id).await?;
        let entitled = Count {
            heads: u64::try_from(voters.len()).unwrap_or(u64::MAX),
            weight: voters.iter().map(|voter| Amount::from(voter.entry.weight)).sum(),
        };
        let electorate = electorate_hash(voters.iter().map(|voter| &voter.entry));
        let terms = terms_of(&poll);
        let opened = event::opened(&terms, &electorate, entitled);
        opening::insert_electorate(&mut tx, tenant_id, poll_id, poll.round, &voters).await?;
        opening::insert_seats(&mut tx, tenant_id, poll_id, poll.round).await?;
        let hashes = (&terms.hash(), &electorate);
        if !opening::update_opened(&mut tx, tenant_id, poll_id, poll.round, hashes, &opened).await? {
            return Err(VotingError::DeadlinePassed);
        }
        let poll = self.finish(tx, author, poll_id, Act::new("poll.opened", &poll_id)).await?;
        self.remember((tenant_id, poll_id), poll.generation);
        Ok(poll)
    }

    /// Begins to read the electorate, so that the first voters find it. Nobody needs it: who comes first reads it.
    fn remember(&self, key: PollKey, generation: i64) {
        let voting = self.clone();
        self.tasks.spawn_short(async move {
            if let Err(error) = voting.known_polls.read_ahead(&voting.db, key, generation).await {
                tracing::debug!(%error, "an electorate is left to its first voter");
            }
        });
    }

    /// Sets the deadline of an open poll to a later moment; one without gets its first.
    pub async fn extend_deadline(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
        closes_at: OffsetDateTime,
    ) -> Result<Poll, VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        check_seen(&poll, accepts)?;
        if poll.state != PollState::Open {
            return Err(VotingError::NotOpen);
        }
        if poll.past_deadline {
            return Err(VotingError::DeadlinePassed);
        }
        let later = poll.closes_at.is_none_or(|present| closes_at > present);
        if !later || !polls::is_in_future(&mut tx, closes_at).await? {
            return Err(VotingError::DeadlineNotLater);
        }
        polls::update_deadline(&mut tx, tenant_id, poll_id, closes_at).await?;
        let entry = Act::new("poll.deadline_extended", &poll_id).before(terms(&poll));
        self.finish(tx, author, poll_id, entry).await
    }

    /// Cancels a draft; again changes nothing.
    pub async fn cancel_poll(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<Poll, VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        if poll.state == PollState::Cancelled {
            return Ok(poll);
        }
        check_seen(&poll, accepts)?;
        rules::may_step_poll(poll.state, PollState::Cancelled)?;
        polls::update_cancelled(&mut tx, tenant_id, poll_id).await?;
        self.finish(tx, author, poll_id, Act::new("poll.cancelled", &poll_id)).await
    }

    /// Publishes a counted result; again changes nothing.
    pub async fn publish_poll(
        &self,
        author: Author,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<Poll, VotingError> {
        let tenant_id = author.tenant_id;
        let mut tx = self.db.begin().await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        if poll.result_state == ResultState::Published {
            return Ok(poll);
        }
        check_seen(&poll, accepts)?;
        if !rules::may_publish(poll.result_state) {
            return Err(VotingError::NotCounted);
        }
        results::update_published(&mut tx, tenant_id, poll_id, poll.round).await?;
        self.finish(tx, author, poll_id, Act::new("poll.published", &poll_id)).await
    }

    /// Ends a change: the poll as it is now, in the log and as the answer.
    async fn finish(
        &self,
        mut tx: Transaction<'static, Postgres>,
        author: Author,
        poll_id: i64,
        entry: Act,
    ) -> Result<Poll, VotingError> {
        let poll =
            polls::find_poll(&mut tx, author.tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        audit::insert(&mut tx, author, self.clock.now(), &[entry.after(terms(&poll))]).await?;
        db::commit(tx).await?;
        Ok(poll)
    }
}

/// Refuses a change from a revision that is no longer the current one.
fn check_seen(poll: &Poll, accepts: impl Fn(i64) -> bool) -> Result<(), VotingError> {
    if accepts(poll.generation) { Ok(()) } else { Err(VotingError::Changed(poll.generation)) }
}

/// A poll as the log has it. Without its texts, which may name people; those of an opened poll are in its record.
fn terms(poll: &Poll) -> Value {
    json!({
        "state": poll.state.as_str(),
        "result_state": poll.result_state.as_str(),
        "round": poll.round,
        "revision": poll.generation,
        "ballot_kind": poll.ballot_kind.as_str(),
        "secrecy": poll.secrecy.as_str(),
        "results": poll.results.as_str(),
        "rule": poll.rule.name(),
        "closes_at": poll.closes_at.map(instant_text),
        "options": poll.options.len(),
        "seats": poll.options.iter().map(|option| option.seats).collect::<Vec<_>>(),
    })
}

fn terms_of(poll: &Poll) -> Terms<'_> {
    Terms {
        poll_id: poll.poll_id,
        round: poll.round,
        title: &poll.title,
        description: &poll.description,
        ballot_kind: poll.ballot_kind,
        secrecy: poll.secrecy,
        rule: poll.rule,
        options: &poll.options,
    }
}
