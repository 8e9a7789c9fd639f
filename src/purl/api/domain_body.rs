//! How a domain looks in JSON, and the settings that creation and change share.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

use super::Purls;
use crate::http::body::{Faulty, Fields};
use crate::http::{Problem, etag, fields};
use crate::ids;
use crate::purl::model::{Domain, Policies, QueryPolicy, Status, TrailingSlash};
use crate::purl::raw_path;
use crate::purl::store::domains;

/// A year, the longest life of a cached answer.
const MAX_CACHE_SECONDS: i64 = 31_536_000;

/// A domain.
#[derive(Serialize)]
pub struct Body {
    #[serde(with = "ids::as_string")]
    id: i64,
    path: String,
    url: String,
    owner: String,
    case_insensitive: bool,
    trailing_slash: &'static str,
    query: &'static str,
    default_status: u16,
    cache_seconds: i32,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    updated_at: OffsetDateTime,
}

impl Body {
    /// The domain as it is now, of the tenant with the slug `owner`.
    pub fn of(state: &Purls, owner: &str, domain: &Domain) -> Self {
        let policies = &domain.policies;
        Self {
            id: domain.domain_id,
            path: domain.path.to_string(),
            url: format!("{}/{}", state.origin, raw_path::encode(domain.path.as_str())),
            owner: owner.to_owned(),
            case_insensitive: domain.case_insensitive,
            trailing_slash: policies.trailing_slash.as_str(),
            query: policies.query.as_str(),
            default_status: policies.default_status.code(),
            cache_seconds: policies.cache_seconds,
            created_at: domain.created_at,
            updated_at: domain.updated_at,
        }
    }
}

/// The domain as an answer with its ETag.
pub async fn answer(state: &Purls, status: StatusCode, domain: &Domain) -> Result<Response, Problem> {
    let owner = domains::find_owner(state.db.management(), domain.owner_tenant_id).await?;
    Ok(render(state, status, domain, owner.as_deref().unwrap_or_default()))
}

/// The domain of the tenant with this slug, with its ETag; a new one with its Location.
pub fn render(state: &Purls, status: StatusCode, domain: &Domain, owner: &str) -> Response {
    let body = Body::of(state, owner, domain);
    let mut response =
        (status, [(header::ETAG, etag::of_revision(domain.generation))], Json(body)).into_response();
    let encoded = raw_path::encode(domain.path.as_str());
    if status == StatusCode::CREATED
        && let Ok(location) = format!("/api/v1/domains/{encoded}").try_into()
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The settings in a body, each `None` where it is absent.
pub struct PolicyFields {
    trailing_slash: Result<Option<TrailingSlash>, Faulty>,
    query: Result<Option<QueryPolicy>, Faulty>,
    default_status: Result<Option<Status>, Faulty>,
    cache_seconds: Result<Option<i32>, Faulty>,
}

impl PolicyFields {
    /// Reads them, noting every fault.
    pub fn read(body: &mut Fields<'_>) -> Self {
        Self {
            trailing_slash: body.optional("trailing_slash", |value| {
                TrailingSlash::parse(fields::string(value)?).map_err(|error| error.to_string())
            }),
            query: body.optional("query", |value| {
                QueryPolicy::parse(fields::string(value)?).map_err(|error| error.to_string())
            }),
            default_status: body.optional("default_status", default_status),
            cache_seconds: body.optional("cache_seconds", |value| {
                let seconds = fields::integer(0..=MAX_CACHE_SECONDS)(value)?;
                i32::try_from(seconds).map_err(|error| error.to_string())
            }),
        }
    }

    /// The policies, with `base` for what is absent.
    pub fn over(self, base: Policies) -> Result<Policies, Faulty> {
        Ok(Policies {
            trailing_slash: self.trailing_slash?.unwrap_or(base.trailing_slash),
            query: self.query?.unwrap_or(base.query),
            default_status: self.default_status?.unwrap_or(base.default_status),
            cache_seconds: self.cache_seconds?.unwrap_or(base.cache_seconds),
        })
    }
}

/// Never a permanent one: what a cache keeps for ever cannot be changed later.
fn default_status(value: &Value) -> Result<Status, String> {
    match value.as_i64() {
        Some(302) => Ok(Status::FOUND),
        Some(303) => Ok(Status::SEE_OTHER),
        _ => Err("must be 302 or 303".to_owned()),
    }
}
