//! Random bytes, UUIDs, and the JSON form of 64-bit ids. Secrets come from the operating system;
//! tests seed the source so that answers can be compared whole.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::{Builder, Uuid};

/// A source of random bytes and ids. Cheap to clone; clones of a seeded source share their place.
#[derive(Clone, Debug)]
pub struct Ids(Source);

#[derive(Clone, Debug)]
enum Source {
    Os,
    Seeded { seed: u64, drawn: Arc<AtomicU64> },
}

impl Ids {
    /// The operating system's generator.
    pub fn os() -> Self {
        Self(Source::Os)
    }

    /// A repeatable sequence, for tests only: its bytes are no secret.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded { seed, drawn: Arc::new(AtomicU64::new(0)) })
    }

    /// `N` random bytes.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that draws from the system")]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0_u8; N];
        match &self.0 {
            Source::Os => getrandom::fill(&mut out).expect("the operating system gives random bytes"),
            Source::Seeded { seed, drawn } => {
                for chunk in out.chunks_mut(32) {
                    let block = drawn.fetch_add(1, Ordering::Relaxed);
                    let digest =
                        Sha256::new().chain_update(seed.to_be_bytes()).chain_update(block.to_be_bytes());
                    chunk.copy_from_slice(&digest.finalize()[..chunk.len()]);
                }
            }
        }
        out
    }

    /// A UUIDv7 (RFC 9562): ordered by `now` to the millisecond. For ids whose order may show, and for no secret: its
    /// random bits come from a block that was drawn ahead.
    pub fn uuid_v7(&self, now: OffsetDateTime) -> Uuid {
        let millis = u64::try_from(now.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
        let random = match &self.0 {
            Source::Os => AHEAD.with_borrow_mut(|ahead| ahead.take(self)),
            Source::Seeded { .. } => self.bytes(),
        };
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// A UUIDv4 (RFC 9562). For ids whose order must not show.
    pub fn uuid_v4(&self) -> Uuid {
        Builder::from_random_bytes(self.bytes()).into_uuid()
    }
}

thread_local! {
    static AHEAD: RefCell<Ahead> = const { RefCell::new(Ahead { block: [0; Ahead::SIZE], used: Ahead::SIZE }) };
}

/// Random bytes drawn ahead: every request has an id, and a call into the system for each costs more than the rest of it.
struct Ahead {
    block: [u8; Self::SIZE],
    used: usize,
}

impl Ahead {
    const SIZE: usize = 1_000;

    fn take(&mut self, ids: &Ids) -> [u8; 10] {
        if self.used == Self::SIZE {
            self.block = ids.bytes();
            self.used = 0;
        }
        let mut taken = [0; 10];
        taken.copy_from_slice(&self.block[self.used..self.used + 10]);
        self.used += 10;
        taken
    }
}

/// A positive 64-bit id in its only spelling: no sign, no leading zero.
pub fn parse(text: &str) -> Option<i64> {
    let canonical = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|id| canonical && *id > 0)
}

/// Serde form of a 64-bit id: a string, because JavaScript loses integers past 2^53.
pub mod as_string {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the id as a decimal string.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub fn serialize<S: Serializer>(id: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    /// Reads the id from a decimal string.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("expected a 64-bit id as a string of digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_source_repeats_itself_and_another_seed_differs() {
        let (one, again, other) = (Ids::seeded(7), Ids::seeded(7), Ids::seeded(8));
        let first: [u8; 40] = one.bytes();
        assert_eq!(first, again.bytes::<40>());
        assert_ne!(first, other.bytes::<40>());
        assert_ne!(first, one.bytes::<40>());
    }

    #[test]
    fn ids_drawn_ahead_are_all_different() {
        let (ids, now) = (Ids::os(), OffsetDateTime::UNIX_EPOCH);
        let drawn: std::collections::HashSet<Uuid> = (0..10_000).map(|_| ids.uuid_v7(now)).collect();
        assert_eq!(drawn.len(), 10_000);
    }

    #[test]
    fn uuids_carry_their_version_and_v7_is_ordered_by_time() {
        let ids = Ids::seeded(1);
        let early = OffsetDateTime::from_unix_timestamp(1_700_000_000).expect("in range");
        let late = early + time::Duration::milliseconds(1);
        let (a, b) = (ids.uuid_v7(early), ids.uuid_v7(late));
        assert_eq!((a.get_version_num(), ids.uuid_v4().get_version_num()), (7, 4));
        assert!(a < b);
    }
}
