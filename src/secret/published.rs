//! `/.well-known/resolute-keys.json`: every public signing key, for ever, so that an old signature can be checked.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::json;
use time::OffsetDateTime;

use super::store::{PublishedKey, list_keys};
use crate::db::Db;
use crate::http::Problem;
use crate::http::describe::{Answer, Schema};
use crate::http::route::{Access, Route};
use crate::http::schema::{
    ANY_ORIGIN, CACHE_CONTROL, about, array, instant, integer, nullable, object, string, words,
};

/// The routes.
pub const ROUTES: &[Route] = &[Route::new("GET", "/.well-known/resolute-keys.json", Access::Public)
    .about("Documentation", "Every public signing key, for ever")
    .answers(&[Answer::json(200, "The keys.", KEYS).headers(&[CACHE_CONTROL, ANY_ORIGIN])])];

const KEYS: Schema = Schema::new("SigningKeys", || {
    let key = object(json!({
        "epoch": integer(0, None),
        "algorithm": words(&["Ed25519"]),
        "public_key": about(string(), "32 bytes in Base64 (RFC 4648, section 4)."),
        "created_at": instant(),
        "retired_at": nullable(instant()),
    }));
    object(json!({"keys": array(key, 0, None)}))
});

/// The router, closed over the database.
pub fn router(db: Db) -> Router {
    Router::new().route("/.well-known/resolute-keys.json", get(keys)).with_state(db)
}

#[derive(Serialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Serialize)]
struct Key {
    epoch: i32,
    algorithm: &'static str,
    /// 32 bytes in Base64 (RFC 4648, section 4).
    public_key: String,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    retired_at: Option<OffsetDateTime>,
}

impl From<PublishedKey> for Key {
    fn from(key: PublishedKey) -> Self {
        Self {
            epoch: key.epoch,
            algorithm: "Ed25519",
            public_key: STANDARD.encode(key.public_key),
            created_at: key.created_at,
            retired_at: key.retired_at,
        }
    }
}

async fn keys(State(db): State<Db>) -> Result<Response, Problem> {
    let keys = list_keys(db.management()).await?.into_iter().map(Key::from).collect();
    let mut response = Json(Keys { keys }).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}
