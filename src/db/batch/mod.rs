//! Group commit: writes to one lock row wait in a queue, and one transaction takes all that wait, for several lock
//! rows of a tenant where the work allows. Nothing is delayed on purpose: while one batch is being committed the next
//! one gathers. Each item gets a verdict of its own. Look-ups are gathered in the same way.
//!
//! `turns` shares the connections between tenants, `stats` bounds what waits, `tenant` and `queue` say what leaves
//! together, `lane` takes one batch after the other, `flush` runs a batch and answers. What a batch does is the
//! feature's: [`Work`].

mod flush;
mod lane;
mod meters;
mod queue;
mod stats;
mod tenant;
mod turns;

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::oneshot;

pub use meters::METRICS;
pub use stats::{Depth, Stats};
pub use turns::Turns;

use self::meters::Meters;
use self::queue::Waiting;
use self::stats::Tally;
use self::tenant::TenantQueues;
use super::{Db, Error};
use crate::config::Config;
use crate::ids::Ids;
use crate::lifecycle::Tasks;

/// What a kind of batch does.
pub trait Work: Send + Sync + 'static {
    /// The lock row, as a rule; one queue each.
    type Key: Copy + Eq + Hash + Send + Sync + fmt::Debug;
    /// One write, checked as far as it can be before the lock.
    type Item: Send + Sync;
    /// What became of it.
    type Verdict: Send;

    /// Labels metrics.
    const NAME: &'static str;
    /// Most lock rows in a transaction, all of one tenant. Above one, it may not wait for their locks for longer than
    /// its tenant's other writes can bear ([`Error::is_lock_timeout`]): each row then gets a transaction of its own.
    const KEYS: usize = 1;
    /// Most transactions of a tenant at once, and one more where these do not come to an end.
    const LANES: usize = usize::MAX;

    /// Whose work it is.
    fn tenant(key: &Self::Key) -> i64;

    /// Bytes that an item takes while it waits, about.
    fn bytes(item: &Self::Item) -> usize;

    /// What no two items of a batch may share, such as the voter, as numbers; a hash that collides by chance costs only
    /// a wait for the next batch. `None`: items of this kind share whatever they like.
    fn operations(item: &Self::Item) -> Option<[u64; 2]>;

    /// Runs a batch in one transaction; each item has its key at the same place, and those of one key are next to each
    /// other. One verdict for each item, in order; or an error, and nothing was written (unless it is
    /// [`Error::OutcomeUnknown`]).
    fn run(
        &self,
        client: Object,
        keys: &[Self::Key],
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

/// A tenant is here while somebody empties its queues, and gone when they are idle.
struct Queues<W: Work> {
    tenants: HashMap<i64, TenantQueues<W>>,
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
            queues: Mutex::new(Queues { tenants: HashMap::new(), tally: Tally::default() }),
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
        let tenant_id = W::tenant(key);
        let mut queues = self.0.lock();
        if !queues.tally.admit(tenant_id, waiting.bytes, self.0.bounds.queue_bytes) {
            drop(queues);
            self.0.meters.full.increment(1);
            return Err(Error::Busy("the queue of writes is full"));
        }
        let wants_lane = queues.tenants.entry(tenant_id).or_default().push(*key, waiting);
        drop(queues);
        if wants_lane {
            self.0.begin_lane(tenant_id);
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
}

#[cfg(test)]
mod tests;
