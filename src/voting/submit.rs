//! A ballot from token to answer: read the standing, judge, store, and judge again when the poll has changed
//! in between.
//!
//! It decides nothing by itself: `eligibility` judges and `cast` has the guard.

use std::time::Duration;

use deadpool_postgres::Object;

use super::Voting;
use super::ballot::Receipt;
use super::cast::{Target, Verdict, cast_batch};
use super::eligibility::{Cast, Judgement, Refusal, Submission, judge, judge_repeat};
use super::standing::Standing;
use super::token::PresentedToken;
use crate::db;

/// How often a ballot is judged anew because the poll changed between judgement and lock.
const JUDGEMENTS: u32 = 8;
/// How often a transaction is run again after a serialization failure or a deadlock.
const RUNS: u32 = 4;

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
    /// Judges a submission and stores it, however often the poll changes in between (within reason: a poll
    /// that changes faster than it can be read is [`db::Error::Retryable`]).
    pub async fn cast(
        &self,
        token: &PresentedToken,
        poll_id: i64,
        submission: &Submission,
    ) -> Result<Answer, db::Error> {
        for _ in 0..JUDGEMENTS {
            let client = self.db.hot().await?;
            let (poll, voter) = match self.find_standing(&client, token, poll_id).await? {
                Standing::Unauthenticated => return Ok(Answer::Unauthenticated),
                Standing::UnknownPoll => return Ok(Answer::Refused(Refusal::UnknownPoll)),
                Standing::Found(poll, voter) => (poll, voter),
            };
            let cast = match judge(&poll, &voter, submission.clone()) {
                Judgement::Replay(receipt) => return Ok(Answer::Replayed(receipt)),
                Judgement::Refused(refusal) => return Ok(Answer::Refused(refusal)),
                Judgement::Cast(cast) => cast,
            };
            let target = Target { tenant_id: token.tenant_id, poll_id, generation: poll.generation };
            let verdict = self.cast_one(client, target, cast).await?;
            let signatory = voter.signatory.ok_or_else(|| unexpected("a judged voter without weight"))?;
            return Ok(match verdict {
                Verdict::Stale => continue,
                Verdict::Accepted(ballot) => {
                    Answer::Accepted(Receipt::new(poll_id, poll.round, signatory, &ballot))
                }
                Verdict::Before(ballot) => {
                    match judge_repeat(poll_id, poll.round, signatory, &ballot, submission) {
                        Judgement::Replay(receipt) => Answer::Replayed(receipt),
                        Judgement::Refused(refusal) => Answer::Refused(refusal),
                        Judgement::Cast(_) => return Err(unexpected("a repeat judged as a first ballot")),
                    }
                }
                Verdict::Closed => Answer::Refused(Refusal::Closed),
                Verdict::NotOpen => Answer::Refused(Refusal::NotOpen),
                Verdict::Suspended => Answer::Refused(Refusal::Suspended),
            });
        }
        Err(db::Error::Retryable("the poll changed faster than a ballot could be judged".into()))
    }

    async fn cast_one(&self, client: Object, target: Target, cast: Cast) -> Result<Verdict, db::Error> {
        let items = [cast];
        let mut connection = Some(client);
        for run in 1.. {
            let client = match connection.take() {
                Some(client) => client,
                None => self.db.hot().await?,
            };
            match cast_batch(client, target, &items).await {
                Err(db::Error::Retryable(_)) if run < RUNS => {
                    let [jitter] = self.ids.bytes();
                    tokio::time::sleep(Duration::from_millis(u64::from(jitter % 16) * u64::from(run))).await;
                }
                Ok(verdicts) => {
                    let verdict = verdicts.into_iter().next();
                    return verdict.ok_or_else(|| unexpected("a batch of one without a verdict"));
                }
                Err(error) => return Err(error),
            }
        }
        Err(unexpected("more runs than can be counted"))
    }
}

fn unexpected(what: &str) -> db::Error {
    db::Error::Internal(format!("casting: {what}").into())
}
