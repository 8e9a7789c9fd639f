//! The events of a poll round: opened, one for each ballot, closed, counted.
//!
//! An event says what happened, not where it stands in the log: its place is proven by the tree, and a
//! ballot's hash can be made before the poll's lock is held. A person is named by the random record key
//! only, so no hash here can be reversed by trying ids or names.

use std::fmt::Write as _;

use time::OffsetDateTime;
use uuid::Uuid;

use super::canonical::Canonical;
use super::hash::{Hash, hex, leaf_hash};
use super::opening::Terms;
use crate::voting::count::tally::Count;
use crate::voting::model::instant_text;
use crate::voting::weight::Weight;

/// Separates the data of events from everything else that is ever hashed as a leaf.
const TAG: &str = "resolute.event.v1\0";

/// An event with its canonical text and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The canonical text.
    pub body: String,
    /// SHA-256(0x00 ‖ tag ‖ body), the leaf of RFC 6962.
    pub hash: Hash,
}

impl Event {
    fn new(document: &Canonical) -> Self {
        Self::of_body(document.encode())
    }

    fn of_body(body: String) -> Self {
        let hash = leaf_hash(TAG, body.as_bytes());
        Self { body, hash }
    }
}

/// Event 0 of every round: the terms and the electorate, and the hashes of both.
pub fn opened(terms: &Terms<'_>, electorate_hash: &Hash, entitled: Count) -> Event {
    Event::new(&Canonical::object([
        ("electorate_hash", Canonical::text(hex(electorate_hash))),
        ("entitled", entitled.document()),
        ("event", Canonical::text("opened")),
        ("opening_hash", Canonical::text(hex(&terms.hash()))),
        ("poll", Canonical::text(terms.poll_id)),
        ("round", Canonical::Whole(terms.round.into())),
        ("terms", terms.document()),
    ]))
}

/// A named ballot of `voter`. `actor` is the proxy who cast it; without one there is no such member.
///
/// The canonical text, written in one go, because every ballot has one: nothing in it needs an escape, and the members
/// stand in order.
pub fn ballot(
    (poll_id, round): (i64, i32),
    (voter, weight): (Uuid, Weight),
    actor: Option<Uuid>,
    option_ids: &[i64],
) -> Event {
    let mut body = String::with_capacity(256);
    // Writing to a String cannot fail.
    let _ = match actor {
        Some(actor) => write!(body, "{{\"actor\":\"{actor}\",\"event\":\"ballot\",\"options\":["),
        None => body.write_str("{\"event\":\"ballot\",\"options\":["),
    };
    for (place, option_id) in option_ids.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _ = write!(body, "{comma}\"{option_id}\"");
    }
    let _ = write!(
        body,
        "],\"poll\":\"{poll_id}\",\"round\":{round},\"voter\":\"{voter}\",\"weight\":\"{weight}\"}}"
    );
    Event::of_body(body)
}

/// The close: after it no ballot joins the log. `size` is the number of events before it.
pub fn closed(poll_id: i64, round: i32, size: i64, closed_at: OffsetDateTime) -> Event {
    Event::new(&Canonical::object([
        ("closed_at", Canonical::text(instant_text(closed_at))),
        ("event", Canonical::text("closed")),
        ("poll", Canonical::text(poll_id)),
        ("round", Canonical::Whole(round.into())),
        ("size", Canonical::Whole(size)),
    ]))
}

/// The count, with the whole result document.
pub fn counted(poll_id: i64, round: i32, result: &Canonical) -> Event {
    Event::new(&Canonical::object([
        ("event", Canonical::text("counted")),
        ("poll", Canonical::text(poll_id)),
        ("result", result.clone()),
        ("round", Canonical::Whole(round.into())),
    ]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn a_ballot_event_has_one_text_and_its_hash_is_the_leaf_over_it() {
        let event = ballot((5, 1), (Uuid::from_u128(1), Weight::parse("1.75").unwrap()), None, &[12]);
        assert_eq!(
            event.body,
            "{\"event\":\"ballot\",\"options\":[\"12\"],\"poll\":\"5\",\"round\":1,\
             \"voter\":\"00000000-0000-0000-0000-000000000001\",\"weight\":\"1.750000\"}"
        );
        let by_hand: Hash = Sha256::digest([b"\0resolute.event.v1\0", event.body.as_bytes()].concat()).into();
        assert_eq!(event.hash, by_hand);
    }

    #[test]
    fn everything_in_a_ballot_changes_its_hash() {
        let voter = Uuid::from_u128(1);
        let one = (voter, Weight::ONE);
        let hash = ballot((5, 1), one, None, &[12]).hash;
        assert_ne!(hash, ballot((6, 1), one, None, &[12]).hash);
        assert_ne!(hash, ballot((5, 2), one, None, &[12]).hash);
        assert_ne!(hash, ballot((5, 1), (Uuid::from_u128(2), Weight::ONE), None, &[12]).hash);
        assert_ne!(hash, ballot((5, 1), (voter, Weight::parse("2").unwrap()), None, &[12]).hash);
        assert_ne!(hash, ballot((5, 1), one, None, &[1, 2]).hash);
        assert_ne!(hash, ballot((5, 1), one, Some(voter), &[12]).hash);
    }

    #[test]
    fn a_ballot_cast_by_a_proxy_names_who_acted() {
        let (voter, actor) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let body = ballot((5, 1), (voter, Weight::ONE), Some(actor), &[12]).body;
        assert!(
            body.starts_with(r#"{"actor":"00000000-0000-0000-0000-000000000002","event":"ballot","#),
            "{body}"
        );
    }

    proptest! {
        #[test]
        fn a_ballot_is_written_as_its_document_is(
            poll_id in 1..=i64::MAX,
            round in 1..=i32::MAX,
            voter: u128,
            micros in 1..=i64::MAX,
            actor: Option<u128>,
            option_ids in proptest::collection::vec(1..=i64::MAX, 0..4),
        ) {
            let (voter, actor) = (Uuid::from_u128(voter), actor.map(Uuid::from_u128));
            let weight = Weight::from_micros(micros).expect("positive");
            let members = [
                ("event", Canonical::text("ballot")),
                ("options", Canonical::list(option_ids.iter().map(Canonical::text))),
                ("poll", Canonical::text(poll_id)),
                ("round", Canonical::Whole(round.into())),
                ("voter", Canonical::text(voter)),
                ("weight", Canonical::text(weight)),
            ];
            let actor_member = actor.map(|actor| ("actor", Canonical::text(actor)));
            let document = Canonical::object(members.into_iter().chain(actor_member));
            let event = ballot((poll_id, round), (voter, weight), actor, &option_ids);
            prop_assert_eq!(event, Event::new(&document));
        }
    }
}
