//! Outermost layer of every route: gives the request its id, measures it, writes its one log line, and turns
//! panics and time-outs into problems. The line has the route's template, never a path, name or token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tracing::Level;

use super::problem::{Problem, ProblemTrace};
use super::problem_codes as codes;
use super::request_meters::{InFlight, RequestMeters};
use crate::clock::Clock;
use crate::ids::Ids;
use crate::lifecycle::Tasks;
use crate::telemetry::request::{self, RequestInfo};

/// Name of the header that carries the request id.
pub static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the layer needs.
#[derive(Clone, Debug)]
pub struct RequestLog {
    /// For ids that are ordered by time.
    pub clock: Clock,
    /// For ids.
    pub ids: Ids,
    /// For `Connection: close` while draining.
    pub tasks: Tasks,
    /// Longest time an answer may take.
    pub timeout: Duration,
    meters: RequestMeters,
    resolution: Arc<str>,
}

/// A request that has begun.
#[derive(Debug)]
pub struct Entry {
    info: Arc<RequestInfo>,
    begun: Instant,
    in_flight: InFlight,
}

impl RequestLog {
    /// For one listener.
    pub fn new(clock: Clock, ids: Ids, tasks: Tasks, timeout: Duration) -> Self {
        Self { clock, ids, tasks, timeout, meters: RequestMeters::new(), resolution: "/{purl}".into() }
    }

    /// Names a request and counts it as being answered.
    pub fn begin(&self, request: &Request) -> Entry {
        let headers = request.headers();
        let id = accepted_id(headers).unwrap_or_else(|| self.ids.uuid_v7(self.clock.now()).to_string());
        let route = request.extensions().get::<MatchedPath>();
        let route = route.map_or_else(|| Arc::clone(&self.resolution), |path| path.as_str().into());
        let trace_id = trace_id(headers).map(Into::into);
        let info = RequestInfo::new(id, method_label(request.method()), route, trace_id);
        Entry { info: Arc::new(info), begun: Instant::now(), in_flight: self.meters.begin() }
    }

    /// Waits for the answer as long as the limit allows, and writes the line of the request.
    pub async fn end(&self, entry: Entry, answer: impl Future<Output = Response>) -> Response {
        let Entry { info, begun, in_flight } = entry;
        let answered = async {
            let answer = tokio::time::timeout(self.timeout, answer).await;
            let mut response = answer.unwrap_or_else(|_| timed_out().into_response());
            drop(in_flight);
            if let Ok(value) = HeaderValue::from_str(&info.id) {
                response.headers_mut().insert(X_REQUEST_ID.clone(), value);
            }
            if self.tasks.is_draining() {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            let latency = begun.elapsed();
            let status = response.status().as_u16();
            self.meters.answered(&info.route, info.method, status, latency);
            write_line(status, latency, &info, response.extensions().get::<ProblemTrace>());
            response
        };
        request::scope(Arc::clone(&info), answered).await
    }
}

fn timed_out() -> Problem {
    Problem::new(&codes::REQUEST_TIMEOUT).header(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

/// What a panic in a handler becomes, for `tower_http`'s catch-panic layer.
#[expect(clippy::needless_pass_by_value, reason = "the signature that the layer calls")]
pub fn panicked(panic: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Problem::new(&codes::INTERNAL).source(format!("panic: {}", text.unwrap_or("no message"))).into_response()
}

fn write_line(status: u16, latency: Duration, info: &RequestInfo, problem: Option<&ProblemTrace>) {
    let (statements, database) = info.database();
    let tenant = info.tenant_id().unwrap_or_default();
    let code = problem.map_or("", |problem| problem.code);
    let source = problem.and_then(|problem| problem.source.as_deref()).unwrap_or_default();
    let (latency_ms, database_ms) = (latency.as_secs_f64() * 1e3, database.as_secs_f64() * 1e3);
    if status >= 500 {
        tracing::event!(
            Level::ERROR,
            status,
            code,
            latency_ms,
            tenant,
            database_ms,
            statements,
            source,
            "answered"
        );
    } else {
        tracing::event!(Level::INFO, status, code, latency_ms, tenant, database_ms, statements, "answered");
    }
}

/// A client's own id: 1 to 128 visible ASCII characters without quotes or backslashes.
fn accepted_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(&X_REQUEST_ID)?.to_str().ok()?;
    let fits =
        (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\');
    fits.then(|| id.to_owned())
}

/// The trace id of a W3C `traceparent` header.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.split('-');
    let (version, trace_id) = (parts.next()?, parts.next()?);
    let hex = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let valid =
        version.len() == 2 && version != "ff" && trace_id.len() == 32 && hex(version) && hex(trace_id);
    Some(trace_id).filter(|id| valid && id.bytes().any(|b| b != b'0'))
}

/// The method as a label: one of few words, whatever a client invents.
fn method_label(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_request_ids_are_accepted() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(X_REQUEST_ID.clone(), HeaderValue::from_str(value).expect("a header"));
            accepted_id(&headers)
        };
        assert_eq!(of("abc-1").as_deref(), Some("abc-1"));
        assert_eq!((of("a b"), of(""), of("\"x"), of(&"x".repeat(129))), (None, None, None, None));
    }

    #[test]
    fn the_trace_id_is_read_from_a_valid_traceparent_only() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_static(value));
            trace_id(&headers).map(str::to_owned)
        };
        assert!(of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").is_some());
        assert!(of("00-00000000000000000000000000000000-b7ad6b7169203331-01").is_none());
        assert!(of("nonsense").is_none());
    }
}
