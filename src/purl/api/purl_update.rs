//! PUT /api/v1/purls/{full path}

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::purl_body::{self, AnswerFields};
use super::{Purls, addressed, problems};
use crate::http::Problem;
use crate::http::auth::{Caller, InDomains, MayEdit};
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::problem_codes::PRECONDITION_FAILED;
use crate::purl::model::Domain;
use crate::purl::write::{Change, ChangeVerdict, NewState};

/// Replaces how a name answers: what the body leaves out goes back to its default. The state it replaces
/// becomes history. A body that changes nothing makes no revision.
pub async fn update(
    State(state): State<Purls>,
    InDomains(MayEdit(caller)): InDomains<MayEdit>,
    uri: Uri,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let mut reader = body.fields();
    let answer = AnswerFields::read(&mut reader, &state.own);
    reader.finish()?;
    let answer = answer.done()?;
    change(&state, &caller, (&uri, "/api/v1/purls"), &if_match, false, |domain| NewState::Live {
        status: answer.status.unwrap_or(domain.policies.default_status),
        kind: answer.kind,
        target: answer.target.clone(),
        variants: answer.variants.clone(),
        valid_until: answer.valid_until,
    })
    .await
}

/// Changes the addressed name from the revision that the client has seen, or, where it has named none, from
/// the current one. A tombstone only if the change `restores` it. Again where the domain changed between check and write.
pub async fn change(
    state: &Purls,
    caller: &Caller,
    (uri, prefix): (&Uri, &str),
    if_match: &IfMatch,
    restores: bool,
    to: impl Fn(&Domain) -> NewState,
) -> Result<Response, Problem> {
    for _ in 0..addressed::ATTEMPTS {
        let (domain, purl) = addressed::purl(state, caller, uri, prefix).await?;
        if_match.check(purl.revision)?;
        // Under the lock any revision will do, so that writers who name none never wear each other out.
        let expected = matches!(if_match, IfMatch::Revisions(_)).then_some(purl.revision);
        let change = Change {
            name_key: purl.name_key.clone(),
            expected,
            to: to(&domain),
            restores,
            generation: domain.generation,
            by: caller.key_id,
            at: state.clock.now(),
        };
        let writing = state.resolver.announcer.writing(domain.domain_id, &purl.name_key);
        let verdict = state.writer.change(&domain, change).await?;
        match verdict {
            ChangeVerdict::DomainChanged => {
                writing.unwritten();
                continue;
            }
            ChangeVerdict::Changed(_) => {
                state.resolver.directory.wrote_in(&domain);
                writing.changed();
            }
            _ => writing.here_only(),
        }
        match verdict {
            ChangeVerdict::DomainChanged => {}
            ChangeVerdict::Changed(changed) => {
                return Ok(purl_body::answer(state, StatusCode::OK, &domain, &changed));
            }
            ChangeVerdict::Unchanged => {
                // Another writer may have made it so after it was read.
                let (domain, purl) = addressed::purl(state, caller, uri, prefix).await?;
                return Ok(purl_body::answer(state, StatusCode::OK, &domain, &purl));
            }
            ChangeVerdict::Withdrawn => return Err(Problem::new(&problems::NAME_WITHDRAWN)),
            ChangeVerdict::Stale { current } => {
                let etag = etag::of_revision(current);
                return Err(Problem::new(&PRECONDITION_FAILED).header(http::header::ETAG, etag));
            }
            ChangeVerdict::Absent => return Err(Problem::not_found()),
        }
    }
    Err(Problem::unavailable())
}
