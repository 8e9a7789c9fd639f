//! The kinds of jobs that this program knows: name, pace and handler of each. Filled by the composition root.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use sqlx::PgConnection;

/// A job as its handler sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub job_id: i64,
    /// Name of its kind.
    pub kind: String,
    /// What whoever enqueued it said; an object.
    pub payload: Value,
    /// Number of this attempt, from 1.
    pub attempt: i32,
}

/// How a run that did not fail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// There is nothing left to do.
    Finished,
    /// A portion is done and there may be more: run it again at once. What one transaction cannot do in a few
    /// seconds is done this way, because a long one keeps dead rows from being cleaned up everywhere.
    More,
}

/// Why a run failed. Its text is kept with the job, so it names no secret and no person.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A run under way.
pub type Running<'a> = BoxFuture<'a, Result<Done, Failure>>;

/// Does a job. What it writes on the connection given to it is committed together with the job's end, so it
/// happens exactly once; what it does elsewhere may happen again and must stand it.
pub(super) type Handler = dyn for<'a> Fn(&'a Job, &'a mut PgConnection) -> Running<'a> + Send + Sync;

/// One kind.
#[derive(Clone)]
pub(super) struct Kind {
    /// Time between the end of a run and the next, for a recurring job.
    pub every: Option<Duration>,
    /// What it does.
    pub handler: Arc<Handler>,
}

/// All kinds, by name.
#[derive(Clone, Default)]
pub struct Kinds(BTreeMap<&'static str, Kind>);

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Kinds {
    /// With a kind that runs when somebody enqueues it.
    #[must_use]
    pub fn on_demand<F>(self, name: &'static str, handler: F) -> Self
    where
        F: for<'a> Fn(&'a Job, &'a mut PgConnection) -> Running<'a> + Send + Sync + 'static,
    {
        self.with(name, Kind { every: None, handler: Arc::new(handler) })
    }

    /// With a kind of which there is one job for all servers together, which runs again this long after each run.
    #[must_use]
    pub fn recurring<F>(self, name: &'static str, every: Duration, handler: F) -> Self
    where
        F: for<'a> Fn(&'a Job, &'a mut PgConnection) -> Running<'a> + Send + Sync + 'static,
    {
        self.with(name, Kind { every: Some(every), handler: Arc::new(handler) })
    }

    fn with(mut self, name: &'static str, kind: Kind) -> Self {
        self.0.insert(name, kind);
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<&Kind> {
        self.0.get(name)
    }

    /// Every name, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    /// Names of the kinds that recur, or of those that do not.
    pub(super) fn names_of(&self, recurring: bool) -> Vec<String> {
        let of = self.0.iter().filter(|(_, kind)| kind.every.is_some() == recurring);
        of.map(|(name, _)| (*name).to_owned()).collect()
    }
}
