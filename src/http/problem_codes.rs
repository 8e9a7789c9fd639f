//! The problem codes that every route can answer with. Features have their own beside their routes; `app` joins
//! them for the documentation.

use super::problem::ProblemCode;

/// 400 malformed JSON.
pub const BAD_JSON: ProblemCode = ProblemCode {
    code: "bad_json",
    status: 400,
    title: "The body is not JSON",
    help: "The body could not be read as JSON; the detail names line and column.",
};
/// 400 a malformed header.
pub const BAD_HEADER: ProblemCode = ProblemCode {
    code: "bad_header",
    status: 400,
    title: "A header is malformed",
    help: "A request header has a form that this route does not understand; the detail names it.",
};
/// 400 a malformed path.
pub const BAD_PATH: ProblemCode = ProblemCode {
    code: "bad_path",
    status: 400,
    title: "The path is malformed",
    help: "The path has a broken percent-escape or does not decode to UTF-8.",
};
/// 400 a cursor that was not made for this listing.
pub const CURSOR_INVALID: ProblemCode = ProblemCode {
    code: "cursor_invalid",
    status: 400,
    title: "The cursor is not one of this listing",
    help: "A cursor is good for the listing, tenant and filters that it was made for, and only unchanged. Follow the links of a page as they are, or start again without a cursor.",
};
/// 401.
pub const UNAUTHENTICATED: ProblemCode = ProblemCode {
    code: "unauthenticated",
    status: 401,
    title: "No valid key",
    help: "Send `Authorization: Bearer <key>`. The key is missing, malformed, unknown, expired or revoked, or of the wrong kind: a ballot is cast with a ballot token (`rsb_…`), all else is managed with a key (`rsl_…`). The answer does not say which.",
};
/// 403.
pub const FORBIDDEN: ProblemCode = ProblemCode {
    code: "forbidden",
    status: 403,
    title: "The key may not do this",
    help: "The key is valid, but its scope or its domain limits do not cover this act; the detail names what would.",
};
/// 404.
pub const NOT_FOUND: ProblemCode = ProblemCode {
    code: "not_found",
    status: 404,
    title: "Not found",
    help: "There is nothing at this address, or it is not yours: both look the same on purpose.",
};
/// 405.
pub const METHOD_NOT_ALLOWED: ProblemCode = ProblemCode {
    code: "method_not_allowed",
    status: 405,
    title: "Method not allowed",
    help: "The address exists but not for this method; the `Allow` header lists those that do.",
};
/// 408.
pub const REQUEST_TIMEOUT: ProblemCode = ProblemCode {
    code: "request_timeout",
    status: 503,
    title: "The request took too long",
    help: "The server gave up on this request. A write may or may not have happened: read the resource before trying again, or repeat with the same Idempotency-Key where the route takes one.",
};
/// 409 where a tenant has as much as it may have.
pub const QUOTA_EXCEEDED: ProblemCode = ProblemCode {
    code: "quota_exceeded",
    status: 409,
    title: "The tenant has no room for this",
    help: "`quota` names what the tenant may have no more of, `limit` how many it may have, `used` how many it has (counted no further than one beyond the limit) and `wanted` how many this would add. Nothing was made. The operator sets the limits; `GET /api/v1/quotas` shows them.",
};
/// 412.
pub const PRECONDITION_FAILED: ProblemCode = ProblemCode {
    code: "precondition_failed",
    status: 412,
    title: "It has changed meanwhile",
    help: "If-Match names another revision than the current one. Read it again, then repeat the change with the new ETag.",
};
/// 413.
pub const BODY_TOO_LARGE: ProblemCode = ProblemCode {
    code: "body_too_large",
    status: 413,
    title: "The body is too large",
    help: "The limit is `server.body_limit_bytes`.",
};
/// 415.
pub const UNSUPPORTED_MEDIA_TYPE: ProblemCode = ProblemCode {
    code: "unsupported_media_type",
    status: 415,
    title: "Not a JSON body",
    help: "Send the body with `Content-Type: application/json`.",
};
/// 422.
pub const INVALID: ProblemCode = ProblemCode {
    code: "invalid",
    status: 422,
    title: "The request is well-formed but not valid",
    help: "`errors` lists every fault with a JSON pointer to its place.",
};
/// 422.
pub const IDEMPOTENCY_KEY_REUSED: ProblemCode = ProblemCode {
    code: "idempotency_key_reused",
    status: 422,
    title: "The Idempotency-Key belongs to another request",
    help: "The same caller has sent this key before with another method, path or body. Use a new key for a new request.",
};
/// 428.
pub const PRECONDITION_REQUIRED: ProblemCode = ProblemCode {
    code: "precondition_required",
    status: 428,
    title: "If-Match is required",
    help: "A lost update would hurt here: send the ETag of the revision that you have read as `If-Match`.",
};
/// 429.
pub const RATE_LIMITED: ProblemCode = ProblemCode {
    code: "rate_limited",
    status: 429,
    title: "Too often",
    help: "Nothing was done. Try again after `Retry-After` seconds; `RateLimit-Policy` says what is allowed and `RateLimit` what is left of it. Limited are the requests of an API key and, where the operator says so, those of a tenant, writes without a credential, and credentials that are wrong.",
};
/// 500.
pub const INTERNAL: ProblemCode = ProblemCode {
    code: "internal",
    status: 500,
    title: "A defect of the server",
    help: "Nothing was half done. The log has the cause under the request id in `instance`.",
};
/// 503.
pub const UNAVAILABLE: ProblemCode = ProblemCode {
    code: "unavailable",
    status: 503,
    title: "Not now",
    help: "The database is away, slow or full, or the server is too busy. Nothing was written; try again after `Retry-After` seconds.",
};
/// 503 during COMMIT.
pub const OUTCOME_UNKNOWN: ProblemCode = ProblemCode {
    code: "outcome_unknown",
    status: 503,
    title: "It may or may not have happened",
    help: "The connection to the database broke while the write was being committed. Where the route takes an Idempotency-Key, a retry with the same key is safe; elsewhere read the resource first.",
};

/// All of them, in the order of their status.
pub const ALL: &[&ProblemCode] = &[
    &BAD_JSON,
    &BAD_HEADER,
    &BAD_PATH,
    &CURSOR_INVALID,
    &UNAUTHENTICATED,
    &FORBIDDEN,
    &NOT_FOUND,
    &METHOD_NOT_ALLOWED,
    &QUOTA_EXCEEDED,
    &PRECONDITION_FAILED,
    &BODY_TOO_LARGE,
    &UNSUPPORTED_MEDIA_TYPE,
    &INVALID,
    &IDEMPOTENCY_KEY_REUSED,
    &PRECONDITION_REQUIRED,
    &RATE_LIMITED,
    &INTERNAL,
    &UNAVAILABLE,
    &OUTCOME_UNKNOWN,
    &REQUEST_TIMEOUT,
];
