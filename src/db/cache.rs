//! A bounded cache of what was read from the database, one shard a lock. An entry knows when its read began;
//! whether it is still fresh is decided by whoever asks. It never answers with what a write has replaced: a
//! read that began before an eviction cannot be stored after it. It does not read the database itself.

use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use metrics::{Counter, counter};
use tokio::time::Instant;

use crate::telemetry::metrics::{CACHE_EVICTIONS, CACHE_LOOKUPS};

/// More shards than cores that would wait for each other.
const SHARDS: usize = 16;

/// What a cache knows of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<V> {
    /// May be answered with.
    Fresh(V),
    /// Too old, unless the database cannot be reached.
    Stale(V),
    /// Nothing.
    Absent,
}

/// Permission to store what a read finds that begins now. Take it before the read.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    epoch: u64,
    begun: Instant,
}

impl Ticket {
    /// When the read began.
    pub fn begun(&self) -> Instant {
        self.begun
    }
}

/// A cache of at most a fixed number of entries; the least recently used one makes room.
pub struct Cache<K, V> {
    shards: Vec<Mutex<Shard<K, V>>>,
    hasher: RandomState,
    metrics: Counters,
}

struct Shard<K, V> {
    entries: LruCache<K, Entry<V>>,
    /// Raised by each eviction. One for all keys of the shard: a read that overlaps the eviction of another
    /// key is merely not stored.
    epoch: u64,
}

struct Entry<V> {
    value: V,
    begun: Instant,
}

struct Counters {
    hit: Counter,
    stale: Counter,
    miss: Counter,
    full: Counter,
    written: Counter,
}

impl<K, V> std::fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// A cache for about `entries` entries (rounded up to a multiple of its shards); `name` labels its metrics.
    pub fn new(name: &'static str, entries: usize) -> Self {
        let capacity = NonZeroUsize::new(entries.div_ceil(SHARDS)).unwrap_or(NonZeroUsize::MIN);
        let shard = || Mutex::new(Shard { entries: LruCache::new(capacity), epoch: 0 });
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            hasher: RandomState::new(),
            metrics: Counters {
                hit: counter!(CACHE_LOOKUPS, "cache" => name, "outcome" => "hit"),
                stale: counter!(CACHE_LOOKUPS, "cache" => name, "outcome" => "stale"),
                miss: counter!(CACHE_LOOKUPS, "cache" => name, "outcome" => "miss"),
                full: counter!(CACHE_EVICTIONS, "cache" => name, "reason" => "full"),
                written: counter!(CACHE_EVICTIONS, "cache" => name, "reason" => "written"),
            },
        }
    }

    /// What is known of `key`; `fresh` judges a value by when its read began.
    pub fn find(&self, key: &K, fresh: impl FnOnce(&V, Instant) -> bool) -> Lookup<V> {
        let mut shard = self.shard(key);
        let Some(entry) = shard.entries.get(key) else {
            self.metrics.miss.increment(1);
            return Lookup::Absent;
        };
        let value = entry.value.clone();
        let begun = entry.begun;
        drop(shard);
        if fresh(&value, begun) {
            self.metrics.hit.increment(1);
            Lookup::Fresh(value)
        } else {
            self.metrics.stale.increment(1);
            Lookup::Stale(value)
        }
    }

    /// Permission to store what a read of `key` finds that begins now.
    pub fn ticket(&self, key: &K) -> Ticket {
        Ticket { epoch: self.shard(key).epoch, begun: Instant::now() }
    }

    /// Stores what was read, unless something was evicted since the ticket was taken or a later read was faster.
    pub fn insert(&self, key: K, value: V, ticket: Ticket) {
        let mut shard = self.shard(&key);
        let newer = |entry: &Entry<V>| entry.begun > ticket.begun;
        if shard.epoch != ticket.epoch || shard.entries.peek(&key).is_some_and(newer) {
            return;
        }
        let full = shard.entries.len() == shard.entries.cap().get() && shard.entries.peek(&key).is_none();
        let _ = shard.entries.push(key, Entry { value, begun: ticket.begun });
        if full {
            self.metrics.full.increment(1);
        }
    }

    /// Forgets a key, because it was written. Reads that are under way store nothing.
    pub fn evict(&self, key: &K) {
        let mut shard = self.shard(key);
        shard.epoch += 1;
        if shard.entries.pop(key).is_some() {
            self.metrics.written.increment(1);
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).entries.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, Shard<K, V>> {
        let shards = u64::try_from(self.shards.len()).unwrap_or(1);
        let index = usize::try_from(self.hasher.hash_one(key) % shards).unwrap_or_default();
        lock(&self.shards[index])
    }
}

/// Nothing that holds the lock can panic half-way through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form of a judge")]
    fn young(_: &u64, begun: Instant) -> bool {
        begun.elapsed() < SECOND
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_is_fresh_from_the_start_of_its_read_on_and_stale_after_its_time() {
        let cache = Cache::new("test", 10);
        let ticket = cache.ticket(&1);
        tokio::time::advance(Duration::from_millis(600)).await;
        cache.insert(1, 7, ticket);
        assert_eq!(cache.find(&1, young), Lookup::Fresh(7));
        tokio::time::advance(Duration::from_millis(399)).await;
        assert_eq!(cache.find(&1, young), Lookup::Fresh(7));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(cache.find(&1, young), Lookup::Stale(7), "the time it took to read counts");
        assert_eq!(cache.find(&2, young), Lookup::Absent);
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_began_before_an_eviction_is_not_stored_after_it() {
        let cache = Cache::new("test", 10);
        let before = cache.ticket(&1);
        cache.evict(&1);
        cache.insert(1, 1, before);
        assert_eq!(cache.find(&1, young), Lookup::Absent);
        let after = cache.ticket(&1);
        cache.insert(1, 2, after);
        assert_eq!(cache.find(&1, young), Lookup::Fresh(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_read_does_not_replace_what_a_later_one_found() {
        let cache = Cache::new("test", 10);
        let slow = cache.ticket(&1);
        tokio::time::advance(Duration::from_millis(1)).await;
        let fast = cache.ticket(&1);
        cache.insert(1, 2, fast);
        cache.insert(1, 1, slow);
        assert_eq!(cache.find(&1, young), Lookup::Fresh(2));
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_holds_more_than_it_may() {
        let cache = Cache::new("test", SHARDS * 4);
        for key in 0..10_000_u64 {
            let ticket = cache.ticket(&key);
            cache.insert(key, key, ticket);
        }
        assert_eq!(cache.len(), SHARDS * 4);
    }

    /// The truth is a number that only grows. A writer raises it and evicts; a reader that asks after that must
    /// never be given the old number, however the fillers' reads overlap.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_reader_that_overlaps_a_write_never_leaves_the_old_answer_behind() {
        let (cache, truth) = (Arc::new(Cache::new("test", 10)), Arc::new(AtomicU64::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let fillers: Vec<_> = (0..3)
            .map(|_| {
                let (cache, truth, stop) = (Arc::clone(&cache), Arc::clone(&truth), Arc::clone(&stop));
                tokio::task::spawn_blocking(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let ticket = cache.ticket(&1);
                        let read = truth.load(Ordering::SeqCst);
                        std::thread::yield_now();
                        cache.insert(1, read, ticket);
                    }
                })
            })
            .collect();
        let writer = tokio::task::spawn_blocking(move || {
            for now in 1..20_000 {
                truth.store(now, Ordering::SeqCst);
                cache.evict(&1);
                if let Lookup::Fresh(found) = cache.find(&1, |_, _| true) {
                    assert_eq!(found, now);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        writer.await.unwrap();
        for filler in fillers {
            filler.await.unwrap();
        }
    }
}
