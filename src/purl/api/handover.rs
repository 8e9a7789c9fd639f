//! GET, POST and DELETE /api/v1/domain-handovers/{path}, POST /api/v1/domain-acceptances/{path}: a domain gets another
//! owner. Giving away and taking are for admins' keys that are not limited to domains; an operator does both at once.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use serde_json::json;
use time::format_description::well_known::Rfc3339;

use super::{Purls, addressed};
use crate::db;
use crate::http::auth::{Identity, MayAdminister, Scope};
use crate::http::body::JsonObject;
use crate::http::idempotency::Keyed;
use crate::http::{Problem, fields, problem_codes};
use crate::purl::store::domains;
use crate::purl::store::handover::{self, Handover, Receiver};

const PREFIX: &str = "/api/v1/domain-handovers";

/// The owner and the offer, for both sides of it.
pub async fn read(
    State(state): State<Purls>,
    MayAdminister(caller): MayAdminister,
    uri: Uri,
) -> Result<Response, Problem> {
    let path = addressed::path_of_domain(&uri, PREFIX)?;
    let mut connection = state.db.management().acquire().await.map_err(db::Error::from)?;
    let found = handover::find_handover(&mut connection, &path).await?;
    let found = found.filter(|held| is_owners(held, caller.tenant_id) || is_offered(held, caller.tenant_id));
    Ok(rendered(&found.ok_or_else(Problem::not_found)?))
}

/// Offers the domain to a tenant, in place of an earlier offer; an operator hands it over at once.
pub async fn offer(
    State(state): State<Purls>,
    identity: Identity,
    uri: Uri,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let owner_id = match &identity {
        Identity::Operator { .. } => None,
        Identity::Tenant(caller) if caller.scope == Scope::Admin && caller.domains.is_none() => {
            Some(caller.tenant_id)
        }
        Identity::Tenant(_) => {
            return Err(Problem::new(&problem_codes::FORBIDDEN)
                .detail("this needs a key of scope admin, not limited to domains, or operator"));
        }
    };
    let path = addressed::path_of_domain(&uri, PREFIX)?;
    let mut reader = body.fields();
    let tenant = reader.required("tenant", |value| fields::string(value).map(str::to_owned));
    reader.finish()?;
    let tenant = tenant?;
    let author = identity.author();
    let answer = once
        .run(author, async |conn| {
            let held = handover::lock_handover(conn, &path).await?;
            let held = held.filter(|held| owner_id.is_none_or(|owner_id| is_owners(held, owner_id)));
            let held = held.ok_or_else(Problem::not_found)?;
            let found = domains::find_tenant_id(&mut *conn, &tenant).await?;
            let to = receiver(found, &tenant, &held)?;
            let now = state.clock.now();
            if owner_id.is_some() {
                handover::set_offer(conn, author.actor, &held, Some(&to), now).await?;
            } else {
                handover::hand_over(conn, author.actor, &held, &to, now).await?;
            }
            let after = handover::find_handover(conn, &path).await?.ok_or_else(Problem::not_found)?;
            Ok(rendered(&after))
        })
        .await;
    // Whatever came of it: a broken COMMIT may have changed it.
    state.resolver.directory.written();
    answer
}

/// Takes the offer back, or declines it.
pub async fn withdraw(
    State(state): State<Purls>,
    MayAdminister(caller): MayAdminister,
    uri: Uri,
) -> Result<Response, Problem> {
    let path = addressed::path_of_domain(&uri, PREFIX)?;
    let mut tx = state.db.begin().await?;
    let held = handover::lock_handover(&mut tx, &path).await?;
    let held = held.filter(|held| {
        held.offer.is_some() && (is_owners(held, caller.tenant_id) || is_offered(held, caller.tenant_id))
    });
    let held = held.ok_or_else(|| Problem::not_found().detail("the domain is not offered to anybody"))?;
    handover::set_offer(&mut tx, caller.author().actor, &held, None, state.clock.now()).await?;
    db::commit(tx).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Takes the domain that is offered to the caller's tenant: from the commit on all rights are that tenant's.
pub async fn accept(
    State(state): State<Purls>,
    MayAdminister(caller): MayAdminister,
    uri: Uri,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let path = addressed::path_of_domain(&uri, "/api/v1/domain-acceptances")?;
    body.fields().finish()?;
    let answer = once
        .run(caller.author(), async |conn| {
            let held = handover::lock_handover(conn, &path).await?;
            let held = held.filter(|held| is_offered(held, caller.tenant_id));
            let held = held.ok_or_else(Problem::not_found)?;
            let Some(offer) = &held.offer else { return Err(Problem::not_found()) };
            let to = (offer.tenant_id, offer.tenant.clone());
            handover::hand_over(conn, caller.author().actor, &held, &to, state.clock.now()).await?;
            let after = handover::find_handover(conn, &path).await?.ok_or_else(Problem::not_found)?;
            Ok(rendered(&after))
        })
        .await;
    state.resolver.directory.written();
    answer
}

fn is_owners(held: &Handover, tenant_id: i64) -> bool {
    held.domain.owner_tenant_id == tenant_id
}

fn is_offered(held: &Handover, tenant_id: i64) -> bool {
    held.offer.as_ref().is_some_and(|offer| offer.tenant_id == tenant_id)
}

/// The tenant that the domain is to go to; 422 if there is none of that slug, or it has the domain already.
fn receiver(found: Option<i64>, slug: &str, held: &Handover) -> Result<Receiver, Problem> {
    let invalid = |detail: String| Problem::new(&problem_codes::INVALID).fault("/tenant", detail);
    let tenant_id = found.ok_or_else(|| invalid(format!("there is no tenant `{slug}`")))?;
    if is_owners(held, tenant_id) {
        return Err(invalid(format!("the domain is `{slug}`'s already")));
    }
    Ok((tenant_id, slug.to_owned()))
}

fn rendered(held: &Handover) -> Response {
    let offer = held.offer.as_ref();
    Json(json!({
        "domain": held.domain.path.as_str(),
        "owner": held.owner,
        "offered_to": offer.map(|offer| offer.tenant.as_str()),
        "offered_at": offer.and_then(|offer| offer.at.format(&Rfc3339).ok()),
    }))
    .into_response()
}
