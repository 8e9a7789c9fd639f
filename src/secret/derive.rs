//! Derivation: HKDF-SHA256 (RFC 5869) from the master secret with one label a purpose, so that a key that leaks
//! tells nothing of another.

use ring::signature::{Ed25519KeyPair, KeyPair};
use ring::{hkdf, hmac};

/// Salt of every derivation; a new version of the scheme takes another.
const SALT: &[u8] = b"resolute v1";

/// 256 random bits from which everything is derived. Not printed by Debug.
#[derive(Clone)]
pub struct MasterSecret([u8; 32]);

/// A key for one purpose: 256 bits. Not printed by Debug.
#[derive(Clone)]
pub struct DerivedKey([u8; 32]);

/// The Ed25519 key (RFC 8032) of one epoch.
#[derive(Debug)]
pub struct SigningKey {
    epoch: i32,
    pair: Ed25519KeyPair,
}

impl MasterSecret {
    /// These bytes as the secret.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 64 hexadecimal digits, white space around them ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The secret as 64 hexadecimal digits, for its file.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }

    /// The key for one purpose. The same purpose gives the same key for ever.
    pub fn derive(&self, purpose: &str) -> DerivedKey {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(&self.0);
        let mut key = [0; 32];
        extracted
            .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut key))
            .expect("32 bytes are within what HKDF-SHA256 can give");
        DerivedKey(key)
    }

    /// What the database keeps of the secret: 128 bits that tell secrets apart and tell nothing of them.
    pub fn fingerprint(&self) -> String {
        hex(&self.derive("fingerprint").0[..16])
    }

    /// The signing key of an epoch; rotation is the next epoch.
    pub fn signing_key(&self, epoch: i32) -> SigningKey {
        let seed = self.derive(&format!("signing epoch {epoch}"));
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed.0).expect("a seed of 32 bytes is always a key");
        SigningKey { epoch, pair }
    }
}

impl DerivedKey {
    /// For authenticating with HMAC-SHA256.
    pub fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }

    /// The bytes, for ciphers.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl SigningKey {
    /// Its epoch.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The 32 bytes that verify its signatures.
    pub fn public_key(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The signature of a message: 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl std::fmt::Debug for MasterSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MasterSecret({})", self.fingerprint())
    }
}

impl std::fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DerivedKey")
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_secrets_give_keys_of_their_own_and_always_the_same_ones() {
        let (one, other) = (MasterSecret::new([1; 32]), MasterSecret::new([2; 32]));
        assert_eq!(one.derive("a").0, one.derive("a").0);
        assert_ne!(one.derive("a").0, one.derive("b").0);
        assert_ne!(one.derive("a").0, other.derive("a").0);
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_ne!(one.signing_key(1).public_key(), one.signing_key(2).public_key());
    }

    /// Pinned: a change here would orphan every cursor, seal and signature of every installation.
    #[test]
    fn derivation_never_changes() {
        let secret = MasterSecret::new([7; 32]);
        assert_eq!(secret.fingerprint(), PINNED_FINGERPRINT);
    }

    /// Computed apart, with the two HMACs of RFC 5869.
    const PINNED_FINGERPRINT: &str = "248b7046f1bb9f95bbb9a87871ffcf5e";

    #[test]
    fn a_secret_survives_its_text_and_debug_does_not_show_it() {
        let secret = MasterSecret::new([0xab; 32]);
        let text = secret.reveal();
        assert_eq!(MasterSecret::parse(&format!(" {text}\n")).map(|s| s.reveal()), Some(text.clone()));
        assert!(!format!("{secret:?}").contains(&text));
        for bad in ["", "ab", &"g".repeat(64), &"a".repeat(65), &"é".repeat(32)] {
            assert!(MasterSecret::parse(bad).is_none());
        }
    }

    #[test]
    fn a_signature_verifies_with_the_published_key_only() {
        let secret = MasterSecret::new([3; 32]);
        let (key, next) = (secret.signing_key(1), secret.signing_key(2));
        let signature = key.sign(b"message");
        let verifies = |public: &[u8], message: &[u8]| {
            ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public)
                .verify(message, &signature)
                .is_ok()
        };
        assert!(verifies(key.public_key(), b"message"));
        assert!(!verifies(key.public_key(), b"massage"));
        assert!(!verifies(next.public_key(), b"message"));
    }
}
