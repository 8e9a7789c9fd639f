//! The tasks of a process that do jobs: one for those that recur, one for the others, so that a backlog of the
//! others delays nothing that recurs. Each looks once a second, and at once when it is woken.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use super::enqueue::{NewJob, enqueue};
use super::kinds::Kinds;
use crate::db::Error;
use crate::ids::Ids;
use crate::lifecycle::Tasks;

/// Times of a worker. The defaults are what a server runs with.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two looks for due jobs, give or take a quarter.
    pub poll: Duration,
    /// How long a job is its server's before the run holds its row, and how long the job of a server that was
    /// lost is left alone.
    pub lease: Duration,
    /// A run that takes longer has failed. It holds a connection and a transaction, so this is no place for long
    /// work: that is done in portions.
    pub longest_run: Duration,
    /// How long a run may go on after the process was told to stop.
    pub grace: Duration,
    /// Between two looks at the whole: recurring jobs planted, metrics set.
    pub survey: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            lease: Duration::from_secs(15),
            longest_run: Duration::from_mins(1),
            grace: Duration::from_secs(5),
            survey: Duration::from_secs(15),
        }
    }
}

/// Does jobs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Worker {
    pub(super) pool: PgPool,
    pub(super) kinds: Kinds,
    pub(super) ids: Ids,
    pub(super) tasks: Tasks,
    pub(super) pace: Pace,
    pub(super) id: Uuid,
    woken: Arc<[Notify; 2]>,
}

impl Worker {
    /// One that does nothing before [`Worker::start`].
    pub fn new(pool: PgPool, kinds: Kinds, ids: Ids, tasks: Tasks, pace: Pace) -> Self {
        let id = ids.uuid_v4();
        Self { pool, kinds, ids, tasks, pace, id, woken: Arc::default() }
    }

    /// Starts its tasks. At a stop they finish or give back what they have.
    pub fn start(&self) {
        tracing::info!(worker = %self.id, kinds = ?self.kinds, "doing jobs");
        for (name, recurring) in [("recurring jobs", true), ("jobs", false)] {
            let worker = self.clone();
            self.tasks.spawn_stopping_itself(name, async move { worker.work(recurring).await });
        }
    }

    /// Looks for due jobs now. For whoever enqueued one, after its commit.
    pub fn wake(&self) {
        self.woken.iter().for_each(Notify::notify_one);
    }

    async fn work(&self, recurring: bool) {
        let mut surveyed: Option<Instant> = None;
        let mut reached = true;
        while !self.tasks.stopping().is_cancelled() {
            let step = async {
                if recurring && surveyed.is_none_or(|at| at.elapsed() >= self.pace.survey) {
                    self.plant().await?;
                    self.survey().await?;
                    surveyed = Some(Instant::now());
                }
                self.run_next(recurring).await
            };
            match step.await {
                Ok(true) => reached = true,
                Ok(false) => {
                    reached = true;
                    self.rest(recurring).await;
                }
                Err(error) => {
                    // Said once: an outage of the database has alarms of its own.
                    if reached {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "jobs are not done at present"
                        );
                    }
                    reached = false;
                    self.rest(recurring).await;
                }
            }
        }
    }

    /// Waits for about `pace.poll`, a call, or the stop.
    async fn rest(&self, recurring: bool) {
        let [jitter] = self.ids.bytes();
        let poll = self.pace.poll * 3 / 4 + self.pace.poll / 2 * u32::from(jitter) / u32::from(u8::MAX);
        tokio::select! {
            () = tokio::time::sleep(poll) => {}
            () = self.woken[usize::from(recurring)].notified() => {}
            () = self.tasks.stopping().cancelled() => {}
        }
    }

    /// Makes the job of each recurring kind that has none. Its key is the same on every server.
    async fn plant(&self) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        for kind in self.kinds.names_of(true) {
            let job = NewJob { key: Some("recurring"), recurring: true, ..NewJob::new(&kind) };
            if let Some(job_id) = enqueue(&mut conn, &job).await? {
                tracing::info!(job = job_id, kind, "a recurring job was planted");
            }
        }
        Ok(())
    }
}
