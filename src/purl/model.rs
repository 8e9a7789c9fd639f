//! What the feature stores: domains with their policies, names with their state. Types only; what they
//! decide together is in `rules`.

use std::fmt;

use time::OffsetDateTime;

use super::domain_path::DomainPath;
use super::name;

pub use super::kind::Kind;
pub use super::variant::Variant;

/// A word that is none of those a setting knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {allowed}")]
pub struct UnknownWord {
    pub(super) allowed: &'static str,
}

/// What happens to a final slash that a name does not have, or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailingSlash {
    /// Both forms give the same answer, unless both exist.
    Lenient,
    /// The two forms are two names.
    Strict,
}

impl TrailingSlash {
    /// Reads the word of the API and the database.
    pub fn parse(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "lenient" => Ok(Self::Lenient),
            "strict" => Ok(Self::Strict),
            _ => Err(UnknownWord { allowed: "lenient, strict" }),
        }
    }

    /// The word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lenient => "lenient",
            Self::Strict => "strict",
        }
    }
}

/// What happens to the query of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryPolicy {
    /// It ends here.
    Drop,
    /// It is added, whole, behind the target's own.
    Forward,
    /// It is added, and replaces those of the target's parameters that it names.
    Merge,
}

impl QueryPolicy {
    /// Reads the word of the API and the database.
    pub fn parse(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "drop" => Ok(Self::Drop),
            "forward" => Ok(Self::Forward),
            "merge" => Ok(Self::Merge),
            _ => Err(UnknownWord { allowed: "drop, forward, merge" }),
        }
    }

    /// The word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Forward => "forward",
            Self::Merge => "merge",
        }
    }
}

/// How a live name answers: 301, 302, 303, 307, 308, or 404 for "temporarily gone".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u16);

/// The status of a tombstone in the database; no [`Status`] has it.
pub const TOMBSTONE: u16 = 410;

/// A number that is no status of a live name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 301, 302, 303, 307, 308 (redirects) or 404 (temporarily gone)")]
pub struct UnknownStatus;

impl Status {
    /// The default of a new domain.
    pub const FOUND: Self = Self(302);
    /// See other: the target is about the thing, not the thing itself.
    pub const SEE_OTHER: Self = Self(303);

    /// Reads a status that a name may be given. A tombstone is made by withdrawing a name, never by this.
    pub fn parse(number: i64) -> Result<Self, UnknownStatus> {
        match number {
            301 => Ok(Self(301)),
            302 => Ok(Self(302)),
            303 => Ok(Self(303)),
            307 => Ok(Self(307)),
            308 => Ok(Self(308)),
            404 => Ok(Self(404)),
            _ => Err(UnknownStatus),
        }
    }

    /// The number.
    pub fn code(self) -> u16 {
        self.0
    }

    /// Whether it needs a target.
    pub fn is_redirect(self) -> bool {
        self.0 != 404
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a domain decides for all its names. Case is not among it: it is fixed when the domain is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policies {
    /// Final slashes.
    pub trailing_slash: TrailingSlash,
    /// Queries.
    pub query: QueryPolicy,
    /// Status of a name that is made without one: 302 or 303, never a permanent one.
    pub default_status: Status,
    /// `max-age` of a redirect, in seconds, 0 to one year.
    pub cache_seconds: i32,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            trailing_slash: TrailingSlash::Lenient,
            query: QueryPolicy::Forward,
            default_status: Status::FOUND,
            cache_seconds: 300,
        }
    }
}

/// A domain as the directory and its state row describe it.
#[derive(Debug, Clone)]
pub struct Domain {
    /// Its id.
    pub domain_id: i64,
    /// Its path.
    pub path: DomainPath,
    /// Where its rows live; never changes.
    pub home_tenant_id: i64,
    /// Who has the rights.
    pub owner_tenant_id: i64,
    /// Raised by every change that compiled state or a checked write depends on.
    pub generation: i64,
    /// Whether it ever had a name; a domain without is never probed.
    pub has_names: bool,
    /// Whether names are matched without regard to ASCII case.
    pub case_insensitive: bool,
    /// The rest of its settings.
    pub policies: Policies,
    /// Which state of its rules is in force; 0: it has none.
    pub rules_revision: i64,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When its policies last changed.
    pub updated_at: OffsetDateTime,
}

impl Domain {
    /// The matching form of a text in this domain.
    pub fn fold(&self, text: &str) -> String {
        name::fold(text, self.case_insensitive)
    }
}

/// A name as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purl {
    /// Its id.
    pub purl_id: i64,
    /// The form that requests are matched on.
    pub name_key: String,
    /// The form that is shown.
    pub name: String,
    /// Number of this state, from 1.
    pub revision: i64,
    /// 301, 302, 303, 307, 308, 404 or [`TOMBSTONE`].
    pub status: u16,
    /// Whether it answers for everything below it, too, and with which address.
    pub kind: Kind,
    /// Where it points; of a tombstone: where it last pointed.
    pub target: Option<String>,
    /// Other targets, for those who ask for their media type or language.
    pub variants: Box<[Variant]>,
    /// When it expires.
    pub valid_until: Option<OffsetDateTime>,
    /// Of a tombstone: why it was withdrawn.
    pub tombstone_reason: Option<String>,
    /// Of a tombstone: what to use instead.
    pub successor: Option<String>,
    /// When the name was made.
    pub created_at: OffsetDateTime,
    /// When this state was written.
    pub updated_at: OffsetDateTime,
}

/// What a name is at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It redirects.
    Live,
    /// Its owner says that it answers nothing for now (404).
    TemporarilyGone,
    /// Its time has passed (410 `expired`); its owner can renew it.
    Expired,
    /// It was withdrawn (410 `withdrawn`) and is never free again.
    Withdrawn,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Live, Self::TemporarilyGone, Self::Expired, Self::Withdrawn];

    /// The state of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::TemporarilyGone => "temporarily_gone",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl Purl {
    /// What the name is at `now`; the instant `valid_until` itself is past its life.
    pub fn state(&self, now: OffsetDateTime) -> State {
        match self.status {
            TOMBSTONE => State::Withdrawn,
            _ if self.valid_until.is_some_and(|until| until <= now) => State::Expired,
            404 => State::TemporarilyGone,
            _ => State::Live,
        }
    }
}
