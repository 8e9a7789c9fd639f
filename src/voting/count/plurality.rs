//! Plurality for one seat: elected is the option with more weight than every other, `y_i > y_j` for all j.
//!
//! A tie is reported as the set of tied options and stays a tie: nobody is picked by order, id or chance.

use super::tally::{OptionTally, Tally};
use crate::voting::weight::Amount;

/// What the rule makes of a tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// One option won.
    Elected,
    /// Several options share the most votes.
    Tied,
    /// Nobody voted.
    NoResult,
}

impl Outcome {
    /// The word in a result document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elected => "elected",
            Self::Tied => "tied",
            Self::NoResult => "no_result",
        }
    }
}

/// A verdict as data, recomputable from the numbers in its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What came out.
    pub outcome: Outcome,
    /// Ids of the options elected; empty unless the outcome is `Elected`.
    pub elected: Vec<i64>,
    /// Ids of the options that share the first place, in the poll's order; empty unless `Tied`.
    pub tied_set: Vec<i64>,
    /// One sentence with the numbers that were compared.
    pub explanation: String,
}

/// Applies the rule. Weight decides, not heads.
pub fn plurality(tally: &Tally) -> Verdict {
    let most = tally.options.iter().map(|option| option.votes.weight).max().unwrap_or_default();
    if most == Amount::default() {
        return Verdict {
            outcome: Outcome::NoResult,
            elected: Vec::new(),
            tied_set: Vec::new(),
            explanation: "No votes were cast.".to_owned(),
        };
    }
    let (first, others): (Vec<&OptionTally>, Vec<&OptionTally>) =
        tally.options.iter().partition(|option| option.votes.weight == most);
    if let [winner] = first[..] {
        let explanation = match others.iter().max_by_key(|option| option.votes.weight) {
            Some(next) => format!(
                "{most} > {}: \"{}\" has more votes than every other option.",
                next.votes.weight, winner.choice.title
            ),
            None => format!("{most} > 0: \"{}\" is the only option.", winner.choice.title),
        };
        return Verdict {
            outcome: Outcome::Elected,
            elected: vec![winner.choice.option_id],
            tied_set: Vec::new(),
            explanation,
        };
    }
    let titles: Vec<String> = first.iter().map(|option| format!("\"{}\"", option.choice.title)).collect();
    Verdict {
        outcome: Outcome::Tied,
        elected: Vec::new(),
        tied_set: first.iter().map(|option| option.choice.option_id).collect(),
        explanation: format!("{} share the most votes, {most} each.", titles.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tally::tally;
    use super::super::tally::tests::{choices, count, votes};
    use super::*;

    #[test]
    fn the_option_with_most_votes_is_elected() {
        let verdict = plurality(&votes(&[("North", 42), ("East", 26), ("South", 15), ("West", 17)]));
        assert_eq!(verdict.outcome, Outcome::Elected);
        assert_eq!(verdict.elected, [1]);
        assert_eq!(
            verdict.explanation,
            "42.000000 > 26.000000: \"North\" has more votes than every other option."
        );
    }

    #[test]
    fn two_against_two_is_a_tie_and_nobody_wins() {
        let verdict = plurality(&votes(&[("A", 2), ("B", 2), ("C", 1)]));
        assert_eq!(verdict.outcome, Outcome::Tied);
        assert_eq!((verdict.elected, verdict.tied_set), (vec![], vec![1, 2]));
        assert_eq!(verdict.explanation, "\"A\", \"B\" share the most votes, 2.000000 each.");
    }

    #[test]
    fn without_votes_there_is_no_result() {
        let verdict = plurality(&votes(&[("A", 0), ("B", 0)]));
        assert_eq!(verdict.outcome, Outcome::NoResult);
        assert!(verdict.elected.is_empty() && verdict.tied_set.is_empty());
    }

    #[test]
    fn a_millionth_of_a_vote_decides() {
        let groups = [(1, count(1, 1_500_000)), (2, count(2, 1_499_999))];
        let verdict = plurality(&tally(count(3, 3_000_000), choices(&["A", "B"]), groups).unwrap());
        assert_eq!(verdict.elected, [1], "weight decides, although the other has more heads");
    }

    #[test]
    fn a_single_option_with_a_vote_is_elected() {
        let verdict = plurality(&votes(&[("Only", 1)]));
        assert_eq!(verdict.elected, [1]);
    }
}
