//! SHA-256 with domain separation: a hash made for one purpose is never one made for another.

use sha2::{Digest as _, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// SHA-256(tag ‖ 0x00 ‖ data). Tags are fixed, without a zero byte, and say what is hashed and in which
/// version of its form.
pub fn tagged_hash(tag: &'static str, data: &[u8]) -> Hash {
    Sha256::new().chain_update(tag).chain_update([0]).chain_update(data).finalize().into()
}

/// The hash of a leaf by RFC 6962, 2.1: SHA-256(0x00 ‖ data), of data in two parts.
pub fn leaf_hash(tag: &'static str, body: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(tag).chain_update(body).finalize().into()
}

/// Lower-case hexadecimal, the form of hashes in JSON.
pub fn hex(bytes: &[u8]) -> String {
    let digits = b"0123456789abcdef";
    let digit = |half: u8| char::from(digits[usize::from(half & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaf_hash_is_that_of_rfc_6962() {
        assert_eq!(
            hex(&leaf_hash("", b"")),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
        assert_eq!(
            hex(&leaf_hash("", b"\x00")),
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
        );
    }

    #[test]
    fn tags_separate() {
        assert_ne!(tagged_hash("a", b"bc"), tagged_hash("ab", b"c"));
        assert_ne!(tagged_hash("a", b""), leaf_hash("", b"a"));
    }
}
