//! Quotas: a tenant's admins see what there may be and what there is; the operator sets what differs from the
//! configuration.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use serde_json::{Map, Value, json};

use super::Tenancy;
use crate::config::check::MOST_OF_A_QUOTA;
use crate::db;
use crate::db::audit::{Actor, Author};
use crate::db::quota::{self, Defaults, Overrides, Quota};
use crate::http::Problem;
use crate::http::auth::{MayAdminister, Operator};
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::fields;
use crate::http::id::TextPath;
use crate::tenancy::store::{self, quotas};

/// Highest rate and burst of requests.
const MOST_REQUESTS: i64 = 1_000_000;

fn parse(body: &JsonObject) -> Result<Overrides, Problem> {
    let most = i64::try_from(MOST_OF_A_QUOTA).unwrap_or(i64::MAX);
    let rate = |range: std::ops::RangeInclusive<i64>| {
        move |value: &Value| i32::try_from(fields::integer(range)(value)?).map_err(|error| error.to_string())
    };
    let mut fields = body.fields();
    let mut number = |quota: Quota| fields.optional(quota.as_str(), fields::integer(0..=most));
    let [domains, names, meetings, participants, api_keys] = Quota::ALL.map(&mut number);
    let requests_per_second = fields.optional("requests_per_second", rate(0..=MOST_REQUESTS));
    let requests_burst = fields.optional("requests_burst", rate(1..=MOST_REQUESTS));
    fields.finish()?;
    Ok(Overrides {
        domains: domains?,
        names: names?,
        meetings: meetings?,
        participants: participants?,
        api_keys: api_keys?,
        requests_per_second: requests_per_second?,
        requests_burst: requests_burst?,
    })
}

/// What is in force: numbers, null where there is no limit; requests have a rate and a burst.
fn in_force(state: &Tenancy, own: &Overrides) -> Value {
    let defaults = Defaults::from(&state.quotas);
    let mut limits: Map<String, Value> = Quota::ALL
        .into_iter()
        .map(|quota| (quota.as_str().to_owned(), json!(own.limit(quota, &defaults))))
        .collect();
    let rate = own.requests_per_second.map_or(i64::from(state.quotas.requests_per_second), i64::from);
    let burst = own.requests_burst.map_or(i64::from(state.quotas.requests_burst), i64::from);
    limits.insert("requests_per_second".into(), json!(Some(rate).filter(|rate| *rate > 0)));
    limits.insert("requests_burst".into(), json!((rate > 0).then_some(burst)));
    limits.into()
}

/// What the operator sees: what was set, and what is in force.
fn shown(state: &Tenancy, own: &Overrides, revision: i64) -> Response {
    let mut document = quotas::document(own);
    document["in_force"] = in_force(state, own);
    ([(header::ETAG, etag::of_revision(revision))], Json(document)).into_response()
}

/// GET /api/v1/tenants/{slug}/quotas
pub async fn read(
    State(state): State<Tenancy>,
    _: Operator,
    TextPath(slug): TextPath<String>,
) -> Result<Response, Problem> {
    let pool = state.db.management();
    let tenant = store::find_tenant(pool, &slug).await?.ok_or_else(Problem::not_found)?;
    let (own, revision) = quota::find_overrides(pool, tenant.tenant_id).await?;
    Ok(shown(&state, &own, revision))
}

/// PUT /api/v1/tenants/{slug}/quotas: what the body leaves out goes back to the configuration.
pub async fn replace(
    State(state): State<Tenancy>,
    operator: Operator,
    TextPath(slug): TextPath<String>,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let if_match = if_match.required()?;
    let to = parse(&body)?;
    let tenant = store::find_tenant(state.db.management(), &slug).await?.ok_or_else(Problem::not_found)?;
    let author = Author { tenant_id: tenant.tenant_id, actor: Actor::Key(operator.key_id) };
    let mut tx = state.db.begin().await?;
    quota::lock_tenant(&mut tx, tenant.tenant_id).await?;
    let (_, revision) = quota::find_overrides(&mut *tx, tenant.tenant_id).await?;
    if_match.check(revision)?;
    quotas::replace_overrides(&mut tx, author, &tenant.slug, &to, state.clock.now()).await?;
    db::commit(tx).await?;
    Ok(shown(&state, &to, revision + 1))
}

/// GET /api/v1/quotas
pub async fn own(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
) -> Result<Response, Problem> {
    let mut conn = state.db.management().acquire().await?;
    let (own, _) = quota::find_overrides(&mut *conn, caller.tenant_id).await?;
    let used = quotas::find_use(&mut conn, caller.tenant_id, state.clock.now()).await?;
    let limits = in_force(&state, &own);
    let mut document: Map<String, Value> = used
        .into_iter()
        .map(|(quota, used)| (quota.as_str(), used))
        .map(|(word, used)| (word.to_owned(), json!({ "limit": limits[word], "used": used })))
        .collect();
    let (rate, burst) = (&limits["requests_per_second"], &limits["requests_burst"]);
    document.insert("requests".into(), json!({ "per_second": rate, "burst": burst }));
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(document)).into_response())
}
