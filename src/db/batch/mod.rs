//! Group commit: writes to one lock row wait in a queue, and one transaction takes all that wait. Nothing is delayed
//! on purpose: while one batch is being committed the next one gathers. Each item gets a verdict of its own. Look-ups
//! are gathered in the same way.
//!
//! `turns` shares the connections between tenants, `queue` bounds what waits, `flush` runs a batch and answers. What
//! a batch does is the feature's: [`Work`].

mod flush;
mod meters;
mod queue;
mod stats;
mod turns;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use meters::METRICS;
pub use stats::{Depth, Stats};
pub use turns::Turns;

use self::meters::Meters;
use self::queue::{Queue, Waiting};
use self::stats::Tally;
use super::{Db, Error};
use crate::config::Config;
use crate::ids::Ids;
use crate::lifecycle::Tasks;

/// What a kind of batch does.
pub trait Work: Send + Sync + 'static {
    /// The lock row, as a rule; one queue each.
    type Key: Clone + Eq + Hash + Send + Sync + fmt::Debug;
    /// One write, checked as far as it can be before the lock.
    type Item: Send + Sync;
    /// What became of it.
    type Verdict: Send;

    /// Labels metrics.
    const NAME: &'static str;

    /// Whose work it is.
    fn tenant(key: &Self::Key) -> i64;

    /// Bytes that an item takes while it waits, about.
    fn bytes(item: &Self::Item) -> usize;

    /// What no two items of a batch may share, such as the voter, as numbers; a hash that collides by chance costs only
    /// a wait for the next batch. `None`: items of this kind share whatever they like.
    fn operations(item: &Self::Item) -> Option<[u64; 2]>;

    /// Runs a batch in one transaction. One verdict for each item, in order; or an error, and nothing was written
    /// (unless it is [`Error::OutcomeUnknown`]).
    fn run(
        &self,
        client: Object,
        key: &Self::Key,
        items: &[Self::Item],
    ) -> impl Future<Output = Result<Vec<Self::Verdict>, Error>> + Send;
}

/// Bounds of the queues of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most items in a transaction.
    pub batch_items: usize,
    /// Bytes that wait at most; one tenant may hold half of it.
    pub queue_bytes: usize,
    /// How long an item waits for its transaction to begin.
    pub wait: Duration,
    /// How long a transaction is waited for: longer than PostgreSQL itself lets it take. Without this a connection that
    /// is dead and does not look it would hold up its queue for as long as the kernel believes in it.
    pub patience: Duration,
}

impl From<&Config> for Bounds {
    fn from(Config { write, database, .. }: &Config) -> Self {
        Self {
            batch_items: write.batch_items.max(1),
            queue_bytes: write.queue_bytes,
            wait: Duration::from_millis(write.queue_wait_ms),
            patience: Duration::from_millis(
                database.statement_timeout_ms.saturating_mul(2).saturating_add(database.lock_timeout_ms),
            ),
        }
    }
}

/// The queues of one kind of work. Cheap to clone.
pub struct Batcher<W: Work>(Arc<Inner<W>>);

impl<W: Work> Clone for Batcher<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Work> fmt::Debug for Batcher<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").field("work", &W::NAME).finish_non_exhaustive()
    }
}

struct Inner<W: Work> {
    work: W,
    db: Db,
    ids: Ids,
    tasks: Tasks,
    turns: Turns,
    bounds: Bounds,
    queues: Mutex<Queues<W>>,
    meters: Meters,
}

/// A queue is here while somebody empties it, and gone when it is idle.
struct Queues<W: Work> {
    by_key: HashMap<W::Key, Queue<W>>,
    tally: Tally,
}

impl<W: Work> Batcher<W> {
    /// Empty queues. `turns` is shared by all kinds of work that use the same connections.
    pub fn new(work: W, db: Db, ids: Ids, tasks: Tasks, turns: Turns, bounds: Bounds) -> Self {
        Self(Arc::new(Inner {
            work,
            db,
            ids,
            tasks,
            turns,
            bounds,
            queues: Mutex::new(Queues { by_key: HashMap::new(), tally: Tally::default() }),
            meters: Meters::new(W::NAME),
        }))
    }

    /// Writes an item and says what became of it. [`Error::Busy`] when the queues are full, [`Error::Timeout`] when
    /// no transaction took it in time: in both cases nothing was written. A caller who stops waiting takes nothing
    /// back that has begun, and leaves nothing half done.
    pub async fn submit(&self, key: &W::Key, item: W::Item) -> Result<W::Verdict, Error> {
        let answer = self.enqueue(key, item)?.await;
        answer.unwrap_or_else(|_| Err(Error::OutcomeUnknown("the batch ended without an answer".into())))
    }

    fn enqueue(&self, key: &W::Key, item: W::Item) -> Result<Answer<W>, Error> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting::<W>::new(item, sender);
        let mut queues = self.0.lock();
        if !queues.tally.admit(W::tenant(key), waiting.bytes, self.0.bounds.queue_bytes) {
            drop(queues);
            self.0.meters.full.increment(1);
            return Err(Error::Busy("the queue of writes is full"));
        }
        match queues.by_key.entry(key.clone()) {
            Entry::Occupied(mut queue) => queue.get_mut().push(waiting),
            Entry::Vacant(place) => {
                place.insert(Queue::of(waiting));
                drop(queues);
                self.0.tasks.spawn_short(Arc::clone(&self.0).empty(key.clone()));
            }
        }
        Ok(answer)
    }

    /// What waits and what was done, for people.
    pub fn stats(&self, tenant_id: Option<i64>) -> Stats {
        let queues = self.0.lock();
        queues.tally.stats(W::NAME, tenant_id)
    }

    /// Sets the gauges of this kind.
    pub fn export(&self) {
        let depth = self.0.lock().tally.depth();
        self.0.meters.depth(depth);
    }
}

type Answer<W> = oneshot::Receiver<Result<<W as Work>::Verdict, Error>>;

impl<W: Work> Inner<W> {
    /// Nothing that holds the lock can panic half-way through a change.
    fn lock(&self) -> MutexGuard<'_, Queues<W>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empties a queue, batch by batch, and retires it.
    async fn empty(self: Arc<Self>, key: W::Key) {
        let mut retirement = Retirement { inner: &self, key: &key, done: false };
        tokio::select! {
            () = self.flush_all(&key) => {}
            () = self.watch(&key) => {}
        }
        retirement.done = true;
    }

    async fn flush_all(&self, key: &W::Key) {
        loop {
            // Turn and connection first: whatever arrives meanwhile is in the batch.
            let turn = self.turns.take(W::tenant(key)).await;
            let client = self.db.hot().await;
            let Some(batch) = self.take(key) else { break };
            self.flush(key, client, batch).await;
            drop(turn);
            if self.retired(key) {
                break;
            }
        }
    }

    /// Sends away, without end, those who have waited too long. One clock for the queue, because one for each item is
    /// a timer set and cleared for every write.
    async fn watch(&self, key: &W::Key) {
        loop {
            let oldest = self.lock().by_key.get(key).and_then(Queue::oldest);
            tokio::time::sleep_until(oldest.unwrap_or_else(Instant::now) + self.bounds.wait).await;
            self.send_away(key);
        }
    }

    fn send_away(&self, key: &W::Key) {
        let Some(latest) = Instant::now().checked_sub(self.bounds.wait) else { return };
        let mut queues = self.lock();
        let Queues { by_key, tally } = &mut *queues;
        let late = by_key.get_mut(key).map(|queue| queue.take_until(latest)).unwrap_or_default();
        for waiting in &late {
            tally.forget(W::tenant(key), waiting.bytes);
        }
        drop(queues);
        for waiting in late {
            self.meters.late.increment(1);
            // A caller who has gone is told nothing.
            let _ = waiting.answer.send(Err(Error::Timeout("no transaction took the write in time".into())));
        }
    }

    /// The next batch; none, and the queue is gone, if nobody waits any more.
    fn take(&self, key: &W::Key) -> Option<Vec<Waiting<W>>> {
        let mut queues = self.lock();
        let Queues { by_key, tally } = &mut *queues;
        let queue = by_key.get_mut(key)?;
        let taken = queue.take(self.bounds.batch_items);
        tally.taken(W::tenant(key), &taken);
        if queue.is_empty() && taken.batch.is_empty() {
            by_key.remove(key);
            return None;
        }
        drop(queues);
        self.meters.taken(&taken, self.bounds.batch_items);
        Some(taken.batch)
    }

    /// Removes an empty queue; false while items wait in it.
    fn retired(&self, key: &W::Key) -> bool {
        let mut queues = self.lock();
        let empty = queues.by_key.get(key).is_none_or(Queue::is_empty);
        if empty {
            queues.by_key.remove(key);
        }
        empty
    }
}

/// Should a flush panic, its queue must not stay behind with nobody to empty it: those who wait are answered by the
/// drop of their channels.
struct Retirement<'a, W: Work> {
    inner: &'a Inner<W>,
    key: &'a W::Key,
    done: bool,
}

impl<W: Work> Drop for Retirement<'_, W> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut queues = self.inner.lock();
        let Queues { by_key, tally } = &mut *queues;
        if let Some(mut queue) = by_key.remove(self.key) {
            tally.taken(W::tenant(self.key), &queue.take(usize::MAX));
        }
    }
}

#[cfg(test)]
mod tests;
