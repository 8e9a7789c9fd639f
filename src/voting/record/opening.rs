//! What is fixed when a poll opens: texts, options, rule and secrecy, with one hash over all of it.
//!
//! Deadline and visibility of results are not in it: a deadline may be extended.

use super::canonical::Canonical;
use super::hash::{Hash, tagged_hash};
use crate::voting::count::tally::Choice;
use crate::voting::model::{BallotKind, Rule, Secrecy};

/// The terms on which people vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms<'a> {
    /// Which poll.
    pub poll_id: i64,
    /// Which round of it.
    pub round: i32,
    /// The question.
    pub title: &'a str,
    /// Its explanation.
    pub description: &'a str,
    /// What a ballot may say.
    pub ballot_kind: BallotKind,
    /// Who can see who voted how.
    pub secrecy: Secrecy,
    /// What makes a winner.
    pub rule: Rule,
    /// The options in their order.
    pub options: &'a [Choice],
}

impl Terms<'_> {
    /// The document that is hashed, part of the `opened` event.
    pub fn document(&self) -> Canonical {
        Canonical::object([
            ("ballot_kind", Canonical::text(self.ballot_kind.as_str())),
            ("description", Canonical::text(self.description)),
            ("options", options(self.options)),
            ("poll", Canonical::text(self.poll_id)),
            ("round", Canonical::Whole(self.round.into())),
            ("rule", self.rule.document()),
            ("secrecy", Canonical::text(self.secrecy.as_str())),
            ("title", Canonical::text(self.title)),
        ])
    }

    /// The opening hash.
    pub fn hash(&self) -> Hash {
        tagged_hash("resolute.opening.v1", self.document().encode().as_bytes())
    }
}

fn options(choices: &[Choice]) -> Canonical {
    Canonical::list(choices.iter().map(|choice| {
        let seats = choice.seats.map(|seats| ("seats", Canonical::Whole(seats.into())));
        let option = ("option", Canonical::text(choice.option_id));
        Canonical::object([option, ("title", Canonical::text(&choice.title))].into_iter().chain(seats))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms<'a>(title: &'a str, options: &'a [Choice]) -> Terms<'a> {
        Terms {
            poll_id: 3,
            round: 1,
            title,
            description: "",
            ballot_kind: BallotKind::SingleChoice,
            secrecy: Secrecy::Named,
            rule: Rule::Plurality,
            options,
        }
    }

    #[test]
    fn opening_hash_covers_texts_and_the_order_of_options() {
        let one = Choice { option_id: 1, title: "One".into(), seats: None };
        let two = Choice { option_id: 2, title: "Two".into(), seats: None };
        let (forward, backward) = ([one.clone(), two.clone()], [two, one]);
        let hash = terms("Who?", &forward).hash();
        assert_eq!(hash, terms("Who?", &forward).hash());
        assert_ne!(hash, terms("Who", &forward).hash());
        assert_ne!(hash, terms("Who?", &backward).hash());
    }

    #[test]
    fn seats_are_in_the_terms_of_an_option_that_has_them_and_in_no_other() {
        let seated = |seats| [Choice { option_id: 1, title: "One".into(), seats }];
        assert!(
            terms("Who?", &seated(Some(50)))
                .document()
                .encode()
                .contains(r#"{"option":"1","seats":50,"title":"One"}"#)
        );
        assert!(
            terms("Who?", &seated(None)).document().encode().contains(r#"[{"option":"1","title":"One"}]"#)
        );
        assert_ne!(terms("Who?", &seated(Some(50))).hash(), terms("Who?", &seated(Some(51))).hash());
    }

    #[test]
    fn the_document_is_readable() {
        let options = [Choice { option_id: 9, title: "Yes, \"really\"".into(), seats: None }];
        assert_eq!(
            terms("Who?", &options).document().encode(),
            "{\"ballot_kind\":\"single_choice\",\"description\":\"\",\
             \"options\":[{\"option\":\"9\",\"title\":\"Yes, \\\"really\\\"\"}],\"poll\":\"3\",\"round\":1,\
             \"rule\":{\"base\":\"cast\",\"name\":\"plurality\",\"seats\":1,\"tie\":\"reported\"},\
             \"secrecy\":\"named\",\"title\":\"Who?\"}"
        );
    }
}
