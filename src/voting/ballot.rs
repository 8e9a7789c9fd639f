//! Ballots: what one may say, judged against the poll's options, and the receipt for one that was stored.
//!
//! A ballot with any fault is refused as a whole; nothing of it is dropped silently.

use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

use super::model::{BallotKind, instant_text};
use super::record::event::{self, Event};
use super::record::hash::hex;
use super::weight::Weight;

/// A fault of a ballot: where in the body (JSON pointer), and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer into the body.
    pub pointer: String,
    /// What is wrong there.
    pub detail: String,
}

/// Judges chosen options by the kind of ballot and the options that there are; every fault at once.
pub fn check_choice(kind: BallotKind, option_ids: &[i64], chosen: &[i64]) -> Result<(), Vec<Fault>> {
    let BallotKind::SingleChoice = kind;
    let mut faults = Vec::new();
    let mut fault = |pointer: String, detail: &str| {
        faults.push(Fault { pointer, detail: detail.to_owned() });
    };
    for (place, option_id) in chosen.iter().enumerate() {
        if !option_ids.contains(option_id) {
            fault(format!("/options/{place}"), "is no option of this poll");
        } else if chosen[..place].contains(option_id) {
            fault(format!("/options/{place}"), "is there twice");
        }
    }
    if chosen.len() != 1 {
        fault("/options".to_owned(), "must be exactly one option");
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// A ballot as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBallot {
    /// Place in the round's log.
    pub index: i64,
    /// Leaf hash of its event.
    pub event_hash: Vec<u8>,
    /// When it was accepted, by the database's clock.
    pub cast_at: OffsetDateTime,
    /// What it chose.
    pub choice: Vec<i64>,
    /// The key under which a retry gets the same answer.
    pub idempotency_key: Option<String>,
    /// Record key of the proxy who cast it; `None`: the voter did.
    pub actor_key: Option<Uuid>,
}

impl StoredBallot {
    /// Where in the log it stands, and since when.
    pub fn place(&self) -> (i64, OffsetDateTime) {
        (self.index, self.cast_at)
    }
}

/// Who cast it, as the record knows the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signatory {
    /// Random id of the person in the record.
    pub record_key: Uuid,
    /// What the person casts.
    pub weight: Weight,
}

/// What a voter keeps: where the ballot stands in the log, and all that is needed to recompute its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    poll: String,
    round: i32,
    index: i64,
    event_hash: String,
    /// The canonical text of the event, exactly as hashed.
    event: String,
    options: Vec<String>,
    cast_at: String,
}

impl Receipt {
    /// The receipt of a stored ballot; the same for every reading of it.
    pub fn new((poll_id, round): (i64, i32), signatory: Signatory, ballot: &StoredBallot) -> Self {
        let event = event_of((poll_id, round), signatory, ballot.actor_key, &ballot.choice);
        Self::of_event((poll_id, round), event.body, &ballot.event_hash, &ballot.choice, ballot.place())
    }

    /// The receipt of a ballot whose event is at hand.
    pub fn of_event(
        (poll_id, round): (i64, i32),
        event: String,
        event_hash: &[u8],
        choice: &[i64],
        (index, cast_at): (i64, OffsetDateTime),
    ) -> Self {
        Self {
            poll: poll_id.to_string(),
            round,
            index,
            event_hash: hex(event_hash),
            event,
            options: choice.iter().map(ToString::to_string).collect(),
            cast_at: instant_text(cast_at),
        }
    }

    /// The short form that names the ballot: `<poll>-<round>-<index>`.
    pub fn reference(&self) -> String {
        format!("{}-{}-{}", self.poll, self.round, self.index)
    }
}

/// The event of a ballot in a round of a poll.
pub fn event_of(round: (i64, i32), signatory: Signatory, actor_key: Option<Uuid>, choice: &[i64]) -> Event {
    event::ballot(round, (signatory.record_key, signatory.weight), actor_key, choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(chosen: &[i64]) -> Vec<String> {
        check_choice(BallotKind::SingleChoice, &[11, 12], chosen)
            .unwrap_err()
            .into_iter()
            .map(|fault| fault.pointer)
            .collect()
    }

    #[test]
    fn exactly_one_option_of_the_poll_is_a_ballot() {
        assert_eq!(check_choice(BallotKind::SingleChoice, &[11, 12], &[12]), Ok(()));
    }

    #[test]
    fn every_fault_of_a_ballot_is_named() {
        assert_eq!(pointers(&[]), ["/options"]);
        assert_eq!(pointers(&[99]), ["/options/0"]);
        assert_eq!(pointers(&[11, 12]), ["/options"]);
        assert_eq!(pointers(&[11, 11]), ["/options/1", "/options"]);
        assert_eq!(pointers(&[11, 99]), ["/options/1", "/options"]);
    }
}
