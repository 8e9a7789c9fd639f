//! The hash over a frozen electorate: who may vote and with what weight, without a name in it.
//!
//! A person is a random id and a hash of salt, name and reference. Erasing name and salt later makes the
//! hash of the person meaningless to everybody and leaves the hash of the electorate as it was.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::hash::{Hash, tagged_hash};
use crate::voting::weight::Weight;

/// One entry of an electorate, as it is hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The random id under which the record knows the person.
    pub record_key: Uuid,
    /// From [`person_hash`].
    pub person: Hash,
    /// What the person casts.
    pub weight: Weight,
    /// The random id of who holds the person's proxy.
    pub holder: Option<Uuid>,
}

/// SHA-256 over tag, salt, length of the name (64 bits, big-endian), name and reference ("" without
/// one). The length keeps name and reference apart; the salt keeps a short name from being guessed.
pub fn person_hash(salt: &[u8; 32], name: &str, reference: Option<&str>) -> Hash {
    let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
    Sha256::new()
        .chain_update("resolute.person.v1\0")
        .chain_update(salt)
        .chain_update(length.to_be_bytes())
        .chain_update(name)
        .chain_update(reference.unwrap_or_default())
        .finalize()
        .into()
}

/// The hash of an electorate: its entries ordered by record key, each as 16 bytes of record key, 32 of
/// person and 8 of weight in millionths (big-endian), under a tag. Where anybody has given a proxy the tag is another one,
/// and each entry ends with the 16 bytes of the holder's record key, zeros for none.
pub fn electorate_hash<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Hash {
    let mut sorted: Vec<&Entry> = entries.into_iter().collect();
    sorted.sort_by_key(|entry| entry.record_key);
    let proxies = sorted.iter().any(|entry| entry.holder.is_some());
    let mut data = Vec::with_capacity(sorted.len() * 72);
    for entry in sorted {
        data.extend_from_slice(entry.record_key.as_bytes());
        data.extend_from_slice(&entry.person);
        data.extend_from_slice(&entry.weight.micros().to_be_bytes());
        if proxies {
            data.extend_from_slice(entry.holder.unwrap_or_default().as_bytes());
        }
    }
    tagged_hash(if proxies { "resolute.electorate.v2" } else { "resolute.electorate.v1" }, &data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(number: u128, weight: &str) -> Entry {
        Entry {
            record_key: Uuid::from_u128(number),
            person: person_hash(&[7; 32], &format!("Voter {number}"), None),
            weight: Weight::parse(weight).unwrap(),
            holder: None,
        }
    }

    #[test]
    fn name_and_reference_are_kept_apart() {
        assert_ne!(person_hash(&[0; 32], "ab", Some("c")), person_hash(&[0; 32], "a", Some("bc")));
    }

    #[test]
    fn another_salt_is_another_hash_of_the_same_person() {
        assert_ne!(person_hash(&[0; 32], "Ada", None), person_hash(&[1; 32], "Ada", None));
    }

    #[test]
    fn a_changed_weight_or_a_missing_person_changes_the_hash() {
        let full = electorate_hash(&[entry(1, "1"), entry(2, "1")]);
        assert_ne!(full, electorate_hash(&[entry(1, "1"), entry(2, "1.000001")]));
        assert_ne!(full, electorate_hash(&[entry(1, "1")]));
    }

    #[test]
    fn whose_proxy_is_with_whom_changes_the_hash_and_without_any_it_is_as_it_always_was() {
        let held = |holder: Option<u128>| {
            let principal = Entry { holder: holder.map(Uuid::from_u128), ..entry(1, "1") };
            electorate_hash(&[principal, entry(2, "1"), entry(3, "1")])
        };
        assert!(held(None) != held(Some(2)) && held(Some(2)) != held(Some(3)));
        let mut data = Vec::new();
        data.extend_from_slice(Uuid::from_u128(1).as_bytes());
        data.extend_from_slice(&entry(1, "1").person);
        data.extend_from_slice(&1_000_000_i64.to_be_bytes());
        assert_eq!(electorate_hash(&[entry(1, "1")]), tagged_hash("resolute.electorate.v1", &data));
    }

    proptest! {
        #[test]
        fn electorate_hash_does_not_depend_on_order(numbers in prop::collection::hash_set(any::<u128>(), 0..30)) {
            let forward: Vec<Entry> = numbers.iter().map(|number| entry(*number, "1")).collect();
            let backward: Vec<Entry> = forward.iter().rev().cloned().collect();
            prop_assert_eq!(electorate_hash(&forward), electorate_hash(&backward));
        }
    }
}
