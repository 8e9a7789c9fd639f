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
/// person and 8 of weight in millionths (big-endian), under a tag.
pub fn electorate_hash(entries: &[Entry]) -> Hash {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.record_key);
    let mut data = Vec::with_capacity(sorted.len() * 56);
    for entry in sorted {
        data.extend_from_slice(entry.record_key.as_bytes());
        data.extend_from_slice(&entry.person);
        data.extend_from_slice(&entry.weight.micros().to_be_bytes());
    }
    tagged_hash("resolute.electorate.v1", &data)
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

    proptest! {
        #[test]
        fn electorate_hash_does_not_depend_on_order(numbers in prop::collection::hash_set(any::<u128>(), 0..30)) {
            let forward: Vec<Entry> = numbers.iter().map(|number| entry(*number, "1")).collect();
            let backward: Vec<Entry> = forward.iter().rev().cloned().collect();
            prop_assert_eq!(electorate_hash(&forward), electorate_hash(&backward));
        }
    }
}
