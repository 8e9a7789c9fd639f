//! The `{id}` of a path. What is not a positive 64-bit number names nothing: 404, before any query.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use super::problem::Problem;

/// The one id in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPath(pub i64);

impl<S: Send + Sync> FromRequestParts<S> for IdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) =
            Path::<String>::from_request_parts(parts, state).await.map_err(|_| Problem::not_found())?;
        parse(&text).map(Self).ok_or_else(Problem::not_found)
    }
}

/// A positive 64-bit id in its only spelling: no sign, no leading zero.
pub fn parse(text: &str) -> Option<i64> {
    let canonical = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|id| canonical && *id > 0)
}
