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

impl<W: Work> Default for Queue<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<W: Work> Queue<W> {
    pub fn push(&mut self, waiting: Waiting<W>) {
        self.waiting.push_back(waiting);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a batch of at most `most` items. Those whose callers had gone are left out: how many, and their bytes.
    pub fn take(&mut self, most: usize, mut batch: impl FnMut(Waiting<W>)) -> (usize, usize) {
        let (mut taken, mut abandoned) = (0, (0, 0));
        let mut seen: HashSet<u64> = HashSet::with_capacity(2 * most.min(self.waiting.len()));
        let mut kept = VecDeque::new();
        while taken < most {
            let Some(waiting) = self.waiting.pop_front() else { break };
            if waiting.answer.is_closed() {
                abandoned = (abandoned.0 + 1, abandoned.1 + waiting.bytes);
                continue;
            }
            let apart = waiting.operations.iter().flatten().all(|operation| !seen.contains(operation));
            // Both are noted also for an item that stays: nothing of it is overtaken.
            seen.extend(waiting.operations.iter().flatten());
            if apart {
                taken += 1;
                batch(waiting);
            } else {
                kept.push_back(waiting);
            }
        }
        // What stays was in front of what was not looked at.
        kept.append(&mut self.waiting);
        self.waiting = kept;
        abandoned
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
