//! Percentages of exact amounts.
//!
//! Two columns that must not be confused: the percentage of each value, rounded half up on its own,
//! and whole percents that add up to 100 (largest remainder). Neither exists over an empty base: zero
//! of zero is no percentage, never 0 % or NaN.

/// Decimal places of a percentage.
const PLACES: usize = 3;
/// Units of the last place in one percent: 10 ^ `PLACES`.
const UNITS_A_PERCENT: i128 = 1_000;

/// The exact percentage of `part` in `base`, rounded half up to three places: `28.571`.
///
/// `None` over an empty base, or when the part lies outside its base.
pub fn percent(part: i128, base: i128) -> Option<String> {
    if base <= 0 || part < 0 || part > base {
        return None;
    }
    // floor(x + 1/2) as one division: (2·part·100·1000 + base) / (2·base).
    let units = (2 * part * 100 * UNITS_A_PERCENT + base) / (2 * base);
    Some(format!("{}.{:0PLACES$}", units / UNITS_A_PERCENT, units % UNITS_A_PERCENT))
}

/// Whole percents of parts that make up a base, adding up to exactly 100.
///
/// Hare's largest-remainder method: every part gets the whole percents below it, and the percents left
/// go to the largest remainders, of equal ones to the earlier part. `None` over an empty base.
pub fn whole_percents(parts: &[i128]) -> Option<Vec<u32>> {
    let base: i128 = parts.iter().sum();
    if base <= 0 || parts.iter().any(|part| *part < 0) {
        return None;
    }
    let mut percents: Vec<u32> =
        parts.iter().map(|part| u32::try_from(part * 100 / base)).collect::<Result<_, _>>().ok()?;
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    // The sort is stable, which is what gives equal remainders to the earlier part.
    by_remainder.sort_by_key(|&at| std::cmp::Reverse(parts[at] * 100 % base));
    let left = usize::try_from(100 - percents.iter().sum::<u32>()).ok()?;
    for &at in by_remainder.iter().take(left) {
        percents[at] += 1;
    }
    Some(percents)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_percents_add_up_to_a_hundred() {
        assert_eq!(whole_percents(&[4, 4, 6]), Some(vec![29, 28, 43]));
        assert_eq!(whole_percents(&[12, 4, 1]), Some(vec![71, 23, 6]));
        assert_eq!(whole_percents(&[1, 1, 1]), Some(vec![34, 33, 33]));
        assert_eq!(whole_percents(&[0, 0, 7]), Some(vec![0, 0, 100]));
    }

    #[test]
    fn each_percentage_is_rounded_half_up_on_its_own() {
        assert_eq!(percent(4, 14).as_deref(), Some("28.571"));
        assert_eq!(percent(6, 14).as_deref(), Some("42.857"));
        assert_eq!(percent(1, 200_000).as_deref(), Some("0.001"), "0.0005 goes up");
        assert_eq!(percent(49, 100_000_000).as_deref(), Some("0.000"));
        assert_eq!(percent(7, 7).as_deref(), Some("100.000"));
    }

    #[test]
    fn an_empty_base_has_no_percentages() {
        assert_eq!(percent(0, 0), None);
        assert_eq!(whole_percents(&[0, 0]), None);
        assert_eq!(whole_percents(&[]), None);
    }

    #[test]
    fn a_value_outside_its_base_has_no_percentage() {
        assert_eq!(percent(5, 4), None);
    }

    #[test]
    fn weights_three_and_one_both_for_it_are_a_hundred_percent() {
        assert_eq!(percent(3_000_000 + 1_000_000, 4_000_000).as_deref(), Some("100.000"));
    }

    proptest! {
        #[test]
        fn whole_percents_are_within_one_of_the_truth(parts in prop::collection::vec(0..=i128::from(i64::MAX), 1..40)) {
            let base: i128 = parts.iter().sum();
            match whole_percents(&parts) {
                None => prop_assert_eq!(base, 0),
                Some(percents) => {
                    prop_assert_eq!(percents.iter().sum::<u32>(), 100);
                    for (part, percent) in parts.iter().zip(percents) {
                        let floor = part * 100 / base;
                        prop_assert!(i128::from(percent) == floor || i128::from(percent) == floor + 1);
                    }
                }
            }
        }
    }
}
