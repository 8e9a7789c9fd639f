//! One batch to its end: run, run again when PostgreSQL asks for it, and halved until an item that nobody can write
//! is alone. Every item gets its answer.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::oneshot::Sender;

use super::queue::Waiting;
use super::{Inner, Work};
use crate::db::Error;

/// How often a transaction is run again after a serialization failure or a deadlock.
const RUNS: u32 = 5;

/// Items that are written together; those of one lock row are next to each other.
pub(super) struct Part<W: Work> {
    keys: Vec<W::Key>,
    items: Vec<W::Item>,
    answers: Vec<Sender<Result<W::Verdict, Error>>>,
}

impl<W: Work> Part<W> {
    pub fn of(batch: Vec<(W::Key, Waiting<W>)>) -> Self {
        let mut part = Self::with_capacity(batch.len());
        for (key, Waiting { item, answer, .. }) in batch {
            part.keys.push(key);
            part.items.push(item);
            part.answers.push(answer);
        }
        part
    }

    fn with_capacity(items: usize) -> Self {
        let (keys, answers) = (Vec::with_capacity(items), Vec::with_capacity(items));
        Self { keys, items: Vec::with_capacity(items), answers }
    }

    /// The first lock row.
    pub fn key(&self) -> Option<W::Key> {
        self.keys.first().copied()
    }

    fn of_several_keys(&self) -> bool {
        self.keys.first() != self.keys.last()
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self {
            keys: self.keys.split_off(at),
            items: self.items.split_off(at),
            answers: self.answers.split_off(at),
        }
    }

    /// A part for each lock row.
    fn by_key(mut self) -> Vec<Self> {
        let mut parts = Vec::new();
        while let Some(last) = self.keys.last() {
            let begin = self.keys.iter().rposition(|key| key != last).map_or(0, |before| before + 1);
            parts.push(self.split_off(begin));
        }
        parts
    }

    fn answer(self, verdicts: Vec<W::Verdict>) {
        for (answer, verdict) in self.answers.into_iter().zip(verdicts) {
            // A caller who has gone is told nothing.
            let _ = answer.send(Ok(verdict));
        }
    }

    fn fail(self, error: Error) {
        let error = Arc::new(error);
        for answer in self.answers {
            let _ = answer.send(Err(Error::shared(&error)));
        }
    }
}

impl<W: Work> Inner<W> {
    /// Writes a batch and answers. What it returns nobody has written: each of these waits for its lock alone, because
    /// together they waited too long for one of their locks.
    pub(super) async fn flush(&self, client: Result<Object, Error>, batch: Part<W>) -> Vec<Part<W>> {
        let mut client = Some(client);
        let (mut parts, mut alone) = (Vec::from([batch]), Vec::new());
        while let Some(mut part) = parts.pop() {
            match self.run(&mut client, &part).await {
                Ok(verdicts) if verdicts.len() == part.items.len() => part.answer(verdicts),
                Ok(_) => {
                    part.fail(Error::Internal(format!("{}: not one verdict for each item", W::NAME).into()));
                }
                Err(error) if part.of_several_keys() && error.is_lock_timeout() => {
                    self.meters.parted.increment(1);
                    alone.extend(part.by_key());
                }
                Err(error) if part.items.len() > 1 && error.is_of_one_item() => {
                    self.meters.halved.increment(1);
                    if !matches!(error, Error::NoRoomTogether) {
                        tracing::warn!(work = W::NAME, items = part.items.len(), %error, "a batch is halved");
                    }
                    let rest = part.split_off(part.items.len() / 2);
                    parts.extend([rest, part]);
                }
                Err(error) => part.fail(error),
            }
        }
        alone
    }

    /// Runs a part of a batch on the connection at hand, else on another.
    async fn run(
        &self,
        client: &mut Option<Result<Object, Error>>,
        part: &Part<W>,
    ) -> Result<Vec<W::Verdict>, Error> {
        for run in 1.. {
            let client = match client.take() {
                Some(client) => client?,
                None => self.db.hot().await?,
            };
            let running = self.work.run(client, &part.keys, &part.items);
            let running = tokio::time::timeout(self.bounds.patience, running);
            let silence =
                |_| Err(Error::OutcomeUnknown("the database has not answered a transaction".into()));
            match running.await.unwrap_or_else(silence) {
                Err(Error::Retryable(_)) if run < RUNS => {
                    self.meters.retried.increment(1);
                    let [jitter] = self.ids.bytes();
                    tokio::time::sleep(Duration::from_millis(u64::from(jitter % 16) * u64::from(run))).await;
                }
                outcome => return outcome,
            }
        }
        Err(Error::Internal("more runs than can be counted".into()))
    }
}
