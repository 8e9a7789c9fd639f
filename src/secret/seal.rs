//! Sealing: what must be given back later and must not be readable in the database. ChaCha20-Poly1305 (RFC 8439)
//! under a key of its own for each context, so that random nonces never come near their limit, however much is
//! sealed; the context is authenticated too, so that a sealed text opens nowhere but in its own row.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use super::derive::DerivedKey;

/// Random bytes that each sealing needs.
pub const NONCE_BYTES: usize = NONCE_LEN;

/// Seals and opens for one purpose.
#[derive(Clone, Debug)]
pub struct Sealer(hmac::Key);

impl Sealer {
    /// Over the key of the purpose.
    pub fn new(key: &DerivedKey) -> Self {
        Self(key.hmac())
    }

    fn key(&self, context: &[u8]) -> LessSafeKey {
        let bytes = hmac::sign(&self.0, context);
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes.as_ref());
        LessSafeKey::new(key.expect("HMAC-SHA256 gives the 32 bytes of a ChaCha20 key"))
    }

    /// Nonce, ciphertext and tag in one.
    pub fn seal(&self, context: &[u8], nonce: [u8; NONCE_BYTES], plain: &[u8]) -> Vec<u8> {
        let mut text = plain.to_vec();
        self.key(context)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut text)
            .expect("nothing of ours comes near the 256 GiB that the cipher takes");
        [nonce.as_slice(), &text].concat()
    }

    /// What was sealed in this context; None if it is not that, or was changed.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.key(context).open_in_place(nonce, Aad::from(context), &mut text).ok()?;
        Some(plain.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derive::MasterSecret;
    use super::*;

    fn sealer(purpose: &str) -> Sealer {
        Sealer::new(&MasterSecret::new([5; 32]).derive(purpose))
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_in_its_context_only_and_shows_nothing(plain in proptest::collection::vec(any::<u8>(), 0..200)) {
            let sealed = sealer("a").seal(b"row 1", [9; NONCE_BYTES], &plain);
            prop_assert_eq!(sealer("a").open(b"row 1", &sealed), Some(plain.clone()));
            prop_assert_eq!(sealer("a").open(b"row 2", &sealed), None);
            prop_assert_eq!(sealer("b").open(b"row 1", &sealed), None);
            if plain.len() >= 8 {
                prop_assert!(!sealed.windows(8).any(|window| window == &plain[..8]));
            }
        }

        #[test]
        fn a_changed_byte_opens_nothing(at in 0_usize..40, flip in 1_u8..=255) {
            let mut sealed = sealer("a").seal(b"row", [1; NONCE_BYTES], b"twelve bytes");
            let at = at % sealed.len();
            sealed[at] ^= flip;
            prop_assert_eq!(sealer("a").open(b"row", &sealed), None);
        }
    }

    #[test]
    fn what_is_too_short_to_be_sealed_opens_nothing() {
        assert_eq!(sealer("a").open(b"row", &[0; NONCE_BYTES - 1]), None);
        assert_eq!(sealer("a").open(b"row", &[]), None);
    }
}
