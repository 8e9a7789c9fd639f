//! The routes of tenants, quotas, keys and the audit log, as `router` registers them, with their description.

use super::problems::SLUG_TAKEN;
use super::schemas::{
    AUDIT_PAGE, CREATED_KEY, KEY, KEY_PAGE, NEW_KEY, NEW_TENANT, QUOTA_SETTINGS, QUOTAS, TENANT,
    TENANT_QUOTAS,
};
use crate::http::describe::{Answer, Header, Parameter};
use crate::http::problem_codes::QUOTA_EXCEEDED;
use crate::http::route::{Access, Route};
use crate::http::schema::{
    CACHE_CONTROL, CURSOR, ETAG, IDEMPOTENCY_KEY, IF_MATCH, IF_MATCH_REQUIRED, LIMIT, LOCATION, PAGE_HEADERS,
    REPLAYED, uuid,
};

const TAG: &str = "Tenants and keys";

const KEY_ID: Parameter = Parameter::path("id", "The id of the key.", uuid);

const SEEN: &[Header] = &[ETAG, CACHE_CONTROL];

/// The routes.
pub const ROUTES: &[Route] = &[
    Route::new("POST", "/api/v1/tenants", Access::Operate)
        .about(TAG, "Makes a tenant")
        .parameters(&[IDEMPOTENCY_KEY])
        .body(NEW_TENANT)
        .answers(&[Answer::json(201, "Made.", TENANT).headers(&[LOCATION, REPLAYED])])
        .problems(&[&SLUG_TAKEN]),
    Route::new("GET", "/api/v1/tenants/{slug}", Access::Operate)
        .about(TAG, "A tenant")
        .answers(&[Answer::json(200, "The tenant.", TENANT)]),
    Route::new("GET", "/api/v1/tenants/{slug}/quotas", Access::Operate)
        .about(TAG, "What is set of a tenant's quotas, and what is in force")
        .answers(&[Answer::json(200, "The quotas.", TENANT_QUOTAS).headers(&[ETAG])]),
    Route::new("PUT", "/api/v1/tenants/{slug}/quotas", Access::Operate)
        .about(TAG, "Replaces the quotas of a tenant")
        .help("What the body leaves out, or gives as null, goes back to the configuration; 0 is no limit.")
        .parameters(&[IF_MATCH_REQUIRED])
        .body(QUOTA_SETTINGS)
        .answers(&[Answer::json(200, "Set.", TENANT_QUOTAS).headers(&[ETAG])]),
    Route::new("GET", "/api/v1/quotas", Access::Administer)
        .about(TAG, "What the tenant may have, and what it has")
        .answers(&[Answer::json(200, "Limits and use.", QUOTAS).headers(&[CACHE_CONTROL])]),
    Route::new("POST", "/api/v1/keys", Access::Administer)
        .about(TAG, "Makes a key")
        .help("The answer has the key itself, this once.")
        .parameters(&[IDEMPOTENCY_KEY])
        .body(NEW_KEY)
        .answers(&[Answer::json(201, "Made.", CREATED_KEY).headers(&[
            ETAG,
            LOCATION,
            CACHE_CONTROL,
            REPLAYED,
        ])])
        .problems(&[&QUOTA_EXCEEDED]),
    Route::new("GET", "/api/v1/keys", Access::Administer)
        .about(TAG, "The keys of the tenant, in order of creation")
        .parameters(&[LIMIT, CURSOR])
        .answers(&[Answer::json(200, "A page.", KEY_PAGE).headers(PAGE_HEADERS)]),
    Route::new("GET", "/api/v1/keys/{id}", Access::Administer)
        .about(TAG, "A key")
        .parameters(&[KEY_ID])
        .answers(&[Answer::json(200, "The key, without its secret.", KEY).headers(SEEN)]),
    Route::new("DELETE", "/api/v1/keys/{id}", Access::Administer)
        .about(TAG, "Revokes a key, for ever")
        .parameters(&[KEY_ID, IF_MATCH])
        .answers(&[Answer::json(200, "Revoked, now or before.", KEY).headers(SEEN)]),
    Route::new("GET", "/api/v1/audit-log", Access::Administer)
        .about(TAG, "Every administrative act of the tenant, the newest first")
        .parameters(&[LIMIT, CURSOR])
        .answers(&[Answer::json(200, "A page.", AUDIT_PAGE).headers(PAGE_HEADERS)]),
];
