//! Tells the other processes which names this one has changed, after the commit and beside the requests: a
//! NOTIFY inside a burst of commits would serialise them. Many changes are told together. What is lost here,
//! with the process or because too much waits, costs others no more than the life of a remembered name;
//! withdrawals, which must be seen sooner, are announced by their own transaction (see `write`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::known::{self, Known};
use crate::db::{self, Db, notify};

/// Most names that wait to be told of.
const WAITING: usize = 10_000;
/// When a change is told of again whose commit nobody has seen end.
const AGAIN: Duration = Duration::from_secs(1);
/// Pause after a failure, and how often it is tried.
const RETRY: (Duration, usize) = (Duration::from_millis(500), 5);

type Name = (i64, String);

/// Evicts here and announces elsewhere. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Announcer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    known: Arc<Known>,
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    now: HashSet<Name>,
    again: Vec<(Instant, Name)>,
}

impl Announcer {
    /// For the names that this process remembers.
    pub fn new(known: Arc<Known>) -> Self {
        Self(Arc::new(Inner { known, waiting: Mutex::default(), wake: Notify::new() }))
    }

    /// To be taken before a name is written, and told how that ended.
    pub fn writing(&self, domain_id: i64, name_key: &str) -> Writing<'_> {
        Writing { announcer: self, name: Some((domain_id, name_key.to_owned())) }
    }

    /// Tells of what is written, for ever.
    pub async fn run(&self, db: &Db) {
        loop {
            let due = self.lock().again.iter().map(|(at, _)| *at).min();
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = async { match due { Some(at) => sleep_until(at).await, None => std::future::pending().await } } => {}
            }
            let names = self.take();
            for (domain_id, name_key) in &names {
                self.0.known.evict(*domain_id, name_key);
            }
            for attempt in 1..=RETRY.1 {
                match send(db, &names).await {
                    Ok(()) => break,
                    Err(error) => tracing::warn!(%error, attempt, "changes of names could not be announced"),
                }
                sleep(RETRY.0).await;
            }
        }
    }

    /// What is due.
    fn take(&self) -> HashSet<Name> {
        let mut waiting = self.lock();
        let mut names = std::mem::take(&mut waiting.now);
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut waiting.again).into_iter().partition(|(at, _)| *at <= Instant::now());
        waiting.again = later;
        names.extend(due.into_iter().map(|(_, name)| name));
        names
    }

    fn push(&self, name: Name, again: bool) {
        let mut waiting = self.lock();
        if again && waiting.again.len() < WAITING {
            waiting.again.push((Instant::now() + AGAIN, name.clone()));
        }
        if waiting.now.len() < WAITING {
            waiting.now.insert(name);
        }
        drop(waiting);
        self.0.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send(db: &Db, names: &HashSet<Name>) -> Result<(), db::Error> {
    let items = names.iter().map(|(domain_id, name_key)| known::item(*domain_id, name_key));
    let payloads = notify::payloads(known::TOPIC, items);
    if payloads.is_empty() {
        return Ok(());
    }
    let client = db.hot().await?;
    let statement = notify::NOTIFY.prepare(&client).await?;
    client.execute(&statement, &[&payloads]).await?;
    Ok(())
}

/// A name that is being written. Dropped without [`Writing::here_only`] or [`Writing::changed`], as when the
/// client hangs up, it may be written or not, now or in a moment: it is evicted and announced twice.
#[derive(Debug)]
pub struct Writing<'a> {
    announcer: &'a Announcer,
    name: Option<Name>,
}

impl Writing<'_> {
    /// Others need not be told: it is new, so that nobody remembers where it points nor for long that it did not
    /// exist; or it was found in a state that another process has announced.
    pub fn here_only(mut self) {
        self.end();
    }

    /// It was changed and committed.
    pub fn changed(mut self) {
        if let Some(name) = self.end() {
            self.announcer.push(name, false);
        }
    }

    /// Nothing was written, that is certain.
    pub fn unwritten(mut self) {
        self.name = None;
    }

    fn end(&mut self) -> Option<Name> {
        let name = self.name.take()?;
        self.announcer.0.known.evict(name.0, &name.1);
        Some(name)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.end() {
            self.announcer.push(name, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::db::notify::Hearing;

    fn announcer() -> Announcer {
        Announcer::new(Arc::new(Known::new(&config::Cache::default(), Hearing::new())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_saw_end_is_told_of_twice_and_others_once_or_not_at_all() {
        let announcer = announcer();
        announcer.writing(1, "changed").changed();
        announcer.writing(1, "created").here_only();
        announcer.writing(1, "unwritten").unwritten();
        drop(announcer.writing(1, "doubtful"));
        let names = |keys: &[&str]| keys.iter().map(|key| (1, (*key).to_owned())).collect::<HashSet<_>>();
        assert_eq!(announcer.take(), names(&["changed", "doubtful"]));
        assert_eq!(announcer.take(), names(&[]));
        tokio::time::advance(AGAIN).await;
        assert_eq!(announcer.take(), names(&["doubtful"]));
        assert_eq!(announcer.take(), names(&[]));
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_bounded() {
        let announcer = announcer();
        for n in 0..2 * WAITING {
            drop(announcer.writing(1, &n.to_string()));
        }
        assert_eq!(announcer.take().len(), WAITING);
        assert_eq!(announcer.lock().again.len(), WAITING);
    }
}
