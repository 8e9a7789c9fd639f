//! What may follow what: the states of meetings and polls, and who may cast.
//!
//! Pure decisions over values that the caller read. The guard of the cast decides again under the poll's
//! lock; what is judged here only spares that lock and explains a refusal.

use super::model::{MeetingState, PollState, ResultState, ResultsVisibility, Secrecy};

/// Most seats of an option.
pub const MOST_SEATS: i32 = 1_000_000;

/// A step that the state machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {thing} that is {from} cannot become {to}")]
pub struct IllegalStep {
    /// `meeting` or `poll`.
    pub thing: &'static str,
    /// Where it stands.
    pub from: &'static str,
    /// Where it was to go.
    pub to: &'static str,
}

/// `draft → preparing → active → closed → archived`, and `active ⇄ suspended`. No step to itself.
pub fn may_step_meeting(from: MeetingState, to: MeetingState) -> Result<(), IllegalStep> {
    use MeetingState::{Active, Archived, Closed, Draft, Preparing, Suspended};
    match (from, to) {
        (Draft, Preparing)
        | (Preparing | Suspended, Active)
        | (Active, Suspended | Closed)
        | (Closed, Archived) => Ok(()),
        _ => Err(IllegalStep { thing: "meeting", from: from.as_str(), to: to.as_str() }),
    }
}

/// `draft → open → closed`, and `draft → cancelled`. An open poll is never cancelled: every ballot that
/// was acknowledged is counted.
pub fn may_step_poll(from: PollState, to: PollState) -> Result<(), IllegalStep> {
    use PollState::{Cancelled, Closed, Draft, Open};
    match (from, to) {
        (Draft, Open | Cancelled) | (Open, Closed) => Ok(()),
        _ => Err(IllegalStep { thing: "poll", from: from.as_str(), to: to.as_str() }),
    }
}

/// Whether polls may open: the meeting accepts votes.
pub fn may_open_polls(meeting: MeetingState) -> bool {
    matches!(meeting, MeetingState::Preparing | MeetingState::Active)
}

/// Whether options may have seats: a full option tells how many chose it, and choosing another one instead tells who
/// came too late.
pub fn may_have_seats(secrecy: Secrecy, results: ResultsVisibility) -> bool {
    let Secrecy::Named = secrecy;
    results == ResultsVisibility::Live
}

/// Whether participants and polls may still be added or changed.
pub fn may_change_meeting(meeting: MeetingState) -> bool {
    !matches!(meeting, MeetingState::Closed | MeetingState::Archived)
}

/// Whether a result may be published: it is counted. A published one stays published.
pub fn may_publish(result: ResultState) -> bool {
    matches!(result, ResultState::Counted | ResultState::Published)
}

/// What a poll shows: past its deadline it is closed with the result pending, whether or not anything
/// has materialised that yet.
pub fn shown_state(state: PollState, result: ResultState, past_deadline: bool) -> (PollState, ResultState) {
    if state == PollState::Open && past_deadline {
        (PollState::Closed, ResultState::Pending)
    } else {
        (state, result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_illegal_step_of_a_meeting_is_refused() {
        use MeetingState::{Active, Archived, Closed, Draft, Preparing, Suspended};
        let legal = [
            (Draft, Preparing),
            (Preparing, Active),
            (Active, Suspended),
            (Suspended, Active),
            (Active, Closed),
            (Closed, Archived),
        ];
        for from in MeetingState::ALL {
            for to in MeetingState::ALL {
                let allowed = may_step_meeting(*from, *to).is_ok();
                assert_eq!(allowed, legal.contains(&(*from, *to)), "{from:?} → {to:?}");
            }
        }
    }

    #[test]
    fn every_illegal_step_of_a_poll_is_refused() {
        use PollState::{Cancelled, Closed, Draft, Open};
        let legal = [(Draft, Open), (Open, Closed), (Draft, Cancelled)];
        for from in PollState::ALL {
            for to in PollState::ALL {
                let allowed = may_step_poll(*from, *to).is_ok();
                assert_eq!(allowed, legal.contains(&(*from, *to)), "{from:?} → {to:?}");
            }
        }
    }

    #[test]
    fn a_poll_past_its_deadline_shows_closed_with_the_result_pending() {
        assert_eq!(
            shown_state(PollState::Open, ResultState::None, true),
            (PollState::Closed, ResultState::Pending)
        );
        assert_eq!(
            shown_state(PollState::Closed, ResultState::Counted, true),
            (PollState::Closed, ResultState::Counted)
        );
        assert_eq!(
            shown_state(PollState::Draft, ResultState::None, true),
            (PollState::Draft, ResultState::None)
        );
    }
}
