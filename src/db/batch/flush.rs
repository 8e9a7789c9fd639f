//! One batch to its end: run, run again when PostgreSQL asks for it, and halved until an item that nobody can write
//! is alone. Every item gets its answer.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;

use super::queue::Waiting;
use super::{Inner, Work};
use crate::db::Error;

/// How often a transaction is run again after a serialization failure or a deadlock.
const RUNS: u32 = 5;

impl<W: Work> Inner<W> {
    pub(super) async fn flush(&self, key: &W::Key, client: Result<Object, Error>, batch: Vec<Waiting<W>>) {
        let (items, mut answers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.item, Some(waiting.answer))).unzip();
        let mut client = Some(client);
        let whole = 0..items.len();
        let mut parts = Vec::from([whole]);
        while let Some(part) = parts.pop() {
            match self.run(key, &mut client, &items[part.clone()]).await {
                Ok(verdicts) if verdicts.len() == part.len() => {
                    for (answer, verdict) in answers[part].iter_mut().zip(verdicts) {
                        // A caller who has gone is told nothing.
                        let _ = answer.take().map(|answer| answer.send(Ok(verdict)));
                    }
                }
                Err(error) if part.len() > 1 && error.is_of_one_item() => {
                    self.meters.halved.increment(1);
                    if !matches!(error, Error::NoRoomTogether) {
                        tracing::warn!(work = W::NAME, items = part.len(), %error, "a batch is halved");
                    }
                    let middle = part.start + part.len() / 2;
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                outcome => {
                    let error = outcome.err().unwrap_or_else(|| {
                        Error::Internal(format!("{}: not one verdict for each item", W::NAME).into())
                    });
                    let error = Arc::new(error);
                    for answer in &mut answers[part] {
                        let _ = answer.take().map(|answer| answer.send(Err(Error::shared(&error))));
                    }
                }
            }
        }
    }

    /// Runs a part of a batch on the connection at hand, else on another.
    async fn run(
        &self,
        key: &W::Key,
        client: &mut Option<Result<Object, Error>>,
        items: &[W::Item],
    ) -> Result<Vec<W::Verdict>, Error> {
        for run in 1.. {
            let client = match client.take() {
                Some(client) => client?,
                None => self.db.hot().await?,
            };
            let running = tokio::time::timeout(self.bounds.patience, self.work.run(client, key, items));
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
