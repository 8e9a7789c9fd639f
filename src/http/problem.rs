//! Problem documents (RFC 9457). Each has a documented code, which is also its type's address and its label
//! in the log; a 500 tells nothing of the inside, the log has it under the same request id.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::problem_codes as codes;
use crate::db::{self, quota};
use crate::telemetry::request;

/// A kind of problem: one row of docs/problems.md.
#[derive(Debug, PartialEq, Eq)]
pub struct ProblemCode {
    /// Stable, lower_snake_case.
    pub code: &'static str,
    /// HTTP status.
    pub status: u16,
    /// A short phrase, the same for every occurrence.
    pub title: &'static str,
    /// What it means and what to do, for the documentation.
    pub help: &'static str,
}

/// One fault of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer (RFC 6901) into the body; empty: the whole.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

/// An answer that says what went wrong.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

/// Boxed, so that a `Result` with a problem stays small.
#[derive(Debug)]
struct Parts {
    code: &'static ProblemCode,
    detail: Option<String>,
    faults: Vec<Fault>,
    headers: Vec<(HeaderName, HeaderValue)>,
    members: Vec<(&'static str, Value)>,
    /// For the log only.
    source: Option<String>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(code: &'static ProblemCode) -> Self {
        Self(Box::new(Parts {
            code,
            detail: None,
            faults: Vec::new(),
            headers: Vec::new(),
            members: Vec::new(),
            source: None,
        }))
    }

    /// What happened this time.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds one fault of the body.
    #[must_use]
    pub fn fault(mut self, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        self.0.faults.push(Fault { pointer: pointer.into(), detail: detail.into() });
        self
    }

    /// Adds several faults of the body.
    #[must_use]
    pub fn faults(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.0.faults.extend(faults);
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Adds an extension member to the document.
    #[must_use]
    pub fn member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.members.push((name, value.into()));
        self
    }

    /// What the log should know and the client should not.
    #[must_use]
    pub fn source(mut self, source: impl std::fmt::Display) -> Self {
        self.0.source = Some(source.to_string());
        self
    }

    /// Whether any fault was added.
    pub fn has_faults(&self) -> bool {
        !self.0.faults.is_empty()
    }

    /// The kind.
    pub fn code(&self) -> &'static ProblemCode {
        self.0.code
    }

    /// A 503 that says when to come back.
    pub fn unavailable() -> Self {
        Self::new(&codes::UNAVAILABLE).header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// 404 without saying whether it exists elsewhere.
    pub fn not_found() -> Self {
        Self::new(&codes::NOT_FOUND)
    }
}

/// What the request log learns of a problem: it travels in the response's extensions.
#[derive(Clone, Debug)]
pub struct ProblemTrace {
    /// The code.
    pub code: &'static str,
    /// The inside, for a 5xx.
    pub source: Option<String>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let this = *self.0;
        let status = StatusCode::from_u16(this.code.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut document = json!({
            "type": format!("/docs/problems#{}", this.code.code),
            "title": this.code.title,
            "status": this.code.status,
            "code": this.code.code,
        });
        if let Some(detail) = this.detail {
            document["detail"] = detail.into();
        }
        if !this.faults.is_empty() {
            let faults = this.faults.into_iter();
            document["errors"] =
                faults.map(|f| json!({ "pointer": f.pointer, "detail": f.detail })).collect();
        }
        for (name, value) in this.members {
            document[name] = value;
        }
        let trace = ProblemTrace { code: this.code.code, source: this.source };
        if let Some(id) = request::current_id() {
            document["instance"] = format!("urn:request:{id}").into();
        }
        let mut response = (status, document.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in this.headers {
            headers.append(name, value);
        }
        response.extensions_mut().insert(trace);
        response
    }
}

impl From<db::Error> for Problem {
    fn from(error: db::Error) -> Self {
        let problem = match &error {
            db::Error::Unavailable(_)
            | db::Error::Timeout(_)
            | db::Error::Busy(_)
            | db::Error::NoRoomTogether
            | db::Error::Retryable(_)
            | db::Error::ReadOnly(_) => Self::unavailable(),
            db::Error::OutcomeUnknown(_) => {
                Self::new(&codes::OUTCOME_UNKNOWN).header(header::RETRY_AFTER, HeaderValue::from_static("1"))
            }
            _ => Self::new(&codes::INTERNAL),
        };
        problem.source(error)
    }
}

impl From<quota::Exceeded> for Problem {
    fn from(exceeded: quota::Exceeded) -> Self {
        Self::new(&codes::QUOTA_EXCEEDED)
            .detail(exceeded.to_string())
            .member("quota", exceeded.quota.as_str())
            .member("limit", exceeded.limit)
            .member("used", exceeded.used)
            .member("wanted", exceeded.wanted)
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        db::Error::from(error).into()
    }
}
