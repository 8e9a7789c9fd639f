//! What waits in the queues of one kind of work and what was taken from them, in all and by tenant. Counted under the
//! queues' lock, so that the bounds are exact.

use std::collections::HashMap;

use serde::Serialize;

use super::Work;
use super::tenant::Taken;

/// Tenants that are counted one by one after their queues are empty; the counts of further ones are in the total only.
const MOST_TENANTS: usize = 10_000;

/// What waits, and the most that ever waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// Items.
    pub items: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Most items at once since the start.
    pub peak_items: usize,
}

/// The queues of one kind of work, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// The kind.
    pub queue: &'static str,
    /// What waits now.
    pub waiting: Depth,
    /// Transactions.
    pub batches: u64,
    /// Items in them.
    pub items: u64,
    /// The largest of them.
    pub largest: usize,
    /// Items refused because a bound was reached.
    pub refused: u64,
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    all: Count,
    tenants: HashMap<i64, Count>,
}

#[derive(Debug, Default, Clone)]
struct Count {
    depth: Depth,
    batches: u64,
    items: u64,
    largest: usize,
    refused: u64,
}

impl Count {
    fn come(&mut self, bytes: usize) {
        self.depth.items += 1;
        self.depth.bytes += bytes;
        self.depth.peak_items = self.depth.peak_items.max(self.depth.items);
    }

    fn go(&mut self, items: usize, bytes: usize) {
        self.depth.items = self.depth.items.saturating_sub(items);
        self.depth.bytes = self.depth.bytes.saturating_sub(bytes);
    }

    fn batch(&mut self, items: usize) {
        if items > 0 {
            self.batches += 1;
            self.items += u64::try_from(items).unwrap_or(u64::MAX);
            self.largest = self.largest.max(items);
        }
    }

    fn stats(&self, queue: &'static str) -> Stats {
        let Self { depth, batches, items, largest, refused } = self.clone();
        Stats { queue, waiting: depth, batches, items, largest, refused }
    }
}

impl Tally {
    /// Lets an item in if all of them together stay within `bound` bytes and its tenant's within half of it. One item
    /// is always let in where none waits.
    pub fn admit(&mut self, tenant_id: i64, bytes: usize, bound: usize) -> bool {
        let fits = |depth: &Depth, bound: usize| depth.items == 0 || depth.bytes + bytes <= bound;
        let tenant = self.of(tenant_id);
        if !fits(&tenant.depth, bound / 2) {
            tenant.refused += 1;
            self.all.refused += 1;
            return false;
        }
        if !fits(&self.all.depth, bound) {
            self.of(tenant_id).refused += 1;
            self.all.refused += 1;
            return false;
        }
        self.of(tenant_id).come(bytes);
        self.all.come(bytes);
        true
    }

    /// An item was taken back.
    pub fn forget(&mut self, tenant_id: i64, bytes: usize) {
        self.all.go(1, bytes);
        self.of(tenant_id).go(1, bytes);
    }

    /// A batch was taken.
    pub fn taken<W: Work>(&mut self, tenant_id: i64, taken: &Taken<W>) {
        let (gone, gone_bytes) = taken.abandoned;
        let bytes: usize = taken.batch.iter().map(|(_, waiting)| waiting.bytes).sum();
        let items = taken.batch.len();
        for count in [&mut self.all, self.tenants.entry(tenant_id).or_default()] {
            count.go(items + gone, bytes + gone_bytes);
            count.batch(items);
        }
    }

    /// What waits in all.
    pub fn depth(&self) -> Depth {
        self.all.depth
    }

    /// For people: of all, or of one tenant.
    pub fn stats(&self, queue: &'static str, tenant_id: Option<i64>) -> Stats {
        match tenant_id {
            None => self.all.stats(queue),
            Some(tenant_id) => self.tenants.get(&tenant_id).unwrap_or(&Count::default()).stats(queue),
        }
    }

    fn of(&mut self, tenant_id: i64) -> &mut Count {
        if self.tenants.len() >= MOST_TENANTS && !self.tenants.contains_key(&tenant_id) {
            self.tenants.retain(|_, count| count.depth.items > 0);
        }
        self.tenants.entry(tenant_id).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_holds_half_of_the_bound_and_all_together_the_whole() {
        let mut tally = Tally::default();
        assert_eq!((0..10).filter(|_| tally.admit(1, 10, 100)).count(), 5);
        assert_eq!((0..10).filter(|_| tally.admit(2, 10, 100)).count(), 5);
        assert!(!tally.admit(3, 10, 100));
        assert_eq!(tally.stats("test", Some(1)).refused, 5);
    }

    #[test]
    fn an_item_larger_than_the_bound_is_let_in_where_nothing_waits() {
        let mut tally = Tally::default();
        assert!(tally.admit(1, 1000, 100));
        assert!(!tally.admit(1, 1, 100));
        tally.forget(1, 1000);
        assert!(tally.admit(1, 1, 100));
        assert_eq!(tally.depth(), Depth { items: 1, bytes: 1, peak_items: 1 });
    }

    #[test]
    fn idle_tenants_are_forgotten_when_there_are_many() {
        let mut tally = Tally::default();
        for tenant in 0..30_000 {
            assert!(tally.admit(tenant, 1, 100));
            tally.forget(tenant, 1);
        }
        assert!(tally.tenants.len() <= MOST_TENANTS);
    }
}
