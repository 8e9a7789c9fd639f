//! `/api/v1/openapi.json` and `/docs/api`: the document of the API, and the page on which it is read and tried.
//! Both are made once, when the router is.

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::describe::{Answer, Schema};
use super::route::{Access, Route};
use super::{api_page, openapi, schema};

const TAG: &str = "Documentation";

const DOCUMENT: Schema = Schema::new("Document", || {
    json!({
        "type": "object",
        "description": "An OpenAPI 3.1 document: this one.",
        "required": ["openapi", "info", "paths"],
        "properties": {"openapi": {"type": "string", "pattern": "^3\\.1\\."}},
    })
});

/// The routes.
pub const ROUTES: &[Route] = &[
    Route::new("GET", "/api/v1/openapi.json", Access::Public)
        .about(TAG, "This document")
        .answers(&[Answer::json(200, "The document.", DOCUMENT)
            .headers(&[schema::CACHE_CONTROL, schema::ANY_ORIGIN])]),
    Route::new("GET", "/docs/api", Access::Public)
        .about(TAG, "This document as a page, with a form for every operation")
        .answers(&[Answer::page(200, "The page.").headers(&[schema::CACHE_CONTROL])]),
];

/// How long both may be kept: an upgrade must show soon.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=60");

/// The router, over the document and the page of these routes.
pub fn router(routes: &[Route]) -> Router {
    let document: Bytes = text(routes).into();
    let document_head = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (header::CACHE_CONTROL, KEPT),
    ];
    let page: Bytes = api_page::page(routes).into();
    let page_head: [(HeaderName, HeaderValue); 5] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy()),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, KEPT),
    ];
    Router::new()
        .route(
            "/api/v1/openapi.json",
            get(move || std::future::ready((document_head.clone(), document.clone()))),
        )
        .route("/docs/api", get(move || std::future::ready((page_head.clone(), page.clone()))))
}

/// The document as it is served, printed and committed.
pub fn text(routes: &[Route]) -> String {
    format!("{:#}\n", openapi::document(routes))
}

/// The page has its own style and script and nothing else; it talks to this server only.
fn policy() -> HeaderValue {
    let (style, script) = (source(api_page::STYLE), source(api_page::SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src {style}; script-src {script}; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("a policy of ASCII words and Base64")
}

/// An inline source by its hash (CSP level 3, 8.3).
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}
