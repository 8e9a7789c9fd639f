//! Ballot tokens: the one credential of a participant, `rsb_<tenant>_<participant>_<secret>`.
//!
//! A token says by itself where to look it up, and 192 random bits make it unguessable. Only its SHA-256
//! is stored, and it is compared in constant time. It opens the polls of its meeting and nothing else.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::ids;

const PREFIX: &str = "rsb_";

/// Random bytes in the secret part of a token.
pub const SECRET_BYTES: usize = 24;

/// Whether a bearer credential claims to be a ballot token (and not an API key).
pub fn is_ballot_token(bearer: &str) -> bool {
    bearer.starts_with(PREFIX)
}

/// A token just made. It is shown once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct MintedToken(String);

impl MintedToken {
    /// Writes the token of a participant with the secret given, which must come from `Ids`.
    pub fn new(tenant_id: i64, participant_id: i64, secret: [u8; SECRET_BYTES]) -> Self {
        Self(format!("{PREFIX}{tenant_id}_{participant_id}_{}", URL_SAFE_NO_PAD.encode(secret)))
    }

    /// The text for the participant.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }
}

/// Never the secret, so that no log or panic can hold it.
impl fmt::Debug for MintedToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("MintedToken(…)")
    }
}

/// A token as a caller presents it: whom it claims to be, not yet proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedToken {
    /// Tenant it claims.
    pub tenant_id: i64,
    /// Participant it claims.
    pub participant_id: i64,
    sha256: [u8; 32],
}

impl PresentedToken {
    /// Reads a token; `None` when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let (tenant_id, participant_id) = claimed(text)?;
        Some(Self { tenant_id, participant_id, sha256: Sha256::digest(text).into() })
    }

    /// Whether this is the token whose hash is stored; takes the same time whatever differs.
    pub fn matches(&self, stored_sha256: &[u8]) -> bool {
        self.sha256.ct_eq(stored_sha256).into()
    }
}

/// The tenant and the participant that a text in the form of a token names.
pub fn claimed(text: &str) -> Option<(i64, i64)> {
    let mut parts = text.strip_prefix(PREFIX)?.splitn(3, '_');
    let tenant_id = ids::parse(parts.next()?)?;
    let participant_id = ids::parse(parts.next()?)?;
    let mut secret = [0; SECRET_BYTES + 2];
    let length = URL_SAFE_NO_PAD.decode_slice(parts.next()?, &mut secret).ok()?;
    (length == SECRET_BYTES).then_some((tenant_id, participant_id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn token_names_tenant_and_participant() {
        let token = MintedToken::new(7, 42, [0xFF; SECRET_BYTES]);
        assert_eq!(token.reveal(), "rsb_7_42_________________________________");
        let presented = PresentedToken::parse(token.reveal()).unwrap();
        assert_eq!((presented.tenant_id, presented.participant_id), (7, 42));
        assert!(presented.matches(&token.sha256()));
    }

    #[test]
    fn another_secret_does_not_match() {
        let presented = PresentedToken::parse(MintedToken::new(7, 42, [1; SECRET_BYTES]).reveal()).unwrap();
        assert!(!presented.matches(&MintedToken::new(7, 42, [2; SECRET_BYTES]).sha256()));
        assert!(!presented.matches(&MintedToken::new(8, 42, [1; SECRET_BYTES]).sha256()));
        assert!(!presented.matches(b""));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in
            ["", "rsb_", "rsb_1_2", "rsb_1_2_", "rsb_1_2_short", "rsl_1_2_AAAA", "rsb_0_2_", "rsb_01_2_"]
        {
            assert_eq!(PresentedToken::parse(text), None, "{text:?}");
        }
        let good = MintedToken::new(1, 2, [0; SECRET_BYTES]);
        assert_eq!(PresentedToken::parse(&format!("{} ", good.reveal())), None);
        assert_eq!(PresentedToken::parse(&good.reveal().replace("rsb_1", "rsb_+1")), None);
    }

    #[test]
    fn the_secret_is_not_in_the_debug_form() {
        assert_eq!(format!("{:?}", MintedToken::new(1, 2, [7; SECRET_BYTES])), "MintedToken(…)");
    }

    proptest! {
        #[test]
        fn parse_undoes_mint(tenant in 1..=i64::MAX, participant in 1..=i64::MAX, secret: [u8; SECRET_BYTES]) {
            let token = MintedToken::new(tenant, participant, secret);
            let presented = PresentedToken::parse(token.reveal()).unwrap();
            prop_assert_eq!((presented.tenant_id, presented.participant_id), (tenant, participant));
            prop_assert!(presented.matches(&token.sha256()));
        }

        #[test]
        fn no_text_makes_parse_panic(text in ".*") {
            let _ = PresentedToken::parse(&text);
        }
    }
}
