//! The parts of a path between slashes: ids and texts. What is not a positive 64-bit number is no id, what the
//! database could not hold is no text; such a path names nothing: 404, before any query.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use super::problem::Problem;
use crate::ids;

/// The one id in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPath(pub i64);

impl<S: Send + Sync> FromRequestParts<S> for IdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let TextPath(text) = TextPath::<String>::from_request_parts(parts, state).await?;
        ids::parse(&text).map(Self).ok_or_else(Problem::not_found)
    }
}

/// The texts in the path: a `String`, or a pair of them. 404 for what is not UTF-8 or has a U+0000.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPath<T>(pub T);

impl<S: Send + Sync> FromRequestParts<S> for TextPath<String> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) =
            Path::<String>::from_request_parts(parts, state).await.map_err(|_| Problem::not_found())?;
        storable(&text)?;
        Ok(Self(text))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TextPath<(String, String)> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(texts) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::not_found())?;
        storable(&texts.0)?;
        storable(&texts.1)?;
        Ok(Self(texts))
    }
}

fn storable(text: &str) -> Result<(), Problem> {
    if text.contains('\0') { Err(Problem::not_found()) } else { Ok(()) }
}
