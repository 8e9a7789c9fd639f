//! The routes of a domain's hand-over, as `router` registers them, with their description.

use serde_json::json;

use crate::http::describe::{Answer, Schema};
use crate::http::problem_codes::NOT_FOUND;
use crate::http::route::{Access, Route};
use crate::http::schema::{IDEMPOTENCY_KEY, REPLAYED, about, body, instant, nullable, object, string};

const DOMAINS: &str = "Domains";

const HANDOVER: Schema = Schema::new("Handover", || {
    object(json!({
        "domain": string(),
        "owner": about(string(), "Slug of the tenant that has the rights now."),
        "offered_to": about(nullable(string()), "Slug of the tenant that may accept."),
        "offered_at": nullable(instant()),
    }))
});
const OFFER: Schema = Schema::new("DomainOffer", || {
    let tenant = about(string(), "Slug of the tenant that is to have the domain.");
    body(&["tenant"], json!({"tenant": tenant}), json!({"tenant": "acme"}))
});
const ACCEPTANCE: Schema = Schema::new("DomainAcceptance", || body(&[], json!({}), json!({})));

const TOLD: &[Answer] = &[Answer::json(200, "As it is now.", HANDOVER)];
const DONE: &[Answer] = &[Answer::json(200, "As it is now.", HANDOVER).headers(&[REPLAYED])];

const READ: Route = Route::new("GET", "/api/v1/domain-handovers/", Access::Administer)
    .about(DOMAINS, "Whose a domain is, and to whom it is offered")
    .help("For its owner, and for the tenant that it is offered to.")
    .answers(TOLD)
    .problems(&[&NOT_FOUND]);

const MAKE: Route = Route::new("POST", "/api/v1/domain-handovers/", Access::AdministerOrOperate)
    .about(DOMAINS, "Offers a domain to a tenant")
    .help("It takes the place of an earlier offer. An operator's key hands the domain over at once, without an acceptance.")
    .parameters(&[IDEMPOTENCY_KEY])
    .body(OFFER)
    .answers(DONE)
    .problems(&[&NOT_FOUND]);

const WITHDRAW: Route = Route::new("DELETE", "/api/v1/domain-handovers/", Access::Administer)
    .about(DOMAINS, "Takes an offer back, or declines it")
    .answers(&[Answer::empty(204, "It is offered to nobody.")])
    .problems(&[&NOT_FOUND]);

const ACCEPT: Route = Route::new("POST", "/api/v1/domain-acceptances/", Access::Administer)
    .about(DOMAINS, "Accepts a domain that is offered")
    .help("All rights move at once, and no name or rule does.")
    .parameters(&[IDEMPOTENCY_KEY])
    .body(ACCEPTANCE)
    .answers(DONE)
    .problems(&[&NOT_FOUND]);

/// The routes.
pub const HANDOVER_ROUTES: &[Route] = &[
    READ,
    Route { path: "/api/v1/domain-handovers/{*path}", ..READ },
    MAKE,
    Route { path: "/api/v1/domain-handovers/{*path}", ..MAKE },
    WITHDRAW,
    Route { path: "/api/v1/domain-handovers/{*path}", ..WITHDRAW },
    ACCEPT,
    Route { path: "/api/v1/domain-acceptances/{*path}", ..ACCEPT },
];
