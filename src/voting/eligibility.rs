//! May this voter cast this ballot? Judged before the poll's lock is taken, from one reading of the
//! poll, its options and the voter.
//!
//! Pure. It never burns the right to vote, and it is not the last word: the guard under the lock compares
//! the generation that was read here, so nothing that changed since can slip through.

use uuid::Uuid;

use super::ballot::{self, Fault, Receipt, Signatory, StoredBallot};
use super::model::{BallotKind, PollState};
use super::record::event::Event;

/// The poll as read before the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollStanding {
    /// Which poll.
    pub poll_id: i64,
    /// Whose participants vote.
    pub meeting_id: i64,
    /// As stored.
    pub state: PollState,
    /// Whether the meeting is interrupted.
    pub meeting_suspended: bool,
    /// Whether the deadline has passed by the database's clock.
    pub past_deadline: bool,
    /// What the guard compares.
    pub generation: i64,
    /// The current round.
    pub round: i32,
    /// What a ballot may say.
    pub ballot_kind: BallotKind,
    /// Ids of the options, in order.
    pub option_ids: Vec<i64>,
}

/// The voter as read before the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterStanding {
    /// Which participant.
    pub participant_id: i64,
    /// In which meeting.
    pub meeting_id: i64,
    /// Set when the person is in the frozen electorate of the round.
    pub signatory: Option<Signatory>,
    /// The voter's ballot in this round.
    pub ballot: Option<StoredBallot>,
    /// Who held the voter's proxy when the round opened, and holds it still.
    pub holder_id: Option<i64>,
    /// Who casts, where it is not the voter.
    pub acting: Option<Actor>,
}

/// A participant who casts for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// Which participant.
    pub participant_id: i64,
    /// Random id of the person in the record.
    pub record_key: Uuid,
}

impl VoterStanding {
    /// Record key of who casts, where it is not the voter.
    pub fn actor_key(&self) -> Option<Uuid> {
        self.acting.map(|actor| actor.record_key)
    }

    /// Whether who casts may: the voter, or the holder of the voter's proxy.
    fn may_act(&self) -> bool {
        self.acting.is_none_or(|actor| self.holder_id == Some(actor.participant_id))
    }
}

/// What a voter sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The options chosen.
    pub choice: Vec<i64>,
    /// The key under which a retry gets the same answer.
    pub idempotency_key: Option<String>,
}

/// A ballot that may be stored if nothing has changed since it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    /// Whose ballot it is.
    pub participant_id: i64,
    /// Record key of the proxy who casts it; `None`: the voter does.
    pub actor_key: Option<Uuid>,
    /// What is chosen.
    pub choice: Vec<i64>,
    /// See [`Submission`].
    pub idempotency_key: Option<String>,
    /// The event, hashed before the lock.
    pub event: Event,
    /// The poll's generation that it was judged at.
    pub generation: i64,
}

/// Why a ballot is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not a poll of the voter's meeting.
    UnknownPoll,
    /// The poll has not opened, or never will.
    NotOpen,
    /// The poll is closed, or its deadline has passed.
    Closed,
    /// The meeting is interrupted.
    Suspended,
    /// Not in the frozen electorate.
    NotEligible,
    /// Who casts does not hold the voter's proxy, or did not when the poll opened.
    NotProxy,
    /// The voter's first ballot stands; its receipt, unless it is a secret from who casts.
    AlreadyVoted(Option<Receipt>),
    /// The seats of this option are taken; another one may be chosen. Only the guard knows.
    OptionFull(i64),
    /// The key belongs to a ballot with another choice.
    KeyReused,
    /// The ballot itself is faulty.
    Invalid(Vec<Fault>),
}

/// What is to be done with a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Store it, under the lock.
    Cast(Cast),
    /// It is a retry of the ballot that is stored: the first answer again.
    Replay(Receipt),
    /// Nothing is stored.
    Refused(Refusal),
}

/// Judges a submission. A stored ballot comes first: a retry must find its answer also after the close, and that of a
/// proxy also after it was revoked.
pub fn judge(poll: &PollStanding, voter: &VoterStanding, submission: Submission) -> Judgement {
    use Judgement::Refused;
    if voter.meeting_id != poll.meeting_id {
        return Refused(Refusal::UnknownPoll);
    }
    if let (Some(signatory), Some(stored)) = (voter.signatory, &voter.ballot)
        && (voter.may_act() || stored.actor_key == voter.actor_key())
    {
        return judge_repeat((poll.poll_id, poll.round), signatory, stored, voter.actor_key(), &submission);
    }
    match poll.state {
        PollState::Draft | PollState::Cancelled => return Refused(Refusal::NotOpen),
        PollState::Closed => return Refused(Refusal::Closed),
        PollState::Open if poll.past_deadline => return Refused(Refusal::Closed),
        PollState::Open if poll.meeting_suspended => return Refused(Refusal::Suspended),
        PollState::Open => {}
    }
    if !voter.may_act() {
        return Refused(Refusal::NotProxy);
    }
    let Some(signatory) = voter.signatory else { return Refused(Refusal::NotEligible) };
    if let Err(faults) = ballot::check_choice(poll.ballot_kind, &poll.option_ids, &submission.choice) {
        return Refused(Refusal::Invalid(faults));
    }
    let actor_key = voter.actor_key();
    let event = ballot::event_of((poll.poll_id, poll.round), signatory, actor_key, &submission.choice);
    Judgement::Cast(Cast {
        participant_id: voter.participant_id,
        actor_key,
        choice: submission.choice,
        idempotency_key: submission.idempotency_key,
        event,
        generation: poll.generation,
    })
}

/// Judges a submission where the voter's ballot is stored: the same key from the same person is a retry. A proxy is shown
/// the ballot only if it was this one who cast it; the voter always.
pub fn judge_repeat(
    (poll_id, round): (i64, i32),
    signatory: Signatory,
    stored: &StoredBallot,
    actor_key: Option<Uuid>,
    submission: &Submission,
) -> Judgement {
    let receipt = Receipt::new((poll_id, round), signatory, stored);
    let same_person = stored.actor_key == actor_key;
    if !same_person
        || submission.idempotency_key.is_none()
        || submission.idempotency_key != stored.idempotency_key
    {
        let shown = same_person || actor_key.is_none();
        Judgement::Refused(Refusal::AlreadyVoted(shown.then_some(receipt)))
    } else if submission.choice == stored.choice {
        Judgement::Replay(receipt)
    } else {
        Judgement::Refused(Refusal::KeyReused)
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;
    use uuid::Uuid;

    use super::*;
    use crate::voting::weight::Weight;

    fn poll() -> PollStanding {
        PollStanding {
            poll_id: 5,
            meeting_id: 2,
            state: PollState::Open,
            meeting_suspended: false,
            past_deadline: false,
            generation: 3,
            round: 1,
            ballot_kind: BallotKind::SingleChoice,
            option_ids: vec![11, 12],
        }
    }

    fn voter() -> VoterStanding {
        let signatory = Signatory { record_key: Uuid::from_u128(9), weight: Weight::ONE };
        VoterStanding {
            participant_id: 7,
            meeting_id: 2,
            signatory: Some(signatory),
            ballot: None,
            holder_id: Some(8),
            acting: None,
        }
    }

    fn voted(idempotency_key: Option<&str>) -> VoterStanding {
        let ballot = StoredBallot {
            index: 1,
            event_hash: vec![0; 32],
            cast_at: datetime!(2026-03-01 12:00 UTC),
            choice: vec![11],
            idempotency_key: idempotency_key.map(Into::into),
            actor_key: None,
        };
        VoterStanding { ballot: Some(ballot), ..voter() }
    }

    fn submission(choice: i64, key: Option<&str>) -> Submission {
        Submission { choice: vec![choice], idempotency_key: key.map(Into::into) }
    }

    fn refusal(judgement: Judgement) -> Refusal {
        match judgement {
            Judgement::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn an_entitled_voter_may_cast_in_an_open_poll() {
        assert!(matches!(judge(&poll(), &voter(), submission(11, None)), Judgement::Cast(_)));
    }

    #[test]
    fn each_obstacle_has_its_own_refusal() {
        let ask = |poll: PollStanding| refusal(judge(&poll, &voter(), submission(11, None)));
        assert_eq!(ask(PollStanding { meeting_id: 3, ..poll() }), Refusal::UnknownPoll);
        assert_eq!(ask(PollStanding { state: PollState::Draft, ..poll() }), Refusal::NotOpen);
        assert_eq!(ask(PollStanding { state: PollState::Cancelled, ..poll() }), Refusal::NotOpen);
        assert_eq!(ask(PollStanding { state: PollState::Closed, ..poll() }), Refusal::Closed);
        assert_eq!(ask(PollStanding { past_deadline: true, ..poll() }), Refusal::Closed);
        assert_eq!(ask(PollStanding { meeting_suspended: true, ..poll() }), Refusal::Suspended);
        let outsider = VoterStanding { signatory: None, ..voter() };
        assert_eq!(refusal(judge(&poll(), &outsider, submission(11, None))), Refusal::NotEligible);
        assert!(matches!(refusal(judge(&poll(), &voter(), submission(99, None))), Refusal::Invalid(_)));
    }

    fn through(participant_id: i64, voter: VoterStanding) -> VoterStanding {
        let record_key = Uuid::from_u128(participant_id.unsigned_abs().into());
        VoterStanding { acting: Some(Actor { participant_id, record_key }), ..voter }
    }

    #[test]
    fn only_who_holds_the_proxy_casts_for_somebody_and_is_named() {
        let Judgement::Cast(cast) = judge(&poll(), &through(8, voter()), submission(11, None)) else {
            panic!("the holder may cast")
        };
        assert_eq!((cast.participant_id, cast.actor_key), (7, Some(Uuid::from_u128(8))));
        let stranger = through(9, voter());
        assert_eq!(refusal(judge(&poll(), &stranger, submission(11, None))), Refusal::NotProxy);
        let revoked = VoterStanding { holder_id: None, ..through(8, voter()) };
        assert_eq!(refusal(judge(&poll(), &revoked, submission(11, None))), Refusal::NotProxy);
    }

    #[test]
    fn a_proxy_is_not_shown_what_the_voter_cast_and_a_stranger_not_that() {
        let ask = |voter: VoterStanding| refusal(judge(&poll(), &voter, submission(11, Some("k"))));
        assert_eq!(ask(through(8, voted(Some("k")))), Refusal::AlreadyVoted(None));
        assert_eq!(ask(through(9, voted(Some("k")))), Refusal::NotProxy);
    }

    #[test]
    fn the_voter_is_shown_what_a_proxy_cast_and_the_proxy_retries_also_when_revoked() {
        let mut by_proxy = voted(Some("k"));
        by_proxy.ballot.as_mut().unwrap().actor_key = Some(Uuid::from_u128(8));
        let own = refusal(judge(&poll(), &by_proxy, submission(11, Some("k"))));
        assert!(matches!(own, Refusal::AlreadyVoted(Some(_))));
        let revoked = VoterStanding { holder_id: None, ..through(8, by_proxy) };
        assert!(matches!(judge(&poll(), &revoked, submission(11, Some("k"))), Judgement::Replay(_)));
    }

    #[test]
    fn a_retry_with_its_key_gets_the_first_answer_also_after_the_close() {
        let closed = PollStanding { state: PollState::Closed, ..poll() };
        let judgement = judge(&closed, &voted(Some("k")), submission(11, Some("k")));
        assert!(matches!(judgement, Judgement::Replay(_)));
    }

    #[test]
    fn a_key_with_another_choice_is_refused() {
        assert_eq!(refusal(judge(&poll(), &voted(Some("k")), submission(12, Some("k")))), Refusal::KeyReused);
    }

    #[test]
    fn a_second_ballot_is_refused_with_the_reference_of_the_first() {
        for key in [None, Some("other")] {
            let Refusal::AlreadyVoted(Some(receipt)) =
                refusal(judge(&poll(), &voted(Some("k")), submission(11, key)))
            else {
                panic!("not already voted")
            };
            assert_eq!(receipt.reference(), "5-1-1");
        }
        let keyless = refusal(judge(&poll(), &voted(None), submission(11, None)));
        assert!(matches!(keyless, Refusal::AlreadyVoted(_)));
    }
}
