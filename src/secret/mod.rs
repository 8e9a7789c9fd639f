//! The one master secret of an installation, and what is derived from it. The secret is never in the database; its
//! fingerprint is, so that a server with another secret refuses to start instead of issuing cursors, signatures and
//! seals that nobody can check.

mod derive;
mod file;
mod published;
mod seal;
mod store;

pub use derive::{DerivedKey, MasterSecret, SigningKey};
pub use file::{SecretError, load};
pub use published::{ROUTES, router};
pub use seal::{NONCE_BYTES, Sealer};
pub use store::{MismatchError, PublishedKey, verify};
