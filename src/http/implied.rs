//! What follows from a row of the route table: from its access, path, parameters and body. No row repeats it; the
//! document and the page of the API both ask here.

use serde_json::json;

use super::describe::{Body, Parameter, Place};
use super::problem::ProblemCode;
use super::problem_codes as codes;
use super::route::{Access, Route};
use super::schema;

/// A stable name of the operation, made of method and path: `post_meetings_id_polls`; a path that ends in a slash
/// is that of the root.
pub fn operation_id(route: &Route) -> String {
    let path = route.path.strip_prefix("/api/v1").unwrap_or(route.path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.fold(route.method.to_ascii_lowercase(), |id, word| format!("{id}_{word}"));
    if path.ends_with('/') { id + "_root" } else { id }
}

/// Every problem that a route can answer with, by status: its own and those that follow from the rest.
pub fn problems(route: &Route) -> Vec<&'static ProblemCode> {
    let mut all = vec![&codes::INTERNAL, &codes::UNAVAILABLE, &codes::REQUEST_TIMEOUT];
    if route.access != Access::Public {
        all.extend([&codes::UNAUTHENTICATED, &codes::RATE_LIMITED]);
    }
    if !route.access.scopes().is_empty() {
        all.push(&codes::FORBIDDEN);
    }
    for (_, is_rest) in path_names(route.path) {
        all.push(&codes::NOT_FOUND);
        if is_rest {
            all.push(&codes::BAD_PATH);
        }
    }
    if !matches!(route.body, Body::None) {
        all.extend([
            &codes::BAD_JSON,
            &codes::BODY_TOO_LARGE,
            &codes::UNSUPPORTED_MEDIA_TYPE,
            &codes::INVALID,
        ]);
    }
    if !matches!(route.method, "GET" | "HEAD" | "OPTIONS") {
        all.push(&codes::OUTCOME_UNKNOWN);
    }
    all.extend(route.parameters.iter().flat_map(|parameter| parameter.problems));
    all.extend(route.problems);
    all.sort_by_key(|problem| (problem.status, problem.code));
    all.dedup_by_key(|problem| problem.code);
    all
}

/// Every parameter of a route, those of its path first.
pub fn parameters(route: &Route) -> Vec<Parameter> {
    let given = |name: &str| {
        route.parameters.iter().find(|given| given.place == Place::Path && given.name == name).copied()
    };
    let of_path = path_names(route.path).map(|(name, is_rest)| {
        given(name).unwrap_or(match name {
            _ if is_rest => REST,
            "slug" => SLUG,
            _ => Parameter::path(name, "Its id.", schema::id),
        })
    });
    let others = route.parameters.iter().filter(|parameter| parameter.place != Place::Path).copied();
    of_path.chain(others).collect()
}

const SLUG: Parameter = Parameter::path(
    "slug",
    "The word that names the tenant.",
    || json!({"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "examples": ["demo"]}),
);
const REST: Parameter = Parameter::path(
    "path",
    "The full path, percent-encoded. Its slashes may stand as they are, which OpenAPI has no word for.",
    || json!({"type": "string", "minLength": 1, "examples": ["demo/hello"]}),
);

/// The names in a path template, and whether each takes the whole rest.
fn path_names(path: &'static str) -> impl Iterator<Item = (&'static str, bool)> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).map(|name| {
        let rest = name.strip_prefix('*');
        (rest.unwrap_or(name), rest.is_some())
    })
}

/// The template as OpenAPI writes it, which knows no parameter that takes the rest.
pub fn plain_path(path: &str) -> String {
    path.replace("{*", "{")
}

#[cfg(test)]
mod tests {
    use super::super::describe::Answer;
    use super::*;

    const ROUTE: Route = Route::new("PUT", "/api/v1/things/{id}/{*path}", Access::Edit)
        .parameters(&[schema::IF_MATCH_REQUIRED])
        .body(schema::ID)
        .answers(&[Answer::json(200, "Changed.", schema::ID)]);

    #[test]
    fn what_follows_from_a_row_is_added_to_it() {
        let statuses: Vec<u16> = problems(&ROUTE).iter().map(|problem| problem.status).collect();
        assert_eq!(
            statuses,
            [400, 400, 400, 401, 403, 404, 412, 413, 415, 422, 428, 429, 500, 503, 503, 503]
        );
        let public: Vec<&str> =
            problems(&Route::new("GET", "/x", Access::Public)).iter().map(|problem| problem.code).collect();
        assert_eq!(public, ["internal", "request_timeout", "unavailable"]);
    }
}
