//! Tenants, for the operator.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use time::OffsetDateTime;

use super::Tenancy;
use super::problems::SLUG_TAKEN;
use crate::db;
use crate::http::Problem;
use crate::http::auth::Operator;
use crate::http::body::JsonObject;
use crate::http::fields;
use crate::http::id::TextPath;
use crate::http::idempotency::Keyed;
use crate::tenancy::slug::Slug;
use crate::tenancy::store;

#[derive(Serialize)]
struct Tenant {
    #[serde(with = "crate::ids::as_string")]
    tenant_id: i64,
    slug: String,
    name: String,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
}

impl From<store::Tenant> for Tenant {
    fn from(row: store::Tenant) -> Self {
        Self { tenant_id: row.tenant_id, slug: row.slug, name: row.name, created_at: row.created_at }
    }
}

/// POST /api/v1/tenants
pub async fn create(
    State(state): State<Tenancy>,
    operator: Operator,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let mut fields = body.fields();
    let slug = fields.required("slug", |value| Slug::parse(fields::string(value)?));
    let name = fields.optional("name", fields::text(1..=200));
    fields.finish()?;
    let (slug, name) = (slug?, name?);
    let name = name.unwrap_or_else(|| slug.as_str().to_owned());
    let author = operator.author();
    once.run(author, async |conn| {
        let now = state.clock.now();
        let tenant = store::insert_tenant(conn, author.actor, &slug, &name, now).await.map_err(refused)?;
        let location = format!("/api/v1/tenants/{}", tenant.slug);
        Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(Tenant::from(tenant))).into_response())
    })
    .await
}

/// GET /api/v1/tenants/{slug}
pub async fn read(
    State(state): State<Tenancy>,
    _: Operator,
    TextPath(slug): TextPath<String>,
) -> Result<Response, Problem> {
    let tenant = store::find_tenant(state.db.management(), &slug).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Tenant::from(tenant)).into_response())
}

fn refused(error: db::Error) -> Problem {
    if error.is_unique("tenants_slug_key") { Problem::new(&SLUG_TAKEN) } else { error.into() }
}
