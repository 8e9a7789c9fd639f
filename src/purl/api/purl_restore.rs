//! POST /api/v1/purl-revisions/{full path}

use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::{Purls, addressed, purl_update, purl_variants};
use crate::http::auth::{InDomains, MayEdit};
use crate::http::body::OptionalJsonObject;
use crate::http::etag::IfMatch;
use crate::http::{Problem, fields, problem_codes};
use crate::purl::model::{Domain, Purl, Status, TOMBSTONE};
use crate::purl::store::revisions::{self, Revision};
use crate::purl::target::Target;
use crate::purl::write::NewState;

/// Puts a name back into an earlier state, which becomes its newest revision: a tombstone answers again, a change is
/// taken back. Without a number it is the last state before the current one in which the name was in force.
pub async fn restore(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    if_match: IfMatch,
    body: OptionalJsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let mut reader = body.fields();
    let revision = reader.optional("revision", fields::integer(1..=i64::MAX));
    reader.finish()?;
    let revision = revision?;
    let (domain, purl) = addressed::purl(&state, &caller, &uri, PREFIX).await?;
    if_match.check(purl.revision)?;
    let earlier = earlier(&state, &domain, &purl, revision).await?;
    let to = in_force(&state, &earlier)?;
    purl_update::change(&state, &caller, (&uri, PREFIX), &if_match, true, |_| to.clone()).await
}

const PREFIX: &str = "/api/v1/purl-revisions";

async fn earlier(
    state: &Purls,
    domain: &Domain,
    purl: &Purl,
    revision: Option<i64>,
) -> Result<Revision, Problem> {
    let pool = state.db.management();
    let found = match revision {
        Some(revision) if revision == purl.revision => return Err(refused("is the current one")),
        Some(revision) => revisions::find_revision(pool, domain, &purl.name_key, revision).await?,
        None => revisions::find_last_in_force(pool, domain, &purl.name_key, purl.revision).await?,
    };
    found.ok_or_else(|| {
        refused(if revision.is_some() { "is no revision of this name" } else { "there is no earlier state" })
    })
}

/// The state to be written. It is judged as one that is new: what may be a target can have changed since.
fn in_force(state: &Purls, earlier: &Revision) -> Result<NewState, Problem> {
    if earlier.status == TOMBSTONE {
        return Err(refused("is a tombstone; to withdraw a name again, send DELETE"));
    }
    let status = Status::parse(earlier.status.into())
        .map_err(|error| Problem::new(&problem_codes::INTERNAL).source(error))?;
    let target = earlier.target.as_deref().map(|target| Target::parse(target, &state.own)).transpose();
    let target = target.map_err(|fault| refused(format!("its target is no longer allowed: {fault}")))?;
    purl_variants::still_allowed(&earlier.variants, &state.own).map_err(refused)?;
    Ok(NewState::Live {
        status,
        kind: earlier.kind,
        target,
        variants: earlier.variants.to_vec(),
        valid_until: earlier.valid_until,
    })
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(&problem_codes::INVALID).fault("/revision", detail)
}
