//! Voting: meetings, polls, participants, ballots, counts and results.
//!
//! Pure: `model`, `rules`, `weight`, `token`, `ballot`, `eligibility`, `count`, `record`. Under load:
//! `submit`, `known`, `standing`, `cast`, `close`, `meetings`. It knows nothing of persistent URLs.

pub mod api;
pub mod ballot;
pub mod cast;
pub mod close;
pub mod count;
pub mod due;
pub mod eligibility;
pub mod error;
pub mod known;
pub mod meetings;
pub mod model;
pub mod participants;
pub mod polls;
pub mod proxies;
pub mod record;
pub mod rules;
pub mod standing;
pub mod store;
pub mod submit;
pub mod token;
pub mod weight;

pub use api::{ROUTES, router};

use std::ops::Deref;
use std::sync::Arc;

use self::cast::Casting;
use self::known::KnownPolls;
use crate::clock::Clock;
use crate::db::Db;
use crate::db::batch::{Batcher, Turns};
use crate::db::keyset::ListingEntry;
use crate::db::quota::Defaults;
use crate::db::statement::Statement;
use crate::ids::Ids;
use crate::lifecycle::Tasks;

/// Voting; its methods are the operations, one transaction each. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Voting(Arc<Parts>);

impl Voting {
    /// Voting with these.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Voting {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// What voting works with.
#[derive(Debug)]
pub struct Parts {
    /// The database.
    pub db: Db,
    /// For times that judge nothing; deadlines go by the database's clock.
    pub clock: Clock,
    /// Tokens, salts and record keys.
    pub ids: Ids,
    /// For what goes on after an answer.
    pub tasks: Tasks,
    /// Shares the connections between tenants.
    pub turns: Turns,
    /// Ballots on their way into the database.
    pub casting: Batcher<Casting>,
    /// Open polls and their voters.
    pub known_polls: KnownPolls,
    /// What tenants may have that have no quotas of their own.
    pub quotas: Defaults,
}

/// Every listing of this feature.
pub fn listings() -> Vec<ListingEntry> {
    vec![
        store::meeting_list::MEETINGS.entry(),
        store::participant_list::PARTICIPANTS.entry(),
        store::poll_list::POLLS.entry(),
    ]
}

/// Every hot statement of this feature, for the census.
pub fn statements() -> Vec<&'static Statement> {
    [cast::STATEMENTS, close::STATEMENTS, known::STATEMENTS, meetings::STATEMENTS, standing::STATEMENTS]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}
