//! A lane: one transaction of a tenant after the other, until nothing is ready any more.

use std::sync::Arc;

use tokio::time::Instant;

use super::flush::Part;
use super::queue::Waiting;
use super::tenant::{STUCK, TenantQueues};
use super::{Inner, Work};
use crate::db::Error;

impl<W: Work> Inner<W> {
    /// Begins a lane that [`TenantQueues`] has counted.
    pub(super) fn begin_lane(self: &Arc<Self>, tenant_id: i64) {
        let held = Held { inner: Arc::clone(self), tenant_id, keys: Vec::new(), is_lane: true };
        self.tasks.spawn_short(lane(held));
    }

    /// The next batch; none: nothing is ready, and the lane has ended.
    fn take(&self, tenant_id: i64) -> Option<(Vec<W::Key>, Part<W>)> {
        let mut queues = self.lock();
        let waiting = queues.tenants.get_mut(&tenant_id)?;
        let taken = waiting.take(self.bounds.batch_items);
        if waiting.is_idle() {
            queues.tenants.remove(&tenant_id);
        }
        queues.tally.taken(tenant_id, &taken);
        drop(queues);
        self.meters.taken(&taken, self.bounds.batch_items);
        (!taken.keys.is_empty()).then(|| (taken.keys, Part::of(taken.batch)))
    }

    /// Ends the lane if nothing is ready.
    fn end_lane(&self, tenant_id: i64) -> bool {
        let mut queues = self.lock();
        let Some(waiting) = queues.tenants.get_mut(&tenant_id) else { return true };
        let ended = waiting.end_lane();
        if waiting.is_idle() {
            queues.tenants.remove(&tenant_id);
        }
        ended
    }

    /// Without end: sends away those who have waited too long, and begins another lane where those there are stand still.
    /// One clock for a lane, because one for each item is a timer set and cleared for every write.
    async fn watch(self: &Arc<Self>, tenant_id: i64) {
        loop {
            let oldest = self.lock().tenants.get(&tenant_id).and_then(TenantQueues::oldest);
            let late = oldest.unwrap_or_else(Instant::now) + self.bounds.wait;
            let still = Instant::now() + if W::LANES == usize::MAX { self.bounds.wait } else { STUCK };
            tokio::time::sleep_until(late.min(still)).await;
            self.send_away(tenant_id);
            if self.lock().tenants.get_mut(&tenant_id).is_some_and(TenantQueues::wants_lane) {
                self.begin_lane(tenant_id);
            }
        }
    }

    fn send_away(&self, tenant_id: i64) {
        let Some(latest) = Instant::now().checked_sub(self.bounds.wait) else { return };
        let mut queues = self.lock();
        let late: Vec<Waiting<W>> =
            queues.tenants.get_mut(&tenant_id).map(|waiting| waiting.take_until(latest)).unwrap_or_default();
        for waiting in &late {
            queues.tally.forget(tenant_id, waiting.bytes);
        }
        drop(queues);
        for waiting in late {
            self.meters.late.increment(1);
            // A caller who has gone is told nothing.
            let _ = waiting.answer.send(Err(Error::Timeout("no transaction took the write in time".into())));
        }
    }
}

async fn lane<W: Work>(mut held: Held<W>) {
    let (inner, tenant_id) = (Arc::clone(&held.inner), held.tenant_id);
    watched(&inner, tenant_id, write_all(&mut held)).await;
}

/// One lock row that others shall not wait for.
async fn alone<W: Work>(mut held: Held<W>, part: Part<W>) {
    let (inner, tenant_id) = (Arc::clone(&held.inner), held.tenant_id);
    watched(&inner, tenant_id, write_alone(&mut held, part)).await;
}

/// Whoever waits behind this is sent away in time.
async fn watched<W: Work>(inner: &Arc<Inner<W>>, tenant_id: i64, writing: impl Future<Output = ()>) {
    tokio::select! {
        () = writing => {}
        () = inner.watch(tenant_id) => {}
    }
}

async fn write_all<W: Work>(held: &mut Held<W>) {
    let (inner, tenant_id) = (Arc::clone(&held.inner), held.tenant_id);
    loop {
        // Turn and connection first: whatever arrives meanwhile is in the batch.
        let turn = inner.turns.take(tenant_id).await;
        let client = inner.db.hot().await;
        let Some((keys, batch)) = inner.take(tenant_id) else {
            held.is_lane = false;
            break;
        };
        held.keys = keys;
        for part in inner.flush(client, batch).await {
            held.hand_over(part);
        }
        drop(turn);
        held.give_back();
        // Before it waits for a turn and a connection: what comes next shall not get a connection's error that is
        // older than itself.
        if inner.end_lane(tenant_id) {
            held.is_lane = false;
            break;
        }
    }
}

async fn write_alone<W: Work>(held: &mut Held<W>, part: Part<W>) {
    let inner = Arc::clone(&held.inner);
    let turn = inner.turns.take(held.tenant_id).await;
    let client = inner.db.hot().await;
    let left = inner.flush(client, part).await;
    debug_assert!(left.is_empty(), "a part of one lock row is written or fails");
    drop(turn);
    held.give_back();
}

/// The lock rows of one transaction. Should it panic, its rows are given back and its lane begins anew: those in the
/// batch are answered by the drop of their channels, those who wait as if nothing had happened.
struct Held<W: Work> {
    inner: Arc<Inner<W>>,
    tenant_id: i64,
    keys: Vec<W::Key>,
    is_lane: bool,
}

impl<W: Work> Held<W> {
    /// Has a part written by itself, and keeps its lock row for it.
    fn hand_over(&mut self, part: Part<W>) {
        let Some(key) = part.key() else { return };
        self.keys.retain(|held| *held != key);
        let (inner, tenant_id) = (Arc::clone(&self.inner), self.tenant_id);
        let held = Self { inner, tenant_id, keys: vec![key], is_lane: false };
        self.inner.tasks.spawn_short(alone(held, part));
    }

    fn give_back(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let mut queues = self.inner.lock();
        let Some(waiting) = queues.tenants.get_mut(&self.tenant_id) else { return };
        waiting.give_back(&keys);
        let wants_lane = waiting.wants_lane();
        if waiting.is_idle() {
            queues.tenants.remove(&self.tenant_id);
        }
        drop(queues);
        if wants_lane {
            self.inner.begin_lane(self.tenant_id);
        }
    }
}

impl<W: Work> Drop for Held<W> {
    fn drop(&mut self) {
        // At a stop nothing begins any more, and there may be no runtime left.
        if !std::thread::panicking() {
            return;
        }
        if self.is_lane
            && let Some(waiting) = self.inner.lock().tenants.get_mut(&self.tenant_id)
        {
            waiting.lost_lane();
        }
        self.give_back();
    }
}
