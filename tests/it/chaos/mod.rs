//! The worst moments: connections cut before, inside and after COMMIT, a database killed in the middle of a burst,
//! deadlocks, clients that are gone. Each time, of ballots and of names: what was acknowledged is stored, "outcome
//! unknown" is said only where nobody could know, and the same key sent again settles it.

mod cuts;
mod deadlocks;
mod gone;
mod killed;
