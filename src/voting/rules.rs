//! What may follow what: the states of meetings and polls, and who may cast.
//!
//! Pure decisions over values that the caller read. The guard of the cast decides again under the poll's
//! lock; what is judged here only spares that lock and explains a refusal.

use super::model::{MeetingState, PollState, ResultState, ResultsVisibility, Secrecy};

/// Most seats of an option.
pub const MOST_SEATS: i32 = 1_000_000;

/// Most proxies of one holder that a meeting may permit.
pub const MOST_PROXIES: i32 = 1_000;

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

/// What ties principal and holder of a proxy to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ties {
    /// Whether the principal holds a proxy.
    pub principal_holds: bool,
    /// Whether the holder has given one.
    pub holder_gave: bool,
    /// How many proxies of others than the principal the holder has.
    pub held: i64,
}

/// Why a proxy cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProxyRefusal {
    /// To oneself.
    #[error("nobody is their own proxy")]
    Oneself,
    /// It would be a chain, of which a ring is one.
    #[error("who holds a proxy gives none")]
    PrincipalHolds,
    /// It would be a chain, of which a ring is one.
    #[error("who has given a proxy holds none")]
    HolderGave,
    /// The holder has as many as the meeting permits.
    #[error("a participant of this meeting holds at most {0} proxies")]
    Limit(i32),
}

/// Whether the holder may get the principal's proxy, both of one meeting that permits so many to each holder. One level:
/// nobody both gives and holds.
pub fn may_give_proxy(
    principal_id: i64,
    holder_id: i64,
    ties: Ties,
    per_holder: i32,
) -> Result<(), ProxyRefusal> {
    if principal_id == holder_id {
        Err(ProxyRefusal::Oneself)
    } else if ties.principal_holds {
        Err(ProxyRefusal::PrincipalHolds)
    } else if ties.holder_gave {
        Err(ProxyRefusal::HolderGave)
    } else if ties.held >= per_holder.into() {
        Err(ProxyRefusal::Limit(per_holder))
    } else {
        Ok(())
    }
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn however_proxies_come_and_go_there_is_one_level_and_nobody_holds_too_many(
            limit in 0_i32..4,
            steps in prop::collection::vec((0_i64..8, prop::option::of(0_i64..8)), 0..60),
        ) {
            // Principal to holder.
            let mut proxies = BTreeMap::<i64, i64>::new();
            for (principal, holder) in steps {
                let Some(holder) = holder else {
                    proxies.remove(&principal);
                    continue;
                };
                let held = proxies.iter().filter(|(from, to)| **to == holder && **from != principal).count();
                let ties = Ties {
                    principal_holds: proxies.values().any(|to| *to == principal),
                    holder_gave: proxies.contains_key(&holder),
                    held: i64::try_from(held).unwrap(),
                };
                if may_give_proxy(principal, holder, ties, limit).is_ok() {
                    proxies.insert(principal, holder);
                }
                for holder in proxies.values() {
                    prop_assert!(!proxies.contains_key(holder), "a chain: {proxies:?}");
                    let held = proxies.values().filter(|other| *other == holder).count();
                    prop_assert!(held <= usize::try_from(limit).unwrap(), "too many: {proxies:?}");
                }
            }
        }
    }

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
