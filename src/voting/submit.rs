//! A ballot from token to answer: judged from memory or from the database, stored in the next batch of its poll, and
//! judged again when the poll has changed in between.
//!
//! It decides nothing by itself: `eligibility` judges and `cast` has the guard. Memory only ever says yes; a ballot
//! that it would refuse is judged by what the database says now.

use std::sync::Arc;

use super::Voting;
use super::ballot::Receipt;
use super::cast::Verdict;
use super::eligibility::{
    Cast, Judgement, PollStanding, Refusal, Submission, VoterStanding, judge, judge_repeat,
};
use super::known::PollKey;
use super::standing::Standing;
use super::token::PresentedToken;
use crate::db;

/// How often a ballot is judged anew because the poll changed between judgement and lock.
const JUDGEMENTS: u32 = 20;

/// How often of these from memory. One reading of the electorate serves all whom one change befell; while changes come
/// faster than an electorate can be read, such as tokens that are replaced one after the other, each reads for itself.
const FROM_MEMORY: u32 = 2;

/// What a cast answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The token is none.
    Unauthenticated,
    /// Stored now.
    Accepted(Receipt),
    /// Stored earlier, by the same request.
    Replayed(Receipt),
    /// Nothing is stored.
    Refused(Refusal),
}

impl Voting {
    /// Judges a submission, for the holder of the token or for the participant who is `represented`, and stores it,
    /// however often the poll changes in between (within reason: a poll that changes faster than it can be read is
    /// [`db::Error::Retryable`]).
    pub async fn cast(
        &self,
        token: &PresentedToken,
        poll_id: i64,
        represented: Option<i64>,
        submission: &Submission,
    ) -> Result<Answer, db::Error> {
        let key = (token.tenant_id, poll_id);
        let represented = represented.filter(|participant_id| *participant_id != token.participant_id);
        let mut seen = None;
        for _ in 0..FROM_MEMORY {
            let Some(known) = self.known_polls.find(&self.db, key, seen).await? else { break };
            let voter = match represented {
                None => known.voter(token),
                Some(participant_id) => known.represented(token, participant_id),
            };
            let Some(voter) = voter else { break };
            let Judgement::Cast(cast) = judge(known.standing(), &voter, submission.clone()) else { break };
            let cast = Arc::new(cast);
            let verdict = self.casting.submit(&key, Arc::clone(&cast)).await?;
            if let Some(answer) = answer_of(known.standing(), &voter, submission, (cast, verdict))? {
                return Ok(answer);
            }
            seen = Some(known.standing().generation);
        }
        // Boxed, as it is rare: what is awaited here is a part of every cast.
        Box::pin(self.cast_by_database(token, key, represented, submission)).await
    }

    /// The same, judged by what the database says.
    async fn cast_by_database(
        &self,
        token: &PresentedToken,
        key: PollKey,
        represented: Option<i64>,
        submission: &Submission,
    ) -> Result<Answer, db::Error> {
        for _ in FROM_MEMORY..JUDGEMENTS {
            let turn = self.turns.take(key.0).await;
            let client = self.db.hot().await?;
            let standing = self.find_standing(&client, token, key.1, represented).await?;
            drop((client, turn));
            let (poll, voter) = match standing {
                Standing::Unauthenticated => return Ok(Answer::Unauthenticated),
                Standing::UnknownPoll => return Ok(Answer::Refused(Refusal::UnknownPoll)),
                Standing::Found(poll, voter) => (poll, voter),
            };
            self.known_polls.seen(key, poll.generation);
            let cast = match judge(&poll, &voter, submission.clone()) {
                Judgement::Replay(receipt) => return Ok(Answer::Replayed(receipt)),
                Judgement::Refused(refusal) => return Ok(Answer::Refused(refusal)),
                Judgement::Cast(cast) => Arc::new(cast),
            };
            let verdict = self.casting.submit(&key, Arc::clone(&cast)).await?;
            if let Some(answer) = answer_of(&poll, &voter, submission, (cast, verdict))? {
                return Ok(answer);
            }
        }
        Err(db::Error::Retryable("the poll changed faster than a ballot could be judged".into()))
    }
}

/// The answer to a verdict; `None`: judge again.
fn answer_of(
    poll: &PollStanding,
    voter: &VoterStanding,
    submission: &Submission,
    (cast, verdict): (Arc<Cast>, Verdict),
) -> Result<Option<Answer>, db::Error> {
    let signatory = voter.signatory.ok_or_else(|| unexpected("a judged voter without weight"))?;
    Ok(Some(match verdict {
        Verdict::Stale => return Ok(None),
        Verdict::Accepted(index, cast_at) => {
            let Cast { choice, event, .. } = Arc::unwrap_or_clone(cast);
            let round = (poll.poll_id, poll.round);
            Answer::Accepted(Receipt::of_event(round, event.body, &event.hash, &choice, (index, cast_at)))
        }
        Verdict::Before(ballot) => {
            match judge_repeat((poll.poll_id, poll.round), signatory, &ballot, voter.actor_key(), submission)
            {
                Judgement::Replay(receipt) => Answer::Replayed(receipt),
                Judgement::Refused(refusal) => Answer::Refused(refusal),
                Judgement::Cast(_) => return Err(unexpected("a repeat judged as a first ballot")),
            }
        }
        Verdict::OptionFull => {
            let option_id =
                submission.choice.first().ok_or_else(|| unexpected("a full option of no ballot"))?;
            Answer::Refused(Refusal::OptionFull(*option_id))
        }
        Verdict::Closed => Answer::Refused(Refusal::Closed),
        Verdict::NotOpen => Answer::Refused(Refusal::NotOpen),
        Verdict::Suspended => Answer::Refused(Refusal::Suspended),
    }))
}

fn unexpected(what: &str) -> db::Error {
    db::Error::Internal(format!("casting: {what}").into())
}
