//! Properties of the queue, whatever waits in it.

use std::time::Duration;

use deadpool_postgres::Object;
use proptest::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Work;
use super::queue::{Queue, Waiting};
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

    fn tenant(key: &i64) -> i64 {
        *key
    }

    fn bytes(_: &Item) -> usize {
        1
    }

    fn operations(item: &Item) -> Option<[u64; 2]> {
        Some(item.operations)
    }

    async fn run(&self, _: Object, _: &i64, items: &[Item]) -> Result<Vec<()>, Error> {
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
    let mut all = operations.iter().enumerate().map(|(at, operations)| {
        let (mut waiting, verdict) = waiting(*operations, at);
        waiting.since = since(at);
        (waiting, verdict)
    });
    let (first, verdict) = all.next().expect("one at least");
    let (mut queue, mut verdicts) = (Queue::of(first), vec![verdict]);
    for (item, verdict) in all {
        queue.push(item);
        verdicts.push(verdict);
    }
    (queue, verdicts)
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
            let taken = queue.take(most);
            prop_assert!(taken.batch.len() <= most);
            prop_assert!(!taken.batch.is_empty() || taken.abandoned.0 > 0, "it comes to an end");
            abandoned += taken.abandoned.0;
            for (at, one) in taken.batch.iter().enumerate() {
                for other in &taken.batch[..at] {
                    prop_assert!(one.item.operations.iter().all(|it| !other.item.operations.contains(it)));
                }
            }
            left.extend(taken.batch.into_iter().map(|waiting| waiting.item));
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
        let rest: Vec<usize> = queue.take(usize::MAX).batch.iter().map(|waiting| waiting.item.arrived).collect();
        prop_assert_eq!(rest, (late.min(count)..count).collect::<Vec<_>>());
    }
}
