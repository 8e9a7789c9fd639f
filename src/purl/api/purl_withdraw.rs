//! DELETE /api/v1/purls/{full path}

use std::collections::HashMap;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::Uri;
use serde_json::{Map, Value};

use super::{Purls, purl_body, purl_update};
use crate::http::auth::MayTombstone;
use crate::http::body::{Fields, OptionalJsonObject};
use crate::http::etag::IfMatch;
use crate::http::problem_codes::INVALID;
use crate::http::{Problem, fields};
use crate::purl::target::OwnAddress;
use crate::purl::write::NewState;

/// Most characters of a reason.
const MAX_REASON: usize = 1000;

/// Withdraws a name: a tombstone, for ever. Reason and successor come in a body or, for clients that send
/// none with DELETE, in the query. The successor may be on this server; it is shown, never redirected to.
pub async fn withdraw(
    State(state): State<Purls>,
    MayTombstone(caller): MayTombstone,
    uri: Uri,
    if_match: IfMatch,
    query: Result<Query<HashMap<String, String>>, QueryRejection>,
    body: OptionalJsonObject,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|rejection| Problem::new(&INVALID).detail(rejection.body_text()))?;
    let mut given: Map<String, Value> = query.into_iter().map(|(name, value)| (name, value.into())).collect();
    given.extend(body.0);
    let mut reader = Fields::new(&given, String::new());
    let reason = reader.optional("reason", fields::text(1..=MAX_REASON));
    let successor = reader.optional("successor", |value| purl_body::target(value, &OwnAddress::new("")));
    reader.finish()?;
    let (reason, successor) = (reason?, successor?);
    purl_update::change(&state, &caller, &uri, &if_match, |_| NewState::Withdrawn {
        reason: reason.clone(),
        successor: successor.clone(),
    })
    .await
}
