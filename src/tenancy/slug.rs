//! A tenant's slug: the word that names it in public addresses and on the command line.

/// 1 to 63 of `a-z 0-9 -`, no hyphen at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slug(String);

impl Slug {
    /// Parses a slug; the error says what one looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let letters = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let ends = text.starts_with('-') || text.ends_with('-');
        if letters && !ends && (1..=63).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be 1 to 63 of a-z, 0-9 and hyphen, without a hyphen at either end".to_owned())
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_words_of_an_address() {
        for good in ["a", "demo", "a-1", &"x".repeat(63)] {
            assert_eq!(Slug::parse(good).expect("valid").as_str(), good);
        }
        for bad in ["", "-a", "a-", "A", "a_b", "ä", "a/b", &"x".repeat(64)] {
            assert!(Slug::parse(bad).is_err(), "{bad}");
        }
    }
}
