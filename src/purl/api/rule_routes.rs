//! The routes of rules and checks, as `router` registers them, with their description. A wildcard takes no empty path, so each
//! has a twin for the root domain.

use super::problems::CHECKS_BROKEN;
use super::rule_schemas::{
    CHECKS, EXPLANATION, NEW_CHECKS, NEW_RULES, ROLL_BACK, RULE_CHANGE, RULE_REVISION_PAGE, RULES,
};
use crate::http::describe::{Answer, Parameter};
use crate::http::problem_codes::{INVALID, NOT_FOUND};
use crate::http::route::{Access, Route};
use crate::http::schema::{CURSOR, ETAG, IF_MATCH_REQUIRED, LIMIT, PAGE_HEADERS, string, words};

const RULES_TAG: &str = "Rules";
const DRY_RUN: Parameter =
    Parameter::query("dry_run", "Change nothing, and say what would be.", || words(&["true", "false"]));
const OLD_REVISION: Parameter = Parameter::query("revision", "An earlier state, by its number.", string);
const EXPLAINED_PATH: Parameter =
    Parameter::query("path", "As it is sent, with its leading slash and its query.", string)
        .required(&[&INVALID]);
const ACCEPT: Parameter = Parameter::query("accept", "The request's Accept.", string);
const ACCEPT_LANGUAGE: Parameter = Parameter::query("accept_language", "Its Accept-Language.", string);
const USER_AGENT: Parameter = Parameter::query("user_agent", "Its User-Agent.", string);

const CHANGED_RULES: &[Answer] =
    &[Answer::json(200, "What it does, or would do.", RULE_CHANGE).headers(&[ETAG])];

const READ_RULES: Route = Route::new("GET", "/api/v1/domain-rules/", Access::Read)
    .about(RULES_TAG, "The rules of a domain, in their order")
    .help("The ETag is that of the rules in force, also beside an earlier state.")
    .parameters(&[OLD_REVISION])
    .answers(&[Answer::json(200, "The rules.", RULES).headers(&[ETAG])])
    .problems(&[&NOT_FOUND]);

const PUT_RULES: Route = Route::new("PUT", "/api/v1/domain-rules/", Access::Edit)
    .about(RULES_TAG, "Replaces the rules of a domain, all at once")
    .help("Every fault is named with its place, and nothing is changed. The old rules answer until the new ones are in force.")
    .parameters(&[IF_MATCH_REQUIRED, DRY_RUN])
    .body(NEW_RULES)
    .answers(CHANGED_RULES)
    .problems(&[&NOT_FOUND, &CHECKS_BROKEN]);

const LIST_RULE_REVISIONS: Route = Route::new("GET", "/api/v1/domain-rule-revisions/", Access::Read)
    .about(RULES_TAG, "Every state that the rules have had, the newest first")
    .parameters(&[LIMIT, CURSOR])
    .answers(&[Answer::json(200, "A page.", RULE_REVISION_PAGE).headers(PAGE_HEADERS)])
    .problems(&[&NOT_FOUND]);

const ROLL_RULES_BACK: Route = Route::new("POST", "/api/v1/domain-rule-rollbacks/", Access::Edit)
    .about(RULES_TAG, "Puts an earlier state of the rules in force again")
    .parameters(&[IF_MATCH_REQUIRED, DRY_RUN])
    .body(ROLL_BACK)
    .answers(CHANGED_RULES)
    .problems(&[&NOT_FOUND, &CHECKS_BROKEN]);

const READ_CHECKS: Route = Route::new("GET", "/api/v1/domain-checks/", Access::Read)
    .about(RULES_TAG, "The answers that the owner of a domain states")
    .answers(&[Answer::json(200, "The checks.", CHECKS).headers(&[ETAG])])
    .problems(&[&NOT_FOUND]);

const PUT_CHECKS: Route = Route::new("PUT", "/api/v1/domain-checks/", Access::Edit)
    .about(RULES_TAG, "Replaces them")
    .help("Each must be kept as it is now. From then on no change of rules or settings may break one, wherever it is made.")
    .parameters(&[IF_MATCH_REQUIRED])
    .body(NEW_CHECKS)
    .answers(&[Answer::json(200, "Stated.", CHECKS).headers(&[ETAG])])
    .problems(&[&NOT_FOUND, &CHECKS_BROKEN]);

/// The routes.
pub const RULE_ROUTES: &[Route] = &[
    READ_RULES,
    Route { path: "/api/v1/domain-rules/{*path}", ..READ_RULES },
    PUT_RULES,
    Route { path: "/api/v1/domain-rules/{*path}", ..PUT_RULES },
    LIST_RULE_REVISIONS,
    Route { path: "/api/v1/domain-rule-revisions/{*path}", ..LIST_RULE_REVISIONS },
    ROLL_RULES_BACK,
    Route { path: "/api/v1/domain-rule-rollbacks/{*path}", ..ROLL_RULES_BACK },
    READ_CHECKS,
    Route { path: "/api/v1/domain-checks/{*path}", ..READ_CHECKS },
    PUT_CHECKS,
    Route { path: "/api/v1/domain-checks/{*path}", ..PUT_CHECKS },
    Route::new("GET", "/api/v1/explain", Access::Read)
        .about(RULES_TAG, "How a request would be answered, and why")
        .help("The answer is the one that resolution gives. Nothing is redirected and nothing is counted.")
        .parameters(&[EXPLAINED_PATH, ACCEPT, ACCEPT_LANGUAGE, USER_AGENT])
        .answers(&[Answer::json(200, "The way to the answer, and the answer.", EXPLANATION)]),
];
