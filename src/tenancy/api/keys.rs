//! The keys of a tenant, for its admins. A key's secret is in the answer of its creation and nowhere else.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Tenancy;
use crate::db;
use crate::http::Problem;
use crate::http::auth::{MayAdminister, Scope};
use crate::http::body::JsonObject;
use crate::http::fields;
use crate::http::id::TextPath;
use crate::http::paging;
use crate::http::problem_codes::INVALID;
use crate::tenancy::key::ApiKey;
use crate::tenancy::store::key_list::{KEYS, list_keys};
use crate::tenancy::store::{self, KeyRow, NewKey};

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
    body: JsonObject,
) -> Result<Response, Problem> {
    let now = state.clock.now();
    let new = parse(&body, now)?;
    let pool = state.db.management();
    let owned = store::list_owned_domains(pool, caller.tenant_id, &new.domains).await?;
    let strangers =
        new.domains.iter().enumerate().filter(|(_, path)| owned.iter().all(|(known, _)| known != *path));
    let problem = strangers.fold(Problem::new(&INVALID), |problem, (index, path)| {
        problem.fault(format!("/domains/{index}"), format!("`{path}` is not a domain of this tenant"))
    });
    if problem.has_faults() {
        return Err(problem);
    }
    let key = ApiKey::generate(&state.ids, now);
    let domain_ids: Vec<i64> = owned.into_iter().map(|(_, id)| id).collect();
    store::insert_key(
        pool,
        &NewKey {
            api_key_id: key.id(),
            tenant_id: Some(caller.tenant_id),
            scope: new.scope.as_str(),
            label: &new.label,
            secret_sha256: key.secret_sha256(),
            created_at: now,
            expires_at: new.expires_at,
            domain_ids: &domain_ids,
        },
    )
    .await?;
    let row = get_written(&state, caller.tenant_id, key.id()).await?;
    let shown = Key { key: Some(key.reveal()), ..row.into() };
    let headers = [
        (header::LOCATION, format!("/api/v1/keys/{}", key.id())),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((StatusCode::CREATED, headers, Json(shown)).into_response())
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
    Ok(Json(Key::from(row)).into_response())
}

/// DELETE /api/v1/keys/{id}: revokes; the row stays.
pub async fn revoke(
    State(state): State<Tenancy>,
    MayAdminister(caller): MayAdminister,
    TextPath(id): TextPath<String>,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::not_found())?;
    let pool = state.db.management();
    let revoked = store::revoke_key(pool, Some(caller.tenant_id), id, state.clock.now()).await;
    // Whatever came of it: a connection that broke may have revoked it.
    state.keys.evict(id);
    if !revoked? {
        return Err(Problem::not_found());
    }
    let row = get_written(&state, caller.tenant_id, id).await?;
    Ok(Json(Key::from(row)).into_response())
}

/// The key after a write that is committed: a failure must not say that nothing was written.
async fn get_written(state: &Tenancy, tenant_id: i64, id: Uuid) -> Result<KeyRow, Problem> {
    let found = store::find_key(state.db.management(), Some(tenant_id), id).await;
    found.map_err(db::Error::during_commit)?.ok_or_else(Problem::not_found)
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
