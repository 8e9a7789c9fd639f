//! The queues of one tenant, and who empties them: lanes, each of which runs one transaction after the other, and in a
//! transaction as many lock rows as the work allows. A lock row is never in two transactions of this process at once.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::Work;
use super::queue::{Queue, Waiting};

/// How long something is ready before one more lane begins than the work has: those there are wait for a lock, a slow disk
/// or a connection that is dead.
pub(super) const STUCK: Duration = Duration::from_millis(100);

/// The queues.
pub(super) struct TenantQueues<W: Work> {
    queues: HashMap<W::Key, Row<W>>,
    /// Lock rows with items that wait and no transaction, each once; the next one first.
    ready: VecDeque<W::Key>,
    lanes: usize,
}

/// What waits for one lock row.
struct Row<W: Work> {
    queue: Queue<W>,
    busy: bool,
}

/// What left the queues for one transaction.
pub(super) struct Taken<W: Work> {
    /// To be written; items of one lock row are next to each other.
    pub batch: Vec<(W::Key, Waiting<W>)>,
    /// The lock rows, each once: busy until they are given back.
    pub keys: Vec<W::Key>,
    /// Items whose callers had gone, and their bytes: nobody hears of them, so they are not begun.
    pub abandoned: (usize, usize),
}

impl<W: Work> Default for TenantQueues<W> {
    fn default() -> Self {
        Self { queues: HashMap::new(), ready: VecDeque::new(), lanes: 0 }
    }
}

impl<W: Work> TenantQueues<W> {
    /// Adds an item. True: a lane must begin, and is counted already.
    pub fn push(&mut self, key: W::Key, waiting: Waiting<W>) -> bool {
        let row = self.queues.entry(key).or_insert_with(|| {
            self.ready.push_back(key);
            Row { queue: Queue::default(), busy: false }
        });
        row.queue.push(waiting);
        !row.busy && self.wants_lane()
    }

    /// Whether one more lane has something to do. True: it is counted already.
    pub fn wants_lane(&mut self) -> bool {
        let most = W::LANES.saturating_add(usize::from(self.is_stuck()));
        // Lanes that have not taken anything yet will take what is ready.
        let wanted = !self.ready.is_empty() && self.lanes < most.min(self.queues.len());
        self.lanes += usize::from(wanted);
        wanted
    }

    fn is_stuck(&self) -> bool {
        let longest = self.ready.front().and_then(|key| self.queues.get(key)?.queue.oldest());
        longest.is_some_and(|since| since.elapsed() > STUCK)
    }

    /// What a lane writes next, at most `most` items. No keys: nothing is ready, and the lane has ended.
    pub fn take(&mut self, most: usize) -> Taken<W> {
        let mut taken = Taken { batch: Vec::new(), keys: Vec::new(), abandoned: (0, 0) };
        while taken.batch.len() < most && taken.keys.len() < W::KEYS {
            let Some(key) = self.ready.pop_front() else { break };
            let Some(row) = self.queues.get_mut(&key) else { continue };
            let before = taken.batch.len();
            let (items, bytes) = row.queue.take(most - before, |waiting| taken.batch.push((key, waiting)));
            taken.abandoned = (taken.abandoned.0 + items, taken.abandoned.1 + bytes);
            if taken.batch.len() > before {
                row.busy = true;
                taken.keys.push(key);
            } else {
                self.queues.remove(&key);
            }
        }
        if taken.keys.is_empty() {
            self.lanes = self.lanes.saturating_sub(1);
        }
        taken
    }

    /// Lock rows whose transaction has ended; queues with nothing in them are forgotten.
    pub fn give_back(&mut self, keys: &[W::Key]) {
        for key in keys {
            let Some(row) = self.queues.get_mut(key) else { continue };
            row.busy = false;
            if row.queue.is_empty() {
                self.queues.remove(key);
            } else {
                self.ready.push_back(*key);
            }
        }
    }

    /// Ends a lane if nothing is ready. Else it goes on.
    pub fn end_lane(&mut self) -> bool {
        let ends = self.ready.is_empty();
        self.lanes = self.lanes.saturating_sub(usize::from(ends));
        ends
    }

    /// A lane ended without having been told to.
    pub fn lost_lane(&mut self) {
        self.lanes = self.lanes.saturating_sub(1);
    }

    /// Nothing waits and nothing is written.
    pub fn is_idle(&self) -> bool {
        self.queues.is_empty() && self.lanes == 0
    }

    /// Since when the first of all waits.
    pub fn oldest(&self) -> Option<Instant> {
        self.queues.values().filter_map(|row| row.queue.oldest()).min()
    }

    /// Takes those out that came at this instant or before.
    pub fn take_until(&mut self, latest: Instant) -> Vec<Waiting<W>> {
        self.queues.values_mut().flat_map(|row| row.queue.take_until(latest)).collect()
    }
}
