//! How a name looks in JSON, and the fields that creation and change share.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

use super::{Purls, purl_variants};
use crate::http::body::{Faulty, Fields};
use crate::http::{etag, fields};
use crate::ids;
use crate::purl::model::{Domain, Kind, Purl, Status, Variant};
use crate::purl::raw_path;
use crate::purl::target::{OwnAddress, Target};
use crate::purl::variant;

/// A name.
#[derive(Serialize)]
pub struct Body {
    #[serde(with = "ids::as_string")]
    id: i64,
    domain: String,
    name: String,
    url: String,
    state: &'static str,
    status: u16,
    kind: &'static str,
    target: Option<String>,
    variants: Value,
    #[serde(with = "time::serde::rfc3339::option")]
    valid_until: Option<OffsetDateTime>,
    reason: Option<String>,
    successor: Option<String>,
    revision: i64,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    updated_at: OffsetDateTime,
}

impl Body {
    /// The name as it is now.
    pub fn of(state: &Purls, domain: &Domain, purl: Purl) -> Self {
        Self {
            id: purl.purl_id,
            domain: domain.path.to_string(),
            url: format!("{}/{}", state.origin, raw_path::encode(&domain.path.join(&purl.name))),
            state: purl.state(state.clock.now()).as_str(),
            name: purl.name,
            status: purl.status,
            kind: purl.kind.as_str(),
            target: purl.target,
            variants: variant::to_json(&purl.variants),
            valid_until: purl.valid_until,
            reason: purl.tombstone_reason,
            successor: purl.successor,
            revision: purl.revision,
            created_at: purl.created_at,
            updated_at: purl.updated_at,
        }
    }
}

/// The name as an answer with its ETag; a new one with its Location.
pub fn answer(state: &Purls, status: StatusCode, domain: &Domain, purl: &Purl) -> Response {
    let body = Body::of(state, domain, purl.clone());
    let mut response =
        (status, [(header::ETAG, etag::of_revision(purl.revision))], Json(body)).into_response();
    let encoded = raw_path::encode(&domain.path.join(&purl.name));
    if status == StatusCode::CREATED
        && let Ok(location) = format!("/api/v1/purls/{encoded}").try_into()
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// How a name is to answer, as a body says it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Absent: the domain's default.
    pub status: Option<Status>,
    /// Whether it answers for everything below it.
    pub kind: Kind,
    /// Where it points; absent only with status 404.
    pub target: Option<Target>,
    /// Other targets.
    pub variants: Vec<Variant>,
    /// When it expires.
    pub valid_until: Option<OffsetDateTime>,
}

/// The fields of an [`Answer`], read and not yet known to be right.
pub struct AnswerFields {
    status: Result<Option<Status>, Faulty>,
    kind: Result<Option<Kind>, Faulty>,
    target: Result<Option<Target>, Faulty>,
    variants: Result<Vec<Variant>, Faulty>,
    valid_until: Result<Option<OffsetDateTime>, Faulty>,
}

impl AnswerFields {
    /// Reads them, noting every fault.
    pub fn read(body: &mut Fields<'_>, own: &OwnAddress) -> Self {
        let read = Self::read_any(body, own);
        let needs_target = !matches!(&read.status, Ok(Some(status)) if !status.is_redirect());
        if !needs_target && matches!(&read.variants, Ok(variants) if !variants.is_empty()) {
            body.fault("variants", "are of no use with status 404");
        }
        if needs_target && matches!(read.target, Ok(None)) {
            return Self { target: Err(body.fault("target", "is required, except with status 404")), ..read };
        }
        read
    }

    /// Reads those of a copy, which has of its own only how long it is valid.
    pub fn read_of_copy(body: &mut Fields<'_>, own: &OwnAddress) -> Self {
        let read = Self::read_any(body, own);
        let given = [
            ("status", !matches!(read.status, Ok(None))),
            ("kind", !matches!(read.kind, Ok(None))),
            ("target", !matches!(read.target, Ok(None))),
            ("variants", !matches!(&read.variants, Ok(variants) if variants.is_empty())),
        ];
        for (name, _) in given.into_iter().filter(|(_, given)| *given) {
            body.fault(name, "is copied from the other name and cannot be given as well");
        }
        read
    }

    fn read_any(body: &mut Fields<'_>, own: &OwnAddress) -> Self {
        Self {
            status: body.optional("status", status),
            kind: body.optional("kind", kind),
            target: body.optional("target", |value| target(value, own)),
            variants: purl_variants::read(body, own),
            valid_until: body.optional("valid_until", fields::instant),
        }
    }

    /// What they say, once the body's reader has found no fault.
    pub fn done(self) -> Result<Answer, Faulty> {
        Ok(Answer {
            status: self.status?,
            kind: self.kind?.unwrap_or(Kind::Plain),
            target: self.target?,
            variants: self.variants?,
            valid_until: self.valid_until?,
        })
    }
}

/// A target, or the reason why it is none.
pub fn target(value: &Value, own: &OwnAddress) -> Result<Target, String> {
    Target::parse(fields::string(value)?, own).map_err(|fault| fault.to_string())
}

fn kind(value: &Value) -> Result<Kind, String> {
    Kind::parse(fields::string(value)?).map_err(|error| error.to_string())
}

fn status(value: &Value) -> Result<Status, String> {
    let number = value.as_i64().ok_or_else(|| "must be a number".to_owned())?;
    Status::parse(number).map_err(|error| error.to_string())
}
