//! Polls beside casting and closing: making, changing a draft, opening, extending, cancelling, publishing.
//!
//! Each is one transaction that locks meeting, then poll, and decides from what it reads after that.

use time::OffsetDateTime;

use super::Voting;
use super::count::tally::Count;
use super::error::VotingError;
use super::model::{PollState, ResultState};
use super::record::electorate::{Entry, electorate_hash};
use super::record::event;
use super::record::opening::Terms;
use super::rules;
use super::store::polls::{Poll, Settings};
use super::store::{self, meetings, opening, polls, results};
use super::weight::Amount;

impl Voting {
    /// Makes a poll in draft.
    pub async fn create_poll(
        &self,
        tenant_id: i64,
        meeting_id: i64,
        settings: &Settings,
    ) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        self.lock_changeable(&mut tx, tenant_id, meeting_id).await?;
        let now = self.clock.now();
        let poll_id = polls::insert_poll(&mut tx, tenant_id, meeting_id, settings, now).await?;
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }

    /// Replaces the settings of a draft whose generation is one that the caller has seen.
    pub async fn change_poll(
        &self,
        tenant_id: i64,
        poll_id: i64,
        accepts: impl Fn(i64) -> bool,
        settings: &Settings,
    ) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        if !accepts(poll.generation) {
            return Err(VotingError::Changed);
        }
        if poll.state != PollState::Draft {
            return Err(VotingError::NotADraft);
        }
        polls::update_draft(&mut tx, tenant_id, poll_id, settings).await?;
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }

    /// Opens a poll: freezes the electorate, hashes terms and electorate, and writes event 0.
    pub async fn open_poll(&self, tenant_id: i64, poll_id: i64) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        let found = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        let meeting = meetings::lock_meeting(&mut tx, tenant_id, found.meeting_id)
            .await?
            .ok_or(VotingError::NotFound)?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        rules::may_step_poll(poll.state, PollState::Open)?;
        if !rules::may_open_polls(meeting.state) {
            return Err(VotingError::MeetingNotOpen(meeting.state));
        }
        if poll.past_deadline {
            return Err(VotingError::DeadlinePassed);
        }
        let voters = opening::list_voters(&mut tx, tenant_id, poll.meeting_id).await?;
        let entries: Vec<Entry> = voters.iter().map(|voter| voter.entry.clone()).collect();
        let entitled = Count {
            heads: u64::try_from(entries.len()).unwrap_or(u64::MAX),
            weight: entries.iter().map(|entry| Amount::from(entry.weight)).sum(),
        };
        let electorate = electorate_hash(&entries);
        let terms = terms_of(&poll);
        let opened = event::opened(&terms, &electorate, entitled);
        opening::insert_electorate(&mut tx, tenant_id, poll_id, poll.round, &voters).await?;
        let hashes = (&terms.hash(), &electorate);
        if !opening::update_opened(&mut tx, tenant_id, poll_id, poll.round, hashes, &opened).await? {
            return Err(VotingError::DeadlinePassed);
        }
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }

    /// Sets the deadline of an open poll to a later moment; one without gets its first.
    pub async fn extend_deadline(
        &self,
        tenant_id: i64,
        poll_id: i64,
        closes_at: OffsetDateTime,
    ) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
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
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }

    /// Cancels a draft; again changes nothing.
    pub async fn cancel_poll(&self, tenant_id: i64, poll_id: i64) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        if poll.state == PollState::Cancelled {
            return Ok(poll);
        }
        rules::may_step_poll(poll.state, PollState::Cancelled)?;
        polls::update_cancelled(&mut tx, tenant_id, poll_id).await?;
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }

    /// Publishes a counted result; again changes nothing.
    pub async fn publish_poll(&self, tenant_id: i64, poll_id: i64) -> Result<Poll, VotingError> {
        let mut tx = store::begin(&self.db).await?;
        let poll = polls::lock_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        if poll.result_state == ResultState::Published {
            return Ok(poll);
        }
        if !rules::may_publish(poll.result_state) {
            return Err(VotingError::NotCounted);
        }
        results::update_published(&mut tx, tenant_id, poll_id, poll.round).await?;
        let poll = polls::find_poll(&mut tx, tenant_id, poll_id).await?.ok_or(VotingError::NotFound)?;
        store::commit(tx).await?;
        Ok(poll)
    }
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
