//! DELETE /api/v1/purls/{full path}

use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::{Purls, purl_body, purl_update};
use crate::http::auth::{InDomains, MayTombstone};
use crate::http::body::{Fields, OptionalJsonObject};
use crate::http::etag::IfMatch;
use crate::http::query::QueryObject;
use crate::http::{Problem, fields};
use crate::purl::target::OwnAddress;
use crate::purl::write::NewState;

/// Most characters of a reason.
const MAX_REASON: usize = 1000;

/// Withdraws a name: a tombstone, for ever. Reason and successor come in a body or, for clients that send
/// none with DELETE, in the query. The successor may be on this server; it is shown, never redirected to.
pub async fn withdraw(
    State(state): State<Purls>,
    InDomains(MayTombstone(caller)): InDomains<MayTombstone>,
    uri: Uri,
    if_match: IfMatch,
    QueryObject(mut given): QueryObject,
    body: OptionalJsonObject,
) -> Result<Response, Problem> {
    given.extend(body.0);
    let mut reader = Fields::new(&given, String::new());
    let reason = reader.optional("reason", fields::text(1..=MAX_REASON));
    let successor = reader.optional("successor", |value| purl_body::target(value, &OwnAddress::new("")));
    reader.finish()?;
    let (reason, successor) = (reason?, successor?);
    purl_update::change(&state, &caller, (&uri, "/api/v1/purls"), &if_match, false, |_| NewState::Withdrawn {
        reason: reason.clone(),
        successor: successor.clone(),
    })
    .await
}
