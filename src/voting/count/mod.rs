//! Counting: from grouped ballots to a tally, percentages and a verdict, all exact and without floats.
//!
//! Pure: the same input gives the same bytes, and nothing random is decided here. Reading the ballots
//! and keeping the result is the business of `voting::close` and the store.

pub mod percent;
pub mod plurality;
pub mod result;
pub mod tally;
