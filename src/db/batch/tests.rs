//! Properties of the queue, whatever waits in it.

use std::collections::HashMap;
use std::time::Duration;

use deadpool_postgres::Object;
use proptest::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Work;
use super::queue::{Queue, Waiting};
use super::tenant::TenantQueues;
use crate::db::Error;

struct Numbers;

/// Which operation, and the place in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    operations: [u64; 2],
    arrived: usize,
}

impl Work for Numbers {
    type Key = i64;
    type Item = Item;
    type Verdict = ();
    const NAME: &'static str = "test";
    const KEYS: usize = 3;
    const LANES: usize = 2;

    fn tenant(_: &i64) -> i64 {
        0
    }

    fn bytes(_: &Item) -> usize {
        1
    }

    fn operations(item: &Item) -> Option<[u64; 2]> {
        Some(item.operations)
    }

    async fn run(&self, _: Object, _: &[i64], items: &[Item]) -> Result<Vec<()>, Error> {
        Ok(vec![(); items.len()])
    }
}

type Verdict = oneshot::Receiver<Result<(), Error>>;

fn waiting(operations: [u64; 2], arrived: usize) -> (Waiting<Numbers>, Verdict) {
    let (sender, receiver) = oneshot::channel();
    (Waiting::new(Item { operations, arrived }, sender), receiver)
}

fn queue(operations: &[[u64; 2]]) -> (Queue<Numbers>, Vec<Verdict>) {
    queue_since(operations, |_| Instant::now())
}

fn queue_since(operations: &[[u64; 2]], since: impl Fn(usize) -> Instant) -> (Queue<Numbers>, Vec<Verdict>) {
    let all = operations.iter().enumerate().map(|(at, operations)| {
        let (mut waiting, verdict) = waiting(*operations, at);
        waiting.since = since(at);
        (waiting, verdict)
    });
    let (mut queue, mut verdicts) = (Queue::default(), Vec::new());
    for (item, verdict) in all {
        queue.push(item);
        verdicts.push(verdict);
    }
    (queue, verdicts)
}

fn take(queue: &mut Queue<Numbers>, most: usize) -> (Vec<Item>, usize) {
    let mut batch = Vec::new();
    let (abandoned, _) = queue.take(most, |waiting| batch.push(waiting.item));
    (batch, abandoned)
}

proptest! {
    #[test]
    fn batches_hold_one_item_of_an_operation_keep_their_order_and_lose_nothing(
        operations in proptest::collection::vec([0..6_u64, 0..6_u64], 1..60),
        most in 1..20_usize,
        gone in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let (mut queue, verdicts) = queue(&operations);
        let mut here = Vec::new();
        for (verdict, gone) in verdicts.into_iter().zip(&gone) {
            if !gone {
                here.push(verdict);
            }
        }
        let (mut left, mut abandoned) = (Vec::new(), 0);
        while !queue.is_empty() {
            let (batch, gone) = take(&mut queue, most);
            prop_assert!(batch.len() <= most);
            prop_assert!(!batch.is_empty() || gone > 0, "it comes to an end");
            abandoned += gone;
            for (at, one) in batch.iter().enumerate() {
                for other in &batch[..at] {
                    prop_assert!(one.operations.iter().all(|it| !other.operations.contains(it)));
                }
            }
            left.extend(batch);
        }
        prop_assert_eq!(left.len() + abandoned, operations.len());
        prop_assert_eq!(left.len(), here.len());
        for (at, later) in left.iter().enumerate() {
            for earlier in &left[..at] {
                let shared = later.operations.iter().any(|it| earlier.operations.contains(it));
                prop_assert!(!shared || earlier.arrived < later.arrived, "no overtaking");
            }
        }
    }

    #[test]
    fn who_has_waited_too_long_is_taken_out_and_the_rest_stays_in_order(
        count in 1..20_usize,
        late in 0..25_usize,
    ) {
        let operations: Vec<[u64; 2]> = (0..count).map(|at| [u64::try_from(at).expect("small"); 2]).collect();
        let begun = Instant::now();
        let millis = |count: usize| Duration::from_millis(u64::try_from(count).expect("small"));
        let (mut queue, _verdicts) = queue_since(&operations, |arrived| begun + millis(arrived));
        let latest = begun + millis(late) - Duration::from_micros(1);
        let taken: Vec<usize> = queue.take_until(latest).iter().map(|waiting| waiting.item.arrived).collect();
        prop_assert_eq!(taken, (0..count.min(late)).collect::<Vec<_>>());
        prop_assert_eq!(queue.oldest().is_some(), late < count);
        let rest: Vec<usize> = take(&mut queue, usize::MAX).0.iter().map(|item| item.arrived).collect();
        prop_assert_eq!(rest, (late.min(count)..count).collect::<Vec<_>>());
    }
    /// Lanes that push, take and give back in any order.
    #[test]
    fn a_lock_row_is_taken_by_one_lane_and_what_is_ready_has_a_lane(
        steps in proptest::collection::vec((0..3_u8, 0..8_i64, any::<bool>()), 1..200),
        most in 1..6_usize,
    ) {
        let mut queues = TenantQueues::<Numbers>::default();
        let (mut pushed, mut written) = (HashMap::<i64, Vec<usize>>::new(), HashMap::<i64, Vec<usize>>::new());
        let (mut verdicts, mut lanes, mut held) = (Vec::new(), 0_usize, Vec::<Vec<i64>>::new());
        // After the steps, lanes take and give back until they have ended.
        let rest = std::iter::repeat_n((1, 0, false), 4_000);
        for (at, (step, key, gone)) in steps.into_iter().chain(rest).enumerate() {
            match step {
                0 => {
                    let (item, verdict) = waiting([u64::try_from(at).expect("small"); 2], at);
                    lanes += usize::from(queues.push(key, item));
                    if gone {
                        drop(verdict);
                    } else {
                        verdicts.push(verdict);
                        pushed.entry(key).or_default().push(at);
                    }
                }
                1 if lanes > held.len() => {
                    let taken = queues.take(most);
                    prop_assert!(taken.batch.len() <= most && taken.keys.len() <= Numbers::KEYS);
                    for (key, waiting) in &taken.batch {
                        prop_assert!(taken.keys.contains(key));
                        written.entry(*key).or_default().push(waiting.item.arrived);
                    }
                    prop_assert!(taken.keys.iter().all(|key| held.iter().flatten().all(|other| other != key)));
                    if taken.keys.is_empty() {
                        lanes -= 1;
                    } else {
                        held.push(taken.keys);
                    }
                }
                _ => if let Some(keys) = held.pop() {
                    queues.give_back(&keys);
                    lanes += usize::from(queues.wants_lane());
                    lanes -= usize::from(queues.end_lane());
                },
            }
            prop_assert!(lanes <= Numbers::LANES + 1);
        }
        prop_assert_eq!(lanes, 0);
        prop_assert!(queues.is_idle(), "nothing is left, and nobody to empty it");
        prop_assert_eq!(pushed, written, "each in its order of arrival");
    }
}
