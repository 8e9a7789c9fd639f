//! The metrics of requests, with their handles kept: looking one up by its labels costs more than a redirect does.
//! Routes, methods and statuses are few, so this stays small.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::telemetry::metrics::{HTTP_IN_FLIGHT, HTTP_REQUEST_SECONDS, HTTP_REQUESTS};

/// Handles of one listener. Cheap to clone.
#[derive(Clone)]
pub struct RequestMeters(Arc<Inner>);

struct Inner {
    in_flight: Gauge,
    routes: RwLock<HashMap<Arc<str>, ByOutcome>>,
}

/// The answers of a route by method and status.
type ByOutcome = HashMap<(&'static str, u16), Answers>;

#[derive(Clone)]
struct Answers {
    count: Counter,
    seconds: Histogram,
}

impl std::fmt::Debug for RequestMeters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestMeters").finish_non_exhaustive()
    }
}

impl RequestMeters {
    /// To be made after the recorder is installed.
    pub fn new() -> Self {
        Self(Arc::new(Inner { in_flight: gauge!(HTTP_IN_FLIGHT), routes: RwLock::default() }))
    }

    /// Counts a request in flight until this is dropped, also when its client hangs up.
    pub fn begin(&self) -> InFlight {
        self.0.in_flight.increment(1.0);
        InFlight(self.clone())
    }

    /// Counts an answer.
    pub fn answered(&self, route: &Arc<str>, method: &'static str, status: u16, latency: Duration) {
        let answers = self.find(route, method, status).unwrap_or_else(|| self.make(route, method, status));
        answers.count.increment(1);
        answers.seconds.record(latency.as_secs_f64());
    }

    fn find(&self, route: &str, method: &'static str, status: u16) -> Option<Answers> {
        let routes = self.0.routes.read().unwrap_or_else(PoisonError::into_inner);
        routes.get(route)?.get(&(method, status)).cloned()
    }

    fn make(&self, route: &Arc<str>, method: &'static str, status: u16) -> Answers {
        let label = || Arc::clone(route);
        let answers = Answers {
            count: counter!(HTTP_REQUESTS, "route" => label(), "method" => method, "status" => status.to_string()),
            seconds: histogram!(HTTP_REQUEST_SECONDS, "route" => label(), "method" => method),
        };
        let mut routes = self.0.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.entry(label()).or_default().entry((method, status)).or_insert(answers).clone()
    }
}

impl Default for RequestMeters {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct InFlight(RequestMeters);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.in_flight.decrement(1.0);
    }
}
