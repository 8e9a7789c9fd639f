//! Cursors: a place in a listing as a text that only this installation can make. Authenticated, not encrypted: who
//! holds one has seen the row that it names. It says nothing of how many rows there are.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::db::keyset::Seek;
use crate::secret::MasterSecret;

/// The form of a cursor: version, direction, the key as JSON, HMAC-SHA256 over these and the [`Place`].
const VERSION: u8 = 1;
const FORWARD: u8 = b'f';
const BACKWARD: u8 = b'b';
/// Bytes of the tag.
const TAG: usize = 32;

/// Makes and checks the cursors of this installation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cursors(hmac::Key);

/// What a cursor is bound to: it is good for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Name of the listing.
    pub listing: &'a str,
    /// The tenant of whoever asks.
    pub tenant_id: i64,
    /// What the listing is restricted to, in an order of the listing's own.
    pub filters: &'a [String],
}

impl Cursors {
    /// Those of the installation with this secret.
    pub fn new(secret: &MasterSecret) -> Self {
        Self(secret.derive("cursor").hmac())
    }

    /// The cursor of a cut.
    pub fn seal<K: Serialize>(&self, place: &Place<'_>, seek: &Seek<K>) -> Result<String, serde_json::Error> {
        let (direction, key) = match seek {
            Seek::From(key) => (FORWARD, key),
            Seek::Before(key) => (BACKWARD, key),
        };
        let mut bytes = vec![VERSION, direction];
        serde_json::to_writer(&mut bytes, key)?;
        let tag = hmac::sign(&self.0, &bound(place, &bytes));
        bytes.extend(tag.as_ref());
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The cut of a cursor; None if it was not made here, for this place, in this form.
    pub fn open<K: DeserializeOwned>(&self, place: &Place<'_>, cursor: &str) -> Option<Seek<K>> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (payload, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        hmac::verify(&self.0, &bound(place, payload), tag).ok()?;
        match payload {
            [VERSION, FORWARD, key @ ..] => serde_json::from_slice(key).ok().map(Seek::From),
            [VERSION, BACKWARD, key @ ..] => serde_json::from_slice(key).ok().map(Seek::Before),
            _ => None,
        }
    }
}

/// What is authenticated. Every part stands behind its length, so that no two places give the same bytes.
fn bound(place: &Place<'_>, payload: &[u8]) -> Vec<u8> {
    let mut bytes = place.tenant_id.to_be_bytes().to_vec();
    let parts = place.filters.iter().map(String::as_bytes);
    for part in [place.listing.as_bytes()].into_iter().chain(parts).chain([payload]) {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        bytes.extend(length.to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::OffsetDateTime;
    use uuid::Uuid;

    use super::*;

    fn cursors() -> Cursors {
        Cursors::new(&MasterSecret::new([7; 32]))
    }

    fn place<'a>(listing: &'a str, tenant_id: i64, filters: &'a [String]) -> Place<'a> {
        Place { listing, tenant_id, filters }
    }

    #[test]
    fn a_cursor_opens_where_it_was_made_and_nowhere_else() {
        let filters = ["d".to_owned(), String::new()];
        let here = place("purls", 1, &filters);
        let cut = Seek::Before("구글/é\"\\".to_owned());
        let cursor = cursors().seal(&here, &cut).expect("sealed");
        assert_eq!(cursors().open(&here, &cursor), Some(cut));
        let moved = [String::new(), "d".to_owned()];
        let joined = ["d".to_owned()];
        for elsewhere in [
            place("keys", 1, &filters),
            place("purls", 2, &filters),
            place("purls", 1, &moved),
            place("purls", 1, &joined),
            place("purls", 1, &[]),
        ] {
            assert_eq!(cursors().open::<String>(&elsewhere, &cursor), None, "{elsewhere:?}");
        }
        let other = Cursors::new(&MasterSecret::new([8; 32]));
        assert_eq!(other.open::<String>(&here, &cursor), None);
    }

    #[test]
    fn a_cursor_changed_in_any_one_byte_or_cut_short_is_none() {
        const ALPHABET: &[u8] = b"AZaz09-_=+/. ";
        let here = place("keys", 1, &[]);
        let cursor = cursors().seal(&here, &Seek::From(Uuid::from_u128(5))).expect("sealed");
        for at in 0..cursor.len() {
            for other in ALPHABET.iter().copied().filter(|other| *other != cursor.as_bytes()[at]) {
                let mut changed = cursor.clone().into_bytes();
                changed[at] = other;
                let changed = String::from_utf8(changed).expect("ASCII");
                assert_eq!(cursors().open::<Uuid>(&here, &changed), None, "byte {at} to {other}");
            }
            assert_eq!(cursors().open::<Uuid>(&here, &cursor[..at]), None);
        }
    }

    proptest! {
        #[test]
        fn open_after_seal_is_the_same_cut(text in ".{0,40}", id: i64, micros in 0_i64..253_402_300_799_000_000) {
            let here = place("rows", id, &[]);
            let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1000).expect("in range");
            let cut = Seek::From((text, id, at));
            let cursor = cursors().seal(&here, &cut).expect("sealed");
            prop_assert_eq!(cursors().open(&here, &cursor), Some(cut));
        }

        #[test]
        fn any_text_is_refused_quietly(text in ".{0,80}") {
            prop_assert_eq!(cursors().open::<i64>(&place("rows", 1, &[]), &text), None);
        }
    }
}
