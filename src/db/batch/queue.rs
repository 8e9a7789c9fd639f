//! What waits for one lock row, in order. Two items of one operation never leave in the same batch: the second stays,
//! and so does whatever of the same operation is behind it.

use std::collections::{HashSet, VecDeque};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Work;
use crate::db::Error;

/// An item that waits, and where its verdict goes.
pub(super) struct Waiting<W: Work> {
    pub item: W::Item,
    pub bytes: usize,
    pub since: Instant,
    pub answer: oneshot::Sender<Result<W::Verdict, Error>>,
    operations: Option<[u64; 2]>,
}

impl<W: Work> Waiting<W> {
    pub fn new(item: W::Item, answer: oneshot::Sender<Result<W::Verdict, Error>>) -> Self {
        let (bytes, operations) = (W::bytes(&item), W::operations(&item));
        Self { item, bytes, since: Instant::now(), answer, operations }
    }
}

/// The items that wait.
pub(super) struct Queue<W: Work> {
    waiting: VecDeque<Waiting<W>>,
}

/// What left a queue.
pub(super) struct Taken<W: Work> {
    /// To be written.
    pub batch: Vec<Waiting<W>>,
    /// Items whose callers had gone, and their bytes: nobody hears of them, so they are not begun.
    pub abandoned: (usize, usize),
}

impl<W: Work> Queue<W> {
    pub fn of(first: Waiting<W>) -> Self {
        Self { waiting: VecDeque::from([first]) }
    }

    pub fn push(&mut self, waiting: Waiting<W>) {
        self.waiting.push_back(waiting);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a batch of at most `most` items.
    pub fn take(&mut self, most: usize) -> Taken<W> {
        let mut batch = Vec::with_capacity(most.min(self.waiting.len()));
        let mut abandoned = (0, 0);
        let mut seen: HashSet<u64> = HashSet::with_capacity(2 * batch.capacity());
        let mut kept = VecDeque::new();
        while batch.len() < most {
            let Some(waiting) = self.waiting.pop_front() else { break };
            if waiting.answer.is_closed() {
                abandoned = (abandoned.0 + 1, abandoned.1 + waiting.bytes);
            } else if waiting.operations.iter().flatten().any(|operation| seen.contains(operation)) {
                // Both are noted also for an item that stays: nothing of it is overtaken.
                seen.extend(waiting.operations.iter().flatten());
                kept.push_back(waiting);
            } else {
                seen.extend(waiting.operations.iter().flatten());
                batch.push(waiting);
            }
        }
        // What stays was in front of what was not looked at.
        kept.append(&mut self.waiting);
        self.waiting = kept;
        Taken { batch, abandoned }
    }

    /// Since when the first of them waits.
    pub fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|waiting| waiting.since)
    }

    /// Takes those out that came at this instant or before.
    pub fn take_until(&mut self, latest: Instant) -> Vec<Waiting<W>> {
        let count = self.waiting.partition_point(|waiting| waiting.since <= latest);
        self.waiting.drain(..count).collect()
    }
}
