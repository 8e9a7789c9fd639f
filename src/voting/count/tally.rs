//! The tally: how many heads and how much weight stand behind each option, and who could have voted.
//!
//! It adds up what the store grouped; it draws no conclusion (that is the rule's business).

use std::ops::Add;

use crate::voting::record::canonical::Canonical;
use crate::voting::weight::Amount;

/// A number of people and the weight they hold together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many people.
    pub heads: u64,
    /// Their weight.
    pub weight: Amount,
}

impl Count {
    /// As it stands in events and results.
    pub fn document(self) -> Canonical {
        Canonical::object([
            ("heads", Canonical::Whole(i64::try_from(self.heads).unwrap_or(i64::MAX))),
            ("weight", Canonical::text(self.weight)),
        ])
    }
}

impl Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { heads: self.heads + other.heads, weight: self.weight + other.weight }
    }
}

/// One option on the paper, in the poll's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The option's id.
    pub option_id: i64,
    /// Its title when the poll opened.
    pub title: String,
    /// How many ballots it takes, whatever their weight; `None`: as many as come.
    pub seats: Option<i32>,
}

/// The votes for one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionTally {
    /// Which option.
    pub choice: Choice,
    /// The ballots that chose it.
    pub votes: Count,
}

/// All ballots of a single-choice round, added up. `cast.heads ≤ entitled.heads`, and the votes of the
/// options partition `cast`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// E: the frozen electorate.
    pub entitled: Count,
    /// C: the ballots accepted.
    pub cast: Count,
    /// Per option, in the poll's order; options without votes are there with zero.
    pub options: Vec<OptionTally>,
}

/// Ballots that name an option which the poll does not have, more ballots than voters, or more for an option than it
/// has seats. Casting admits none of them, so each means that the stored data was tampered with; counting stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TallyError {
    /// A stored ballot names this option id.
    #[error("a stored ballot names option {0}, which the poll does not have")]
    UnknownOption(i64),
    /// More ballots, or more weight, than the electorate has.
    #[error("the stored ballots exceed the electorate")]
    MoreThanEntitled,
    /// More ballots for this option than it has seats.
    #[error("the stored ballots exceed the seats of option {0}")]
    Oversold(i64),
}

/// Adds up ballots grouped by the option they chose. Groups may come in any order and number.
pub fn tally(
    entitled: Count,
    choices: Vec<Choice>,
    groups: impl IntoIterator<Item = (i64, Count)>,
) -> Result<Tally, TallyError> {
    let mut options: Vec<OptionTally> =
        choices.into_iter().map(|choice| OptionTally { choice, votes: Count::default() }).collect();
    let mut cast = Count::default();
    for (option_id, votes) in groups {
        let option = options
            .iter_mut()
            .find(|option| option.choice.option_id == option_id)
            .ok_or(TallyError::UnknownOption(option_id))?;
        option.votes = option.votes + votes;
        cast = cast + votes;
    }
    if cast.heads > entitled.heads || cast.weight > entitled.weight {
        return Err(TallyError::MoreThanEntitled);
    }
    let oversold = |option: &&OptionTally| {
        let seats = option.choice.seats.map(|seats| u64::try_from(seats).unwrap_or_default());
        seats.is_some_and(|seats| option.votes.heads > seats)
    };
    if let Some(option) = options.iter().find(oversold) {
        return Err(TallyError::Oversold(option.choice.option_id));
    }
    Ok(Tally { entitled, cast, options })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn count(heads: u64, micros: i128) -> Count {
        Count { heads, weight: Amount::from_micros(micros) }
    }

    pub(crate) fn choices(titles: &[&str]) -> Vec<Choice> {
        (1..)
            .zip(titles)
            .map(|(option_id, title)| Choice { option_id, title: (*title).to_owned(), seats: None })
            .collect()
    }

    /// A tally of ballots of weight one.
    pub(crate) fn votes(titles_and_heads: &[(&str, u64)]) -> Tally {
        let titles: Vec<&str> = titles_and_heads.iter().map(|(title, _)| *title).collect();
        let groups = (1..)
            .zip(titles_and_heads)
            .map(|(id, (_, heads))| (id, count(*heads, i128::from(*heads) * 1_000_000)));
        tally(count(1_000, 1_000_000_000), choices(&titles), groups).unwrap()
    }

    #[test]
    fn options_without_votes_are_in_the_tally() {
        let tally = votes(&[("A", 0), ("B", 2)]);
        assert_eq!(tally.options[0].votes, Count::default());
        assert_eq!(tally.cast, count(2, 2_000_000));
    }

    #[test]
    fn a_ballot_for_a_foreign_option_stops_the_count() {
        let result = tally(count(5, 5), choices(&["A"]), [(7, count(1, 1))]);
        assert_eq!(result, Err(TallyError::UnknownOption(7)));
    }

    #[test]
    fn more_ballots_than_voters_stop_the_count() {
        let result = tally(count(1, 1), choices(&["A"]), [(1, count(2, 1))]);
        assert_eq!(result, Err(TallyError::MoreThanEntitled));
    }

    #[test]
    fn a_ballot_more_than_an_option_has_seats_stops_the_count_whatever_it_weighs() {
        let seated = || vec![Choice { seats: Some(2), ..choices(&["A"]).remove(0) }];
        assert!(tally(count(5, 900), seated(), [(1, count(2, 900))]).is_ok());
        assert_eq!(tally(count(5, 900), seated(), [(1, count(3, 3))]), Err(TallyError::Oversold(1)));
    }

    proptest! {
        #[test]
        fn tally_depends_neither_on_order_nor_on_grouping(
            ballots in prop::collection::vec((1_i64..=3, 1_i128..1_000_000_000), 0..60),
            split in 0_usize..60,
        ) {
            let entitled = count(100, i128::from(i64::MAX));
            let one_each = |ballots: &[(i64, i128)]| -> Vec<(i64, Count)> {
                ballots.iter().map(|(option, micros)| (*option, count(1, *micros))).collect()
            };
            let single = tally(entitled, choices(&["A", "B", "C"]), one_each(&ballots)).unwrap();
            let at = split.min(ballots.len());
            let mut turned: Vec<_> = ballots[at..].iter().chain(&ballots[..at]).copied().collect();
            turned.reverse();
            let mut grouped = std::collections::BTreeMap::<i64, Count>::new();
            for (option, votes) in one_each(&turned) {
                let sum = grouped.entry(option).or_default();
                *sum = *sum + votes;
            }
            prop_assert_eq!(&single, &tally(entitled, choices(&["A", "B", "C"]), grouped).unwrap());
            prop_assert_eq!(single.options.iter().map(|option| option.votes.heads).sum::<u64>(), single.cast.heads);
        }
    }
}
