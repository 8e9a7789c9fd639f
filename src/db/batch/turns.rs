//! Turns at the connections, fair between tenants: a bounded number at once, a lower bound for each tenant, and those
//! who wait are served tenant by tenant, not in the order of arrival. A tenant with fifty busy polls so delays
//! another one's single ballot by one batch, not by fifty.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Gives turns. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    per_tenant: usize,
    tenants: HashMap<i64, Tenant>,
    /// Tenants with somebody waiting and a turn to spare, the next one first.
    ring: VecDeque<i64>,
}

#[derive(Debug, Default)]
struct Tenant {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
    in_ring: bool,
}

/// A turn; its drop ends it.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    tenant_id: i64,
}

impl Turns {
    /// `total` turns at once, of which one tenant has at most `per_tenant`; at least one of each.
    pub fn new(total: usize, per_tenant: usize) -> Self {
        let state = State {
            free: total.max(1),
            per_tenant: per_tenant.max(1),
            tenants: HashMap::new(),
            ring: VecDeque::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Turns for a pool of `connections`: some are left to those who read, and some of the turns to the other
    /// tenants.
    pub fn for_pool(connections: usize) -> Self {
        let total = (connections * 3 / 4).max(1);
        Self::new(total, (total * 3 / 4).max(1))
    }

    /// Waits for a turn.
    pub async fn take(&self, tenant_id: i64) -> Turn {
        loop {
            let waiting = {
                let mut state = self.lock();
                let per_tenant = state.per_tenant;
                let free = state.free;
                let tenant = state.tenants.entry(tenant_id).or_default();
                if free > 0 && tenant.running < per_tenant && tenant.waiting.is_empty() {
                    tenant.running += 1;
                    state.free -= 1;
                    return self.turn(tenant_id);
                }
                let (sender, receiver) = oneshot::channel();
                tenant.waiting.push_back(sender);
                if tenant.running < per_tenant && !tenant.in_ring {
                    tenant.in_ring = true;
                    state.ring.push_back(tenant_id);
                }
                receiver
            };
            if let Ok(turn) = waiting.await {
                return turn;
            }
        }
    }

    fn turn(&self, tenant_id: i64) -> Turn {
        Turn { turns: self.clone(), tenant_id }
    }

    fn give_back(&self, tenant_id: i64) {
        let next: Vec<_> = {
            let mut state = self.lock();
            state.give_back(tenant_id);
            std::iter::from_fn(|| state.next()).collect()
        };
        for (tenant_id, sender) in next {
            // A turn that nobody waits for any more comes back and is dropped, which gives it to the next.
            drop(sender.send(self.turn(tenant_id)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn give_back(&mut self, tenant_id: i64) {
        self.free += 1;
        let Some(tenant) = self.tenants.get_mut(&tenant_id) else { return };
        tenant.running = tenant.running.saturating_sub(1);
        if tenant.waiting.is_empty() && tenant.running == 0 {
            self.tenants.remove(&tenant_id);
        } else if !tenant.waiting.is_empty() && !tenant.in_ring {
            tenant.in_ring = true;
            self.ring.push_back(tenant_id);
        }
    }

    /// Who gets the next turn, if there is one.
    fn next(&mut self) -> Option<(i64, oneshot::Sender<Turn>)> {
        while self.free > 0 {
            let tenant_id = self.ring.pop_front()?;
            let Some(tenant) = self.tenants.get_mut(&tenant_id) else { continue };
            tenant.in_ring = false;
            if tenant.running >= self.per_tenant {
                continue;
            }
            let Some(sender) = tenant.waiting.pop_front() else { continue };
            tenant.running += 1;
            self.free -= 1;
            if !tenant.waiting.is_empty() && tenant.running < self.per_tenant {
                tenant.in_ring = true;
                self.ring.push_back(tenant_id);
            }
            return Some((tenant_id, sender));
        }
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.give_back(self.tenant_id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

    use super::*;

    #[test]
    fn a_tenant_that_waits_with_many_delays_another_by_one_turn_only() {
        let turns = Turns::new(1, 2);
        let mut running = vec![turns.take(1).now_or_never().expect("free")];
        let mut crowd: Vec<_> = (0..10).map(|_| Box::pin(turns.take(1))).collect();
        for waiting in &mut crowd {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        let mut single = Box::pin(turns.take(2));
        assert!(single.as_mut().now_or_never().is_none());
        running.clear();
        let first = crowd[0].as_mut().now_or_never().expect("tenant 1 was next in the ring");
        assert!(single.as_mut().now_or_never().is_none());
        drop(first);
        assert!(single.as_mut().now_or_never().is_some(), "tenant 2 comes before the rest of the crowd");
    }

    #[test]
    fn no_tenant_takes_every_turn() {
        let turns = Turns::new(4, 3);
        let held: Vec<_> = (0..3).map(|_| turns.take(1).now_or_never().expect("free")).collect();
        assert!(turns.take(1).now_or_never().is_none());
        assert!(turns.take(2).now_or_never().is_some());
        drop(held);
        assert!(turns.take(1).now_or_never().is_some());
    }

    #[test]
    fn a_turn_that_nobody_waits_for_any_more_is_lost_to_nobody() {
        let turns = Turns::new(1, 1);
        let held = turns.take(1).now_or_never().expect("free");
        for tenant in [1, 2, 2, 3] {
            let mut gone = Box::pin(turns.take(tenant));
            assert!(gone.as_mut().now_or_never().is_none());
        }
        drop(held);
        assert!(turns.take(9).now_or_never().is_some());
        assert!(turns.lock().tenants.is_empty(), "idle tenants are forgotten");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn however_many_take_turns_the_bounds_hold_and_everybody_comes() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        let turns = Turns::new(5, 2);
        let running = Arc::new([const { AtomicUsize::new(0) }; 4]);
        let tasks = (0..2000_usize).map(|number| {
            let (turns, running) = (turns.clone(), Arc::clone(&running));
            let tenant = number % 3;
            #[allow(clippy::disallowed_methods)]
            tokio::spawn(async move {
                let turn = turns.take(i64::try_from(tenant).expect("small")).await;
                assert!(running[tenant].fetch_add(1, SeqCst) < 2);
                assert!(running[3].fetch_add(1, SeqCst) < 5);
                tokio::task::yield_now().await;
                running[tenant].fetch_sub(1, SeqCst);
                running[3].fetch_sub(1, SeqCst);
                drop(turn);
            })
        });
        for task in join_all(tasks).await {
            task.expect("within its bounds");
        }
        assert_eq!(turns.lock().free, 5);
    }
}
