//! Voting weights: decimals with at most six places, kept as whole millionths of a vote.
//!
//! Everything is exact: no float ever holds a weight or a sum, so 0.1 + 0.2 is 0.3. Sums are `i128`,
//! which no electorate that the database can number overflows.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// Millionths in one vote.
const MICROS_A_VOTE: i64 = 1_000_000;

/// The weight of one participant: more than zero, in millionths of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(i64);

/// Why a text is no weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeightError {
    /// Anything but digits with an optional point and more digits.
    #[error("must be a decimal number such as \"1\" or \"1.75\"")]
    NotADecimal,
    /// More than six digits after the point.
    #[error("must have at most 6 digits after the decimal point")]
    TooFine,
    /// Zero.
    #[error("must be more than zero")]
    Zero,
    /// More than 9,223,372,036,854.775807 votes.
    #[error("must be at most 9223372036854.775807")]
    TooLarge,
}

impl Weight {
    /// One vote, the weight of everybody for whom none is given.
    pub const ONE: Self = Self(MICROS_A_VOTE);

    /// Reads a decimal such as `1.75`. No sign, exponent, blanks or bare point.
    pub fn parse(text: &str) -> Result<Self, WeightError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(WeightError::NotADecimal),
            Some((whole, fraction)) => (whole, fraction),
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(WeightError::NotADecimal);
        }
        if fraction.len() > 6 {
            return Err(WeightError::TooFine);
        }
        let whole: i64 = whole.parse().map_err(|_| WeightError::TooLarge)?;
        // Six digits at most, so this cannot fail for another reason than emptiness, which `0` pads.
        let fraction: i64 = format!("{fraction:0<6}").parse().map_err(|_| WeightError::NotADecimal)?;
        let micros = whole
            .checked_mul(MICROS_A_VOTE)
            .and_then(|micros| micros.checked_add(fraction))
            .ok_or(WeightError::TooLarge)?;
        Self::from_micros(micros).ok_or(WeightError::Zero)
    }

    /// From millionths of a vote; `None` unless positive.
    pub fn from_micros(micros: i64) -> Option<Self> {
        (micros > 0).then_some(Self(micros))
    }

    /// In millionths of a vote, as stored.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{:06}", self.0 / MICROS_A_VOTE, self.0 % MICROS_A_VOTE)
    }
}

/// A sum of weights, in millionths of a vote; zero or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

impl Amount {
    /// From millionths of a vote.
    pub fn from_micros(micros: i128) -> Self {
        Self(micros)
    }

    /// In millionths of a vote.
    pub fn micros(self) -> i128 {
        self.0
    }
}

impl From<Weight> for Amount {
    fn from(weight: Weight) -> Self {
        Self(i128::from(weight.0))
    }
}

impl Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// Always six places, so that equal amounts are equal texts: `1.750000`.
impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = i128::from(MICROS_A_VOTE);
        write!(out, "{}.{:06}", self.0 / unit, self.0 % unit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn weight_is_shown_with_all_six_places() {
        assert_eq!(Weight::parse("1.75").unwrap().to_string(), "1.750000");
        assert_eq!(Weight::parse("3").unwrap().to_string(), "3.000000");
        assert_eq!(Weight::parse("0.000001").unwrap().to_string(), "0.000001");
    }

    #[test]
    fn a_tenth_and_two_tenths_are_exactly_three_tenths() {
        let sum: Amount = ["0.1", "0.2"].iter().map(|text| Amount::from(Weight::parse(text).unwrap())).sum();
        assert_eq!(sum, Weight::parse("0.3").unwrap().into());
        assert_eq!(sum.to_string(), "0.300000");
    }

    #[test]
    fn what_is_no_weight_is_refused_with_the_reason() {
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", " 1", "1,5", "1.2.3", "NaN", "١"] {
            assert_eq!(Weight::parse(text), Err(WeightError::NotADecimal), "{text:?}");
        }
        assert_eq!(Weight::parse("1.0000001"), Err(WeightError::TooFine));
        assert_eq!(Weight::parse("0"), Err(WeightError::Zero));
        assert_eq!(Weight::parse("0.000000"), Err(WeightError::Zero));
        assert_eq!(Weight::parse("9223372036854.775808"), Err(WeightError::TooLarge));
        assert_eq!(Weight::parse("99999999999999999999"), Err(WeightError::TooLarge));
    }

    #[test]
    fn sums_pass_two_to_the_sixty_fourth() {
        let heavy = Weight::parse("9223372036854.775807").unwrap();
        let sum: Amount = std::iter::repeat_n(Amount::from(heavy), 5).sum();
        assert_eq!(sum.to_string(), "46116860184273.879035");
    }

    proptest! {
        #[test]
        fn parse_undoes_display(micros in 1..=i64::MAX) {
            let weight = Weight::from_micros(micros).unwrap();
            prop_assert_eq!(Weight::parse(&weight.to_string()), Ok(weight));
        }

        #[test]
        fn no_text_makes_parse_panic(text in ".*") {
            let _ = Weight::parse(&text);
        }
    }
}
