//! What came back.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's text; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    /// Asserts the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self
    }

    /// Asserts a problem of this code and status.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.json()["code"], code, "{}", answer.text());
        assert_eq!(answer.json()["status"], status);
        answer
    }

    /// The pointers of a problem's `errors`.
    #[track_caller]
    pub fn pointers(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().expect("a pointer").to_owned()).collect()
    }
}
