//! The keys of a tenant, for its admins. A key's secret is in the answer of its creation and nowhere else.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Tenancy;
use crate::db::{self, quota::Defaults};
use crate::http::Problem;
use crate::http::auth::{MayAdminister, Scope};
use crate::http::body::JsonObject;
use crate::http::etag::{self, IfMatch};
use crate::http::fields;
use crate::http::id::TextPath;
use crate::http::idempotency::Keyed;
use crate::http::paging;
use crate::http::problem_codes::INVALID;
use crate::tenancy::key::ApiKey;
use crate::tenancy::store::key_list::{KEYS, list_keys};
use crate::tenancy::store::{self, KeyRow, NewKey, quotas};

#[derive(Serialize)]
struct Key {
    id: Uuid,
    scope: String,
    label: String,
    domains: Vec<String>,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    expires_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    revoked_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    last_used_at: Option<OffsetDateTime>,
    /// Only in the answer of the creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl From<KeyRow> for Key {
    fn from(row: KeyRow) -> Self {
        Self {
            id: row.api_key_id,
            scope: row.scope,
            label: row.label,
            domains: row.domains,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
            key: None,
        }
    }
}

struct NewKeyBody {
    scope: Scope,
    label: String,
    domains: Vec<String>,
    expires_at: Option<OffsetDateTime>,
}

fn parse(body: &JsonObject, now: OffsetDateTime) -> Result<NewKeyBody, Problem> {
    let mut fields = body.fields();
    let scope = fields.required("scope", tenant_scope);
    let label = fields.optional("label", fields::text(0..=200));
    let domains = if body.0.contains_key("domains") {
        fields.each("domains", 0..=100, |value, pointer, faults| {
            fields::item(fields::string(value).map(str::to_owned), pointer, faults)
        })
    } else {
        let _ = fields.optional("domains", |_| Ok(()));
        Ok(Vec::new())
    };
    let expires_at = fields.optional("expires_at", |value| {
        fields::instant(value)
            .and_then(|at| if at > now { Ok(at) } else { Err("must be in the future".into()) })
    });
    fields.finish()?;
    Ok(NewKeyBody {
        scope: scope?,
        label: label?.unwrap_or_default(),
        domains: domains?,
        expires_at: expires_at?,
    })
}

fn tenant_scope(value: &Value) -> Result<Scope, String> {
    let scope = Scope::parse(fields::string(value)?).filter(|scope| *scope != Scope::Operator);
    scope.ok_or_else(|| "must be one of admin, editor, minter, moderator, reader".to_owned())
}

/// POST /api/v1/keys
pub async fn create(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let (author, tenant_id) = (caller.author(), caller.tenant_id);
    once.run(author, async |conn| {
        let now = state.clock.now();
        let new = parse(&body, now)?;
        let owned = store::list_owned_domains(&mut *conn, tenant_id, &new.domains).await?;
        let strangers =
            new.domains.iter().enumerate().filter(|(_, path)| owned.iter().all(|(known, _)| known != *path));
        let problem = strangers.fold(Problem::new(&INVALID), |problem, (index, path)| {
            problem.fault(format!("/domains/{index}"), format!("`{path}` is not a domain of this tenant"))
        });
        if problem.has_faults() {
            return Err(problem);
        }
        quotas::admit_key(conn, tenant_id, &Defaults::from(&state.quotas), now).await??;
        let key = ApiKey::generate(&state.ids, now);
        let domain_ids: Vec<i64> = owned.into_iter().map(|(_, id)| id).collect();
        let stored = NewKey {
            api_key_id: key.id(),
            tenant_id: Some(tenant_id),
            scope: new.scope.as_str(),
            label: &new.label,
            secret_sha256: key.secret_sha256(),
            created_at: now,
            expires_at: new.expires_at,
            domain_ids: &domain_ids,
        };
        store::insert_key(conn, author.actor, &stored).await?;
        let row = store::find_key(conn, Some(tenant_id), key.id()).await?.ok_or_else(Problem::not_found)?;
        Ok(shown(StatusCode::CREATED, row, Some(&key)))
    })
    .await
}

/// A key with its ETag; a new one with its secret and Location.
fn shown(status: StatusCode, row: KeyRow, new: Option<&ApiKey>) -> Response {
    let (id, revision) = (row.api_key_id, revision(row.revoked_at.is_some()));
    let view = Key { key: new.map(ApiKey::reveal), ..row.into() };
    let headers = [
        (header::ETAG, etag::of_revision(revision)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = (status, headers, Json(view)).into_response();
    if new.is_some()
        && let Ok(location) = format!("/api/v1/keys/{id}").try_into()
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// A key changes once: it is revoked. Its last use is no change of it.
fn revision(revoked: bool) -> i64 {
    if revoked { 2 } else { 1 }
}

/// GET /api/v1/keys
pub async fn list(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let asked = query.page_of(&KEYS, caller.tenant_id, Vec::new())?;
    let page = list_keys(state.db.management(), caller.tenant_id, &asked.window).await?;
    asked.answer(page.map(Key::from))
}

/// GET /api/v1/keys/{id}
pub async fn read(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    TextPath(id): TextPath<String>,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::not_found())?;
    let row = store::find_key(state.db.management(), Some(caller.tenant_id), id)
        .await?
        .ok_or_else(Problem::not_found)?;
    Ok(shown(StatusCode::OK, row, None))
}

/// DELETE /api/v1/keys/{id}: revokes; the row stays. Again changes nothing, whatever If-Match says.
pub async fn revoke(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    TextPath(id): TextPath<String>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::not_found())?;
    let tenant_id = Some(caller.tenant_id);
    let mut tx = state.db.begin().await?;
    let key = store::lock_key(&mut tx, tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    if !key.revoked {
        if_match.check(revision(false))?;
    }
    store::revoke_key(&mut tx, caller.author().actor, &key, state.clock.now()).await?;
    let row = store::find_key(&mut *tx, tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let committed = db::commit(tx).await;
    // Whatever came of it: a connection that broke may have revoked it.
    state.keys.evict(id);
    committed?;
    Ok(shown(StatusCode::OK, row, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_key_cannot_be_made_over_http() {
        let mut body = serde_json::Map::new();
        body.insert("scope".into(), "operator".into());
        assert!(parse(&JsonObject(body), OffsetDateTime::UNIX_EPOCH).is_err());
    }
}
