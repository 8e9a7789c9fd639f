//! Background tasks and the order of a stop. A task that ends before it was asked to, by error or panic,
//! takes the process down loudly: a server that lost a part of itself must not look healthy.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks and knows whether the process is stopping. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tasks {
    tracker: TaskTracker,
    stopping: CancellationToken,
    draining: Arc<AtomicBool>,
    deaths: mpsc::UnboundedSender<&'static str>,
}

/// Receives the name of each task that died; held by whoever runs the process.
#[derive(Debug)]
pub struct Deaths(mpsc::UnboundedReceiver<&'static str>);

impl Deaths {
    /// Waits until a task dies and returns its name. Never returns while all live.
    pub async fn next(&mut self) -> &'static str {
        match self.0.recv().await {
            Some(name) => name,
            None => std::future::pending().await,
        }
    }
}

impl Tasks {
    /// A fresh set of tasks, and the end that hears of deaths.
    pub fn new() -> (Self, Deaths) {
        let (deaths, heard) = mpsc::unbounded_channel();
        let tasks = Self {
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            draining: Arc::new(AtomicBool::new(false)),
            deaths,
        };
        (tasks, Deaths(heard))
    }

    /// Runs `task` until the process stops. Its end before that counts as its death.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.spawn_stopping_itself(name, async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Runs a `task` that watches [`Tasks::stopping`] itself, because it has something to finish. Its end before a
    /// stop counts as its death.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub fn spawn_stopping_itself(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let (stopping, deaths) = (self.stopping.clone(), self.deaths.clone());
        let running = tokio::spawn(self.tracker.track_future(task));
        tokio::spawn(async move {
            let ended = running.await;
            if ended.is_err() || !stopping.is_cancelled() {
                tracing::error!(task = name, "a background task died");
                let _ = deaths.send(name);
            }
        });
    }

    /// Runs something short that may end at any time, such as one connection; a stop waits for it.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub fn spawn_short(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(self.tracker.track_future(task));
    }

    /// Cancelled once the process stops accepting work.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// True from the first moment of a graceful stop: readiness is false, requests are still served.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Begins a graceful stop: [`Tasks::is_draining`] turns true.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Stops accepting work and waits at most `limit` for what runs. False when the limit struck.
    pub async fn stop(&self, limit: Duration) -> bool {
        self.draining.store(true, Ordering::Relaxed);
        self.stopping.cancel();
        self.tracker.close();
        tokio::time::timeout(limit, self.tracker.wait()).await.is_ok()
    }
}

/// Lets this process, and those that it starts, have as many open files as it may; that many, if there is a limit. Every
/// connection is an open file, and many systems begin with 1,024 where they allow a million.
pub fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_or_ends_is_heard_of_and_one_that_is_stopped_is_not() {
        let (tasks, mut deaths) = Tasks::new();
        tasks.spawn("ends", async {});
        assert_eq!(deaths.next().await, "ends");
        tasks.spawn("panics", async { panic!("on purpose") });
        assert_eq!(deaths.next().await, "panics");
        tasks.spawn("lives", std::future::pending());
        assert!(tasks.stop(Duration::from_secs(1)).await);
        assert!(tokio::time::timeout(Duration::from_millis(50), deaths.next()).await.is_err());
    }

    #[tokio::test]
    async fn a_stop_waits_for_short_work_and_gives_up_at_its_limit() {
        let (tasks, _deaths) = Tasks::new();
        tasks.spawn_short(std::future::pending());
        assert!(!tasks.stop(Duration::from_millis(20)).await);
    }
}
