//! The routes of domains and names, as `router` registers them, with their description; and resolution.

use super::problems::{
    CHECKS_BROKEN, DOMAIN_SHADOWS, DOMAIN_TAKEN, EXPIRED, NAME_SWALLOWED, NAME_TAKEN, NAME_WITHDRAWN,
    NOT_ACCEPTABLE, RULE_BAD_REQUEST, RULE_FORBIDS, RULE_GONE, RULES_GO_ROUND, TEMPORARILY_GONE, WITHDRAWN,
};
use super::schemas::{
    self, DOMAIN, DOMAIN_PAGE, DOMAIN_SETTINGS, INFO, INFO_LINKED, NEW_DOMAIN, NEW_PURL, PURL, PURL_ANSWER,
    PURL_PAGE, RESTORATION, REVISION_PAGE, WITHDRAWAL,
};
use crate::http::describe::{Answer, Header, Parameter};
use crate::http::problem_codes::{INVALID, NOT_FOUND, QUOTA_EXCEEDED};
use crate::http::route::{Access, Route};
use crate::http::schema::{
    ANY_ORIGIN, CACHE_CONTROL, CURSOR, ETAG, IDEMPOTENCY_KEY, IF_MATCH, IF_MATCH_REQUIRED, LIMIT, LOCATION,
    PAGE_HEADERS, REPLAYED, string, text,
};

const DOMAINS: &str = "Domains";
const NAMES: &str = "Names";
const RESOLVING: &str = "Resolution";

const REASON: Parameter = Parameter::query("reason", "Why; the body's counts more.", || text(1, 1000));
const SUCCESSOR: Parameter =
    Parameter::query("successor", "What to use instead; the body's counts more.", schemas::target);
const OF_DOMAIN: Parameter =
    Parameter::query("domain", "Path of the domain; empty: the root domain.", string).required(&[&INVALID]);
const STATE: Parameter = Parameter::query("state", "Only names that are in it now.", schemas::state);

const MADE: &[Header] = &[ETAG, LOCATION, REPLAYED];
const READ_DOMAIN: &[Answer] = &[Answer::json(200, "The domain.", DOMAIN).headers(&[ETAG])];
const CHANGED_DOMAIN: &[Answer] = &[Answer::json(200, "Changed.", DOMAIN).headers(&[ETAG])];
const CHANGE_HELP: &str = "What the body leaves out goes back to its default.";

/// The routes. Resolution is the fallback of the whole table and stands in no row of it.
pub const ROUTES: &[Route] = &[
    Route::new("POST", "/api/v1/domains", Access::EditOrOperate)
        .about(DOMAINS, "Makes a domain")
        .help("An operator makes top-level domains and names their `tenant`; below its own domains a tenant makes them itself.")
        .parameters(&[IDEMPOTENCY_KEY])
        .body(NEW_DOMAIN)
        .answers(&[Answer::json(201, "Made.", DOMAIN).headers(MADE)])
        .problems(&[&NOT_FOUND, &DOMAIN_TAKEN, &DOMAIN_SHADOWS, &QUOTA_EXCEEDED]),
    Route::new("GET", "/api/v1/domains", Access::Read)
        .about(DOMAINS, "The domains of the tenant, in order of path")
        .parameters(&[LIMIT, CURSOR])
        .answers(&[Answer::json(200, "A page.", DOMAIN_PAGE).headers(PAGE_HEADERS)]),
    Route::new("GET", "/api/v1/domains/", Access::Read)
        .about(DOMAINS, "The root domain")
        .answers(READ_DOMAIN)
        .problems(&[&NOT_FOUND]),
    Route::new("PUT", "/api/v1/domains/", Access::Edit)
        .about(DOMAINS, "Replaces the settings of the root domain")
        .help(CHANGE_HELP)
        .parameters(&[IF_MATCH_REQUIRED])
        .body(DOMAIN_SETTINGS)
        .answers(CHANGED_DOMAIN)
        .problems(&[&NOT_FOUND, &CHECKS_BROKEN]),
    Route::new("GET", "/api/v1/domains/{*path}", Access::Read)
        .about(DOMAINS, "A domain with its settings")
        .answers(READ_DOMAIN),
    Route::new("PUT", "/api/v1/domains/{*path}", Access::Edit)
        .about(DOMAINS, "Replaces the settings of a domain")
        .help(CHANGE_HELP)
        .parameters(&[IF_MATCH_REQUIRED])
        .body(DOMAIN_SETTINGS)
        .answers(CHANGED_DOMAIN)
        .problems(&[&CHECKS_BROKEN]),
    Route::new("POST", "/api/v1/purls", Access::Mint)
        .about(NAMES, "Makes a name")
        .parameters(&[IDEMPOTENCY_KEY])
        .body(NEW_PURL)
        .answers(&[Answer::json(201, "Made.", PURL).headers(MADE)])
        .problems(&[&NOT_FOUND, &NAME_TAKEN, &NAME_SWALLOWED, &QUOTA_EXCEEDED]),
    Route::new("GET", "/api/v1/purls", Access::Read)
        .about(NAMES, "The names of a domain in order, tombstones included")
        .parameters(&[OF_DOMAIN, STATE, LIMIT, CURSOR])
        .answers(&[Answer::json(200, "A page.", PURL_PAGE).headers(PAGE_HEADERS)])
        .problems(&[&NOT_FOUND]),
    Route::new("GET", "/api/v1/purls/{*path}", Access::Read)
        .about(NAMES, "A name as it is now, tombstones included")
        .answers(&[Answer::json(200, "The name.", PURL).headers(&[ETAG])]),
    Route::new("PUT", "/api/v1/purls/{*path}", Access::Edit)
        .about(NAMES, "Replaces how a name answers")
        .help("What the body leaves out goes back to its default. A body that changes nothing makes no revision.")
        .parameters(&[IF_MATCH_REQUIRED])
        .body(PURL_ANSWER)
        .answers(&[Answer::json(200, "Changed, or as it was.", PURL).headers(&[ETAG])])
        .problems(&[&NAME_WITHDRAWN]),
    Route::new("DELETE", "/api/v1/purls/{*path}", Access::Tombstone)
        .about(NAMES, "Withdraws a name, for ever")
        .help("Reason and successor come in the body or, for clients that send none with DELETE, in the query.")
        .parameters(&[IF_MATCH, REASON, SUCCESSOR])
        .optional_body(WITHDRAWAL)
        .answers(&[Answer::json(200, "Withdrawn.", PURL).headers(&[ETAG])])
        .problems(&[&NAME_WITHDRAWN]),
    Route::new("GET", "/api/v1/purl-revisions/{*path}", Access::Read)
        .about(NAMES, "Every state a name has had, the newest first")
        .parameters(&[LIMIT, CURSOR])
        .answers(&[Answer::json(200, "A page.", REVISION_PAGE).headers(PAGE_HEADERS)]),
    Route::new("POST", "/api/v1/purl-revisions/{*path}", Access::Edit)
        .about(NAMES, "Puts a name back into an earlier state")
        .help("A tombstone answers again, or a change is taken back. The earlier state becomes the newest revision.")
        .parameters(&[IF_MATCH_REQUIRED])
        .optional_body(RESTORATION)
        .answers(&[Answer::json(200, "As it was in the earlier state.", PURL).headers(&[ETAG])]),
];

const WEAK_ETAG: Header = Header::always("ETag", "Changes with the name and with its domain's settings.");
const TARGET: Header =
    Header::always("Location", "The target, byte for byte, with what the request adds to it.");
const DESCRIBED: Header = Header::always("Link", "`describedby`: the same path with `?info`.");
const REDIRECT: &[Header] = &[TARGET, CACHE_CONTROL, WEAK_ETAG, DESCRIBED, ANY_ORIGIN];
const KEPT: &[Header] = &[CACHE_CONTROL, ANY_ORIGIN];
/// An address that the server keeps for itself has no such header.
const MAYBE_ANY_ORIGIN: Header = Header::sometimes(ANY_ORIGIN.name, ANY_ORIGIN.help);
const ALLOWED: &[Header] = &[
    Header::always("Allow", "`GET, HEAD, OPTIONS`."),
    Header::always("Access-Control-Allow-Methods", "The same."),
    ANY_ORIGIN,
];

/// Resolution, as far as OpenAPI can say it: GET, HEAD and OPTIONS of every path that no route takes.
pub const RESOLUTION: &[Route] = &[
    Route::new("GET", "/{*path}", Access::Public)
        .about(RESOLVING, "Resolves a name")
        .help("The longest registered domain that is a prefix of the path answers. The query goes along as the domain says. With `Accept: text/html` before JSON, what is gone or unknown is told on a page.")
        .answers(&[
            Answer::json(200, "What is known of the path, where the whole query is `info`; in the form that `Accept` prefers.", INFO).headers(KEPT),
            Answer::json_of(200, "As linked data.", "application/ld+json", INFO_LINKED),
            Answer::page(200, "As a page."),
            Answer::text(200, "As ARKs tell of themselves."),
            Answer::empty(204, "Nothing, by a rule of the domain.").headers(KEPT),
            Answer::empty(301, "Moved for good.").headers(REDIRECT),
            Answer::empty(302, "Found.").headers(REDIRECT),
            Answer::empty(303, "See other: the target is about the thing.").headers(REDIRECT),
            Answer::empty(307, "For now, with the same method.").headers(REDIRECT),
            Answer::empty(308, "For good, with the same method.").headers(REDIRECT),
            Answer::page(404, "As a page, for those who ask for one.").headers(&[MAYBE_ANY_ORIGIN]),
            Answer::page(410, "As a page, for those who ask for one.").headers(KEPT),
        ])
        .problems(&[&TEMPORARILY_GONE, &WITHDRAWN, &EXPIRED, &RULE_FORBIDS, &NOT_ACCEPTABLE, &RULE_GONE, &RULE_BAD_REQUEST, &RULES_GO_ROUND]),
    Route::new("OPTIONS", "/{*path}", Access::Public)
        .about(RESOLVING, "Tells scripts of other origins that they may resolve")
        .answers(&[Answer::empty(204, "For every path that is not the server's own.").headers(ALLOWED)]),
];
