//! Lanes of group commit with a work of the test's own: which lock rows share a transaction, how many run at once, and
//! what a defect of one batch leaves behind.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use futures_util::future::{join, join_all};
use resolute::config::Config;
use resolute::db::Error;
use resolute::db::batch::{Batcher, Bounds, Turns, Work};

use crate::support::TestApp;

type Key = (i64, u32);

/// An item whose transaction takes three seconds.
const STANDS_STILL: u32 = u32::MAX;

#[derive(Default)]
struct Seen {
    /// Lock rows in a transaction at this moment.
    busy: HashSet<Key>,
    running: usize,
    most_running: usize,
    most_keys: usize,
    batches: usize,
}

struct Watched {
    seen: Arc<Mutex<Seen>>,
    panics: Arc<AtomicUsize>,
}

impl Work for Watched {
    type Key = Key;
    type Item = u32;
    type Verdict = (Key, u32);
    const NAME: &'static str = "watched";
    const KEYS: usize = 3;
    const LANES: usize = 2;

    fn tenant(key: &Key) -> i64 {
        key.0
    }

    fn bytes(_: &u32) -> usize {
        1
    }

    fn operations(_: &u32) -> Option<[u64; 2]> {
        None
    }

    async fn run(&self, _: Object, keys: &[Key], items: &[u32]) -> Result<Vec<(Key, u32)>, Error> {
        let mut distinct = keys.to_vec();
        distinct.dedup();
        {
            let mut seen = self.seen.lock().expect("the watch");
            for key in &distinct {
                assert_eq!(key.0, distinct[0].0, "one tenant");
                assert!(seen.busy.insert(*key), "{key:?} is in two transactions, or apart in one");
            }
            seen.running += 1;
            seen.batches += 1;
            seen.most_running = seen.most_running.max(seen.running);
            seen.most_keys = seen.most_keys.max(distinct.len());
        }
        let time = if items.contains(&STANDS_STILL) { 3_000 } else { 2 };
        tokio::time::sleep(Duration::from_millis(time)).await;
        {
            let mut seen = self.seen.lock().expect("the watch");
            seen.busy.retain(|key| !distinct.contains(key));
            seen.running -= 1;
        }
        let left = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(left.is_err(), "a defect, on purpose");
        Ok(keys.iter().copied().zip(items.iter().copied()).collect())
    }
}

fn batcher(app: &TestApp, panics: usize) -> (Batcher<Watched>, Arc<Mutex<Seen>>, Arc<AtomicUsize>) {
    let (seen, panics) = (Arc::default(), Arc::new(AtomicUsize::new(panics)));
    let work = Watched { seen: Arc::clone(&seen), panics: Arc::clone(&panics) };
    let (db, ids, tasks) = (app.db().clone(), app.app.ids.clone(), app.app.tasks.clone());
    let bounds = Bounds::from(&Config::default());
    (Batcher::new(work, db, ids, tasks, Turns::new(8, 8), bounds), seen, panics)
}

async fn submit(batcher: &Batcher<Watched>, key: Key, item: u32) -> Result<(), Error> {
    let verdict = batcher.submit(&key, item).await?;
    assert_eq!(verdict, (key, item), "the verdict is the item's own");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_row_is_in_one_transaction_at_a_time_and_a_tenant_in_no_more_than_its_lanes() {
    let app = TestApp::start().await;
    let (batcher, seen, _) = batcher(&app, 0);
    let items = (0..2_000_u32).map(|number| {
        let batcher = batcher.clone();
        async move {
            tokio::time::sleep(Duration::from_micros(u64::from(number) * 50)).await;
            submit(&batcher, (1, number % 17), number).await
        }
    });
    let answers: Vec<Result<(), Error>> = join_all(items).await;
    assert!(answers.iter().all(Result::is_ok));
    let seen = seen.lock().expect("the watch");
    assert_eq!(seen.most_keys, 3, "the lock rows that the work allows");
    assert!((2..=3).contains(&seen.most_running), "its lanes, and one more where the machine is slow");
    assert!(seen.batches < 1_000, "{} transactions", seen.batches);
    assert_eq!(batcher.stats(Some(1)).waiting.items, 0);
}

/// Of those in its batch nobody is told of success, and whoever waits behind them is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_that_panics_takes_nobody_with_it() {
    let app = TestApp::start().await;
    let (batcher, _, panics) = batcher(&app, 5);
    let items = (0..300_u32).map(|number| {
        let batcher = batcher.clone();
        async move {
            tokio::time::sleep(Duration::from_micros(u64::from(number) * 200)).await;
            submit(&batcher, (i64::from(number % 2), number % 5), number).await
        }
    });
    let answers: Vec<Result<(), Error>> =
        tokio::time::timeout(Duration::from_secs(20), join_all(items)).await.expect("everybody is answered");
    let lost = answers.iter().filter(|answer| matches!(answer, Err(Error::OutcomeUnknown(_)))).count();
    let written = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(lost + written, 300, "{answers:?}");
    assert!(lost >= 5 && written > 150, "{lost} lost");
    assert_eq!(panics.load(Ordering::SeqCst), 0);
    submit(&batcher, (1, 1), 1).await.expect("it goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lanes_that_stand_still_get_another_beside_them() {
    let app = TestApp::start().await;
    let (batcher, _, _) = batcher(&app, 0);
    let at = |millis: u64, row: u32, item: u32| {
        let batcher = batcher.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            let begun = Instant::now();
            submit(&batcher, (1, row), item).await.expect("written");
            begun.elapsed()
        }
    };
    let still = join(at(0, 0, STANDS_STILL), at(50, 1, STANDS_STILL));
    let (_, (waited, (at_once, behind))) =
        join(still, join(at(100, 2, 1), join(at(150, 3, 1), at(450, 0, 1)))).await;
    assert!(waited < Duration::from_secs(1) && at_once < Duration::from_secs(1), "{waited:?} {at_once:?}");
    assert!(behind > Duration::from_secs(1), "a lock row is in one transaction at a time: {behind:?}");
}
