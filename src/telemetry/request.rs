//! What is known of the request that the current task answers: its id, its tenant, and what it cost the database.
//! Kept beside the task, so that neither stores nor handlers have to carry it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

tokio::task_local! {
    static CURRENT: Arc<RequestInfo>;
}

/// Facts of one request, gathered while it is answered.
#[derive(Debug)]
pub struct RequestInfo {
    /// Its id: the client's, or made here.
    pub id: String,
    /// Its method, as a label.
    pub method: &'static str,
    /// The route that it took.
    pub route: Arc<str>,
    /// Of a W3C `traceparent`.
    pub trace_id: Option<String>,
    tenant_id: AtomicI64,
    statements: AtomicU32,
    database_micros: AtomicU64,
}

impl RequestInfo {
    /// What is known before it is answered.
    pub fn new(id: String, method: &'static str, route: Arc<str>, trace_id: Option<String>) -> Self {
        let (tenant_id, statements, database_micros) = Default::default();
        Self { id, method, route, trace_id, tenant_id, statements, database_micros }
    }

    /// The tenant, once a key or token has named it.
    pub fn tenant_id(&self) -> Option<i64> {
        Some(self.tenant_id.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// Statements sent, and the time spent waiting for them.
    pub fn database(&self) -> (u32, Duration) {
        let micros = self.database_micros.load(Ordering::Relaxed);
        (self.statements.load(Ordering::Relaxed), Duration::from_micros(micros))
    }
}

/// Runs `future` as the answer to this request.
pub async fn scope<F: Future>(info: Arc<RequestInfo>, future: F) -> F::Output {
    CURRENT.scope(info, future).await
}

/// Runs `act` as a part of the answer to this request.
#[cfg(test)]
pub fn scoped<T>(info: Arc<RequestInfo>, act: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(info, act)
}

/// The id of the request that this task answers.
pub fn current_id() -> Option<String> {
    CURRENT.try_with(|info| info.id.clone()).ok()
}

/// Shows the facts of the request that this task answers; None outside of requests.
pub fn with_current<T>(show: impl FnOnce(&RequestInfo) -> T) -> Option<T> {
    CURRENT.try_with(|info| show(info)).ok()
}

/// Notes whose request this is.
pub fn note_tenant(tenant_id: i64) {
    let _ = CURRENT.try_with(|info| info.tenant_id.store(tenant_id, Ordering::Relaxed));
}

/// Notes `statements` sent in one flight that took `time`.
pub fn note_database(statements: u32, time: Duration) {
    let _ = CURRENT.try_with(|info| {
        info.statements.fetch_add(statements, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        info.database_micros.fetch_add(micros, Ordering::Relaxed);
    });
}

/// Hears of every statement of sqlx through its own log events, so that no store can forget to count.
#[derive(Debug)]
pub struct SqlxStatements;

impl<S: tracing::Subscriber> Layer<S> for SqlxStatements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut elapsed = Elapsed(None);
        event.record(&mut elapsed);
        if let Some(seconds) = elapsed.0 {
            note_database(1, Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
    }
}

struct Elapsed(Option<f64>);

impl Visit for Elapsed {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.0 = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
