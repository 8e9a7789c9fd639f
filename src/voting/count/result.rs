//! The result document: tally, percentages and verdict of a round as one canonical text.
//!
//! It is written once, by the close that counted, and every later answer is these bytes. It holds what is
//! needed to recompute the verdict, and nobody's name.

use time::OffsetDateTime;

use super::percent::{percent, whole_percents};
use super::plurality::plurality;
use super::tally::{OptionTally, Tally};
use crate::voting::model::{Rule, instant_text};
use crate::voting::record::canonical::Canonical;
use crate::voting::record::hash::{Hash, hex};

/// What the result says beside the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round<'a> {
    /// Which poll.
    pub poll_id: i64,
    /// Which round of it.
    pub round: i32,
    /// The question.
    pub title: &'a str,
    /// What makes a winner.
    pub rule: Rule,
    /// When it opened and closed, by the database's clock.
    pub opened_at: OffsetDateTime,
    /// See `opened_at`.
    pub closed_at: OffsetDateTime,
    /// Over terms and options.
    pub opening_hash: Hash,
    /// Over the electorate.
    pub electorate_hash: Hash,
    /// Place of the `closed` event in the log, and its hash.
    pub closed_event: (i64, Hash),
}

/// The document of a counted round.
pub fn result_document(round: &Round<'_>, tally: &Tally) -> Canonical {
    let verdict = match round.rule {
        Rule::Plurality => plurality(tally),
    };
    let ids = |ids: &[i64]| Canonical::list(ids.iter().map(Canonical::text));
    Canonical::object([
        ("cast", tally.cast.document()),
        ("closed_at", Canonical::text(instant_text(round.closed_at))),
        ("electorate_hash", Canonical::text(hex(&round.electorate_hash))),
        ("entitled", tally.entitled.document()),
        ("opened_at", Canonical::text(instant_text(round.opened_at))),
        ("opening_hash", Canonical::text(hex(&round.opening_hash))),
        ("options", options_document(tally)),
        ("poll", Canonical::text(round.poll_id)),
        (
            "record",
            Canonical::object([
                ("closed_event_hash", Canonical::text(hex(&round.closed_event.1))),
                ("closed_event_index", Canonical::Whole(round.closed_event.0)),
            ]),
        ),
        ("round", Canonical::Whole(round.round.into())),
        ("rule", round.rule.document()),
        ("title", Canonical::text(round.title)),
        (
            "verdict",
            Canonical::object([
                ("elected", ids(&verdict.elected)),
                ("explanation", Canonical::text(verdict.explanation)),
                ("outcome", Canonical::text(verdict.outcome.as_str())),
                ("tied_set", ids(&verdict.tied_set)),
            ]),
        ),
    ])
}

/// The numbers of an open poll whose results are live: no verdict, nothing that lasts.
pub fn interim_document(poll_id: i64, round: i32, tally: &Tally) -> Canonical {
    Canonical::object([
        ("cast", tally.cast.document()),
        ("entitled", tally.entitled.document()),
        ("interim", Canonical::Flag(true)),
        ("options", options_document(tally)),
        ("poll", Canonical::text(poll_id)),
        ("round", Canonical::Whole(round.into())),
    ])
}

/// The options with their votes and percentages of the votes cast, in the poll's order.
fn options_document(tally: &Tally) -> Canonical {
    let parts: Vec<i128> = tally.options.iter().map(|option| option.votes.weight.micros()).collect();
    let wholes = whole_percents(&parts);
    Canonical::list(tally.options.iter().enumerate().map(|(place, option)| {
        let whole = wholes.as_ref().and_then(|wholes| wholes.get(place)).copied();
        option_document(option, tally.cast.weight.micros(), whole)
    }))
}

fn option_document(option: &OptionTally, base: i128, whole_percent: Option<u32>) -> Canonical {
    let part = option.votes.weight.micros();
    let share = percent(part, base).map_or(Canonical::Null, |percent| {
        Canonical::object([
            ("denominator", Canonical::text(base)),
            ("numerator", Canonical::text(part)),
            ("percent", Canonical::text(percent)),
            ("whole_percent", whole_percent.map_or(Canonical::Null, |whole| Canonical::Whole(whole.into()))),
        ])
    });
    Canonical::object([
        ("option", Canonical::text(option.choice.option_id)),
        ("share_of_cast", share),
        ("title", Canonical::text(&option.choice.title)),
        ("votes", option.votes.document()),
    ])
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::super::tally::tests::votes;
    use super::*;

    fn round() -> Round<'static> {
        Round {
            poll_id: 5,
            round: 1,
            title: "Seat",
            rule: Rule::Plurality,
            opened_at: datetime!(2026-03-01 12:00 UTC),
            closed_at: datetime!(2026-03-01 13:00 UTC),
            opening_hash: [1; 32],
            electorate_hash: [2; 32],
            closed_event: (15, [3; 32]),
        }
    }

    fn json(titles_and_heads: &[(&str, u64)]) -> serde_json::Value {
        serde_json::from_str(&result_document(&round(), &votes(titles_and_heads)).encode()).unwrap()
    }

    #[test]
    fn result_has_exact_shares_and_a_column_that_adds_up() {
        let result = json(&[("A", 4), ("B", 4), ("C", 6)]);
        let share = &result["options"][0]["share_of_cast"];
        assert_eq!(share["numerator"], "4000000");
        assert_eq!(share["denominator"], "14000000");
        assert_eq!(share["percent"], "28.571");
        let wholes: Vec<_> =
            (0..3).map(|at| result["options"][at]["share_of_cast"]["whole_percent"].as_i64()).collect();
        assert_eq!(wholes, [Some(29), Some(28), Some(43)]);
        assert_eq!(result["verdict"]["outcome"], "elected");
        assert_eq!(result["verdict"]["elected"], serde_json::json!(["3"]));
    }

    #[test]
    fn without_ballots_there_is_no_percentage_and_no_result() {
        let result = json(&[("A", 0), ("B", 0)]);
        assert_eq!(result["options"][0]["share_of_cast"], serde_json::Value::Null);
        assert_eq!(result["options"][0]["votes"]["weight"], "0.000000");
        assert_eq!(result["verdict"]["outcome"], "no_result");
    }

    #[test]
    fn the_same_count_gives_the_same_bytes() {
        let tally = votes(&[("A", 2), ("B", 2)]);
        assert_eq!(result_document(&round(), &tally).encode(), result_document(&round(), &tally).encode());
    }
}
