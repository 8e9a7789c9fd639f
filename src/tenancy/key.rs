//! API keys as text: `rsl_<id>_<secret>`, id a UUIDv7 and secret 256 random bits, both in lower-case hex.
//! Only the SHA-256 of the secret is ever stored; a fast hash suffices because the secret cannot be guessed.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ids::Ids;

const PREFIX: &str = "rsl_";

/// A key as its holder has it. Not printed by Debug.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    id: Uuid,
    secret: [u8; 32],
}

impl ApiKey {
    /// A fresh key.
    pub fn generate(ids: &Ids, now: OffsetDateTime) -> Self {
        Self { id: ids.uuid_v7(now), secret: ids.bytes() }
    }

    /// Reads a key; None if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        if id.len() != 32 || secret.len() != 64 {
            return None;
        }
        Some(Self { id: Uuid::from_bytes(unhex(id)?), secret: unhex(secret)? })
    }

    /// The public half, which names the key in listings and logs.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// What is stored.
    pub fn secret_sha256(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }

    /// Whether this key's secret is the one whose SHA-256 was stored, in time that does not tell where they differ.
    pub fn matches(&self, stored_sha256: &[u8]) -> bool {
        self.secret_sha256().as_slice().ct_eq(stored_sha256).into()
    }

    /// The text to give to the holder, once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id.simple(), hex(&self.secret))
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiKey({})", self.id)
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Lower-case hex only, so that a key has one spelling.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(seed: u64) -> ApiKey {
        ApiKey::generate(&Ids::seeded(seed), OffsetDateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_key_survives_its_text_and_debug_does_not_show_its_secret() {
        let key = key(1);
        let text = key.reveal();
        assert_eq!(ApiKey::parse(&text).as_ref(), Some(&key));
        let secret = text.rsplit('_').next().expect("three parts");
        assert!(!format!("{key:?}").contains(secret));
    }

    #[test]
    fn only_the_right_secret_matches() {
        assert!(key(1).matches(&key(1).secret_sha256()));
        assert!(!key(1).matches(&key(2).secret_sha256()));
        assert!(!key(1).matches(&[]));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_and_what_parses_is_its_own_spelling(text in ".{0,120}") {
            if let Some(key) = ApiKey::parse(&text) {
                prop_assert_eq!(key.reveal(), text);
            }
        }

        #[test]
        fn a_changed_character_never_gives_the_same_key(at in 0_usize..101, seed in 0_u64..50) {
            let text = key(seed).reveal();
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).expect("ASCII");
            prop_assert_ne!(ApiKey::parse(&changed), ApiKey::parse(&text));
        }
    }
}
