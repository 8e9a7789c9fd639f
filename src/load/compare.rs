//! What was acknowledged against what is stored. Pure: it is given both.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// The result of a comparison; everything but the first two and the last two must be 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integrity {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Rows that are stored.
    pub stored: u64,
    /// Acknowledged, and there is no row.
    pub acknowledged_but_missing: u64,
    /// Rows of writes that were refused or never sent.
    pub stored_but_not_acknowledged: u64,
    /// Rows that say something else than the acknowledgement did.
    pub stored_otherwise: u64,
    /// Places of a log that are there twice or not at all.
    pub log_faults: u64,
    /// Writes whose outcome nobody told.
    pub outcome_unknown: u64,
    /// Those of them that are stored.
    pub outcome_unknown_stored: u64,
}

impl Integrity {
    /// Whether nothing was lost, invented or changed.
    pub fn is_whole(&self) -> bool {
        self.acknowledged_but_missing == 0
            && self.stored_but_not_acknowledged == 0
            && self.stored_otherwise == 0
            && self.log_faults == 0
    }

    /// Adds another part of the same run.
    pub fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.stored += other.stored;
        self.acknowledged_but_missing += other.acknowledged_but_missing;
        self.stored_but_not_acknowledged += other.stored_but_not_acknowledged;
        self.stored_otherwise += other.stored_otherwise;
        self.log_faults += other.log_faults;
        self.outcome_unknown += other.outcome_unknown;
        self.outcome_unknown_stored += other.outcome_unknown_stored;
    }
}

/// What clients were told, by key of the row; rows are held against it one by one.
#[derive(Debug)]
pub struct Ledger<K, V> {
    open: HashMap<K, Option<V>>,
    integrity: Integrity,
}

impl<K: Hash + Eq, V: PartialEq> Ledger<K, V> {
    /// With every acknowledgement, and every write whose outcome is unknown.
    pub fn new(acks: impl IntoIterator<Item = (K, V)>, unknown: impl IntoIterator<Item = K>) -> Self {
        let mut open: HashMap<K, Option<V>> = unknown.into_iter().map(|key| (key, None)).collect();
        let mut integrity = Integrity::default();
        for (key, value) in acks {
            integrity.acknowledged += 1;
            open.insert(key, Some(value));
        }
        integrity.outcome_unknown = open.values().filter(|told| told.is_none()).count() as u64;
        Self { open, integrity }
    }

    /// Holds a row against what was told of it.
    pub fn row(&mut self, key: &K, value: &V) {
        self.integrity.stored += 1;
        match self.open.remove(key) {
            Some(Some(told)) => self.integrity.stored_otherwise += u64::from(told != *value),
            Some(None) => self.integrity.outcome_unknown_stored += 1,
            None => self.integrity.stored_but_not_acknowledged += 1,
        }
    }

    /// Once every row has been seen.
    pub fn close(self) -> Integrity {
        let missing = self.open.values().filter(|told| told.is_some()).count() as u64;
        Integrity { acknowledged_but_missing: missing, ..self.integrity }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lost_an_invented_and_a_changed_row_are_told_apart() {
        let mut ledger = Ledger::new([(1, 'a'), (2, 'b'), (3, 'c')], [4, 5]);
        for (key, value) in [(1, 'a'), (2, 'x'), (4, 'd'), (9, 'z')] {
            ledger.row(&key, &value);
        }
        let found = ledger.close();
        let expected = Integrity {
            acknowledged: 3,
            stored: 4,
            acknowledged_but_missing: 1,
            stored_but_not_acknowledged: 1,
            stored_otherwise: 1,
            log_faults: 0,
            outcome_unknown: 2,
            outcome_unknown_stored: 1,
        };
        assert_eq!(found, expected);
        assert!(!found.is_whole());
    }

    proptest! {
        #[test]
        fn whatever_is_lost_is_counted(acked in prop::collection::hash_set(0_u16..500, 0..200), lost in 0_usize..200) {
            let mut ledger = Ledger::new(acked.iter().map(|key| (*key, ())), []);
            for key in acked.iter().skip(lost) {
                ledger.row(key, &());
            }
            let found = ledger.close();
            prop_assert_eq!(found.acknowledged_but_missing, lost.min(acked.len()) as u64);
            prop_assert_eq!(found.is_whole(), lost == 0 || acked.is_empty());
        }
    }
}
