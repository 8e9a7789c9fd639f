//! The words of voting: states, kinds and rules, each with the one text that database and API use.
//!
//! What may follow what is in `rules`; rows and their queries are in the store.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::record::canonical::Canonical;

/// Defines an enum whose variants have fixed texts, with `as_str` and `parse`.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The text in database and API.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Reads that text; `None` for any other.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// Where a meeting stands.
    MeetingState {
        /// Being written; no poll opens.
        Draft = "draft",
        /// People arrive; polls may open (tests of the equipment, early votes).
        Preparing = "preparing",
        /// In session.
        Active = "active",
        /// Interrupted: casts are refused, deadlines run on.
        Suspended = "suspended",
        /// Over: its polls are closed and counted, or cancelled.
        Closed = "closed",
        /// Put away.
        Archived = "archived",
    }
}

words! {
    /// Where a poll stands.
    PollState {
        /// Being written; settings may change.
        Draft = "draft",
        /// Ballots are accepted, until the deadline.
        Open = "open",
        /// No ballot is accepted; counted.
        Closed = "closed",
        /// Never opened, and never will be.
        Cancelled = "cancelled",
    }
}

words! {
    /// How far the result of a poll is.
    ResultState {
        /// There is nothing to count yet.
        None = "none",
        /// Voting is over, the count is not done.
        Pending = "pending",
        /// Counted; read with an API key.
        Counted = "counted",
        /// Readable by everybody.
        Published = "published",
    }
}

words! {
    /// When the numbers of a poll can be seen.
    ResultsVisibility {
        /// By everybody in the meeting, while people vote.
        Live = "live",
        /// By nobody before the count.
        Hidden = "hidden",
    }
}

words! {
    /// What a ballot may say.
    BallotKind {
        /// Exactly one option.
        SingleChoice = "single_choice",
    }
}

words! {
    /// Who can know who voted how.
    Secrecy {
        /// The record names the voter.
        Named = "named",
    }
}

/// What makes a winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// One seat; more votes than every other option; a tie is reported as such.
    Plurality,
}

impl Rule {
    /// Reads the name of a rule; `None` for any other.
    pub fn parse(name: &str) -> Option<Self> {
        (name == "plurality").then_some(Self::Plurality)
    }

    /// The name that is read back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plurality => "plurality",
        }
    }

    /// The rule as data, part of the opening hash and of the result.
    pub fn document(self) -> Canonical {
        match self {
            Self::Plurality => Canonical::object([
                ("base", Canonical::text("cast")),
                ("name", Canonical::text(self.name())),
                ("seats", Canonical::Whole(1)),
                ("tie", Canonical::text("reported")),
            ]),
        }
    }
}

/// RFC 3339 in UTC with microseconds, PostgreSQL's precision, always at the same length.
pub fn instant_text(instant: OffsetDateTime) -> String {
    let micros = instant.to_offset(time::UtcOffset::UTC);
    let whole = micros.replace_microsecond(0).unwrap_or(micros);
    // RFC 3339 has no year past 9999; the API accepts none and the clock gives none.
    let text = whole.format(&Rfc3339).unwrap_or_default();
    format!("{}.{:06}Z", text.trim_end_matches('Z'), micros.microsecond())
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for state in MeetingState::ALL {
            assert_eq!(MeetingState::parse(state.as_str()), Some(*state));
        }
        for state in PollState::ALL {
            assert_eq!(PollState::parse(state.as_str()), Some(*state));
        }
        assert_eq!(PollState::parse("Open"), None);
    }

    #[test]
    fn instants_have_one_form() {
        assert_eq!(instant_text(datetime!(2026-03-01 12:00:00 UTC)), "2026-03-01T12:00:00.000000Z");
        assert_eq!(instant_text(datetime!(2026-03-01 12:00:00.25 +02:00)), "2026-03-01T10:00:00.250000Z");
    }
}
