//! The buckets of many clients under one policy, in the memory of this process. Never more than a fixed number: each
//! shard has two generations, and when the younger is full the older, in which is who has not come for longest, is
//! forgotten. To be forgotten is to have a full bucket, so this errs towards letting somebody pass.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use super::gcra::{Policy, Standing};

const SHARDS: usize = 16;
/// Clients in one generation of a shard.
const GENERATION: usize = 2_048;

/// Buckets by client.
#[derive(Debug)]
pub struct Table<K> {
    /// None: nothing is limited, but who has come is still known.
    policy: Option<Policy>,
    hasher: RandomState,
    shards: [Mutex<Shard<K>>; SHARDS],
}

/// When the bucket of each client is full again.
#[derive(Debug)]
struct Shard<K> {
    young: HashMap<K, u64>,
    old: HashMap<K, u64>,
}

impl<K: Hash + Eq + Copy> Table<K> {
    /// An empty one.
    pub fn new(policy: Option<Policy>) -> Self {
        let shards =
            std::array::from_fn(|_| Mutex::new(Shard { young: HashMap::new(), old: HashMap::new() }));
        Self { policy, hasher: RandomState::new(), shards }
    }

    /// Takes one request of this client's; None without a limit.
    pub fn take(&self, client: K, now: u64) -> Option<Standing> {
        self.take_under(self.policy, client, now)
    }

    /// The same under a policy of this client's own.
    pub fn take_under(&self, policy: Option<Policy>, client: K, now: u64) -> Option<Standing> {
        self.shard(client, |shard| {
            let before = shard.find(client);
            let Some(policy) = policy else {
                shard.keep(client, now);
                return None;
            };
            let (full_at, standing) = policy.take(before.unwrap_or(now), now);
            shard.keep(client, full_at);
            Some(standing)
        })
    }

    /// Where this client stands, taking nothing; None without a limit.
    pub fn look(&self, client: K, now: u64) -> Option<Standing> {
        let full_at = self.shard(client, |shard| shard.find(client)).unwrap_or(now);
        self.policy.map(|policy| policy.look(full_at, now))
    }

    /// Whether this client has come lately.
    pub fn knows(&self, client: K) -> bool {
        self.shard(client, |shard| shard.find(client).is_some())
    }

    fn shard<T>(&self, client: K, work: impl FnOnce(&mut Shard<K>) -> T) -> T {
        let number = self.hasher.hash_one(client) % (SHARDS as u64);
        let shard = &self.shards[usize::try_from(number).unwrap_or_default()];
        // A bucket is one number: a panic elsewhere leaves none half written.
        work(&mut shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: Hash + Eq + Copy> Shard<K> {
    fn find(&self, client: K) -> Option<u64> {
        self.young.get(&client).or_else(|| self.old.get(&client)).copied()
    }

    fn keep(&mut self, client: K, full_at: u64) {
        if self.young.len() >= GENERATION && !self.young.contains_key(&client) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(client, full_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<u64> {
        Table::new(Policy::new("x", 1, 2))
    }

    fn refused(table: &Table<u64>, client: u64) -> bool {
        table.take(client, 0).expect("a limit").is_refused()
    }

    #[test]
    fn each_client_has_its_own_bucket() {
        let table = table();
        assert_eq!([1, 1, 1, 2].map(|client| refused(&table, client)), [false, false, true, false]);
        assert!(table.look(1, 0).is_some_and(|standing| standing.is_refused()));
        assert!(table.look(3, 0).is_some_and(|standing| standing.left == 2));
        assert!(table.knows(1) && !table.knows(3));
    }

    #[test]
    fn a_million_clients_take_no_more_room_than_some_thousand() {
        let table = table();
        for client in 0..1_000_000 {
            table.take(client, 0);
        }
        let kept: usize = table
            .shards
            .iter()
            .map(|shard| shard.lock().expect("no panic"))
            .map(|shard| shard.young.len() + shard.old.len())
            .sum();
        assert!(kept <= 2 * SHARDS * GENERATION, "{kept}");
    }

    #[test]
    fn who_keeps_coming_is_not_forgotten_among_ever_new_clients() {
        let table = table();
        assert!(!refused(&table, 0) && !refused(&table, 0));
        for client in 1..300_000 {
            table.take(client, 0);
            if client % 1_000 == 0 {
                assert!(refused(&table, 0), "after {client} others");
            }
        }
    }

    #[test]
    fn without_a_limit_everybody_passes_and_is_known() {
        let table: Table<u64> = Table::new(None);
        assert!((0..100).all(|_| table.take(1, 0).is_none()));
        assert!(table.knows(1));
    }
}
