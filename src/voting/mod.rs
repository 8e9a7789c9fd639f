//! Voting: meetings, polls, participants, ballots, counts and results.
//!
//! Pure parts are `model`, `rules`, `weight`, `token`, `count` and `record`. It knows nothing of PURLs.

pub mod count;
pub mod model;
pub mod record;
pub mod rules;
pub mod token;
pub mod weight;
