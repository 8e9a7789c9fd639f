//! The OpenAPI 3.1 document, made of the route table. Pure: `app` passes the routes, `api_docs` serves it. What
//! a row says and what follows from it (`implied`) is put together here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::describe::{Answer, Body, Content, Header, Parameter, Schema};
use super::implied::{operation_id, parameters, plain_path, problems};
use super::problem::ProblemCode;
use super::route::{Access, Route};
use super::schema;

/// Content type of problems.
const PROBLEM_JSON: &str = "application/problem+json";

const ABOUT: &str = "Persistent URLs and votes. Conventions: ids are strings; times are RFC 3339; bodies are JSON \
    objects without unknown members; every error is a problem document with a stable `code`, explained at \
    `/docs/problems`; what is not yours is 404. A method that an address does not have is 405 \
    `method_not_allowed` with `Allow`; `HEAD` answers as `GET` without a body. Every answer has `X-Request-Id`.";

/// The headers that are described once for all answers.
const SHARED_HEADERS: &[Header] = &[
    Header::always(
        "X-Request-Id",
        "The id of the request: the client's own, or one that was made. The log has it.",
    ),
    Header::sometimes(
        "RateLimit-Policy",
        "What is allowed, where the caller is limited: `\"key\";q=2000;w=4`, q requests that come back in w seconds \
         (draft-ietf-httpapi-ratelimit-headers).",
    ),
    Header::sometimes(
        "RateLimit",
        "What is left of it: `\"key\";r=1999;t=1`, r requests now, and all again in t seconds.",
    ),
];

/// The document.
pub fn document(routes: &[Route]) -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut responses = BTreeMap::new();
    for route in routes {
        let operations = paths.entry(plain_path(route.path)).or_default();
        operations.insert(route.method.to_ascii_lowercase(), operation(route, &mut responses));
    }
    let schemas: BTreeMap<&str, Value> =
        schemas(routes).into_iter().map(|schema| (schema.name, (schema.make)())).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "description": ABOUT,
            "license": {"name": "MIT or Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE")},
        },
        "servers": [{"url": "/"}],
        "tags": tags(routes).iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "headers": SHARED_HEADERS.iter().map(|it| (it.name.to_owned(), header(*it))).collect::<Map<_, _>>(),
            "securitySchemes": {
                "key": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "rsl_…",
                    "description": "An API key. The roles of an operation are the scopes that may call it.",
                },
                "ballot_token": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "rsb_…",
                    "description": "The ballot token of a participant.",
                },
            },
        },
    })
}

/// Every schema that the document has, by name.
pub fn schemas(routes: &[Route]) -> Vec<Schema> {
    let bodies = routes.iter().filter_map(|route| match route.body {
        Body::None => None,
        Body::Required(schema) | Body::Optional(schema) => Some(schema),
    });
    let answers = routes.iter().flat_map(|route| route.answers).filter_map(|answer| match answer.content {
        Content::Json(schema) | Content::JsonOf(_, schema) => Some(schema),
        Content::Nothing | Content::Page | Content::Text => None,
    });
    let mut by_name = BTreeMap::new();
    schema::SHARED
        .iter()
        .copied()
        .chain(bodies)
        .chain(answers)
        .for_each(|schema| reach(schema, &mut by_name));
    by_name.into_values().collect()
}

fn reach(schema: Schema, found: &mut BTreeMap<&'static str, Schema>) {
    if found.insert(schema.name, schema).is_none() {
        schema.parts.iter().for_each(|part| reach(*part, found));
    }
}

/// The headings, in the order of the table.
pub fn tags(routes: &[Route]) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    routes.iter().map(|route| route.tag).filter(|tag| seen.insert(*tag)).collect()
}

fn operation(route: &Route, shared: &mut BTreeMap<String, Value>) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [route.tag],
        "summary": route.summary,
        "security": security(route.access),
        "responses": responses(route, shared),
    });
    if !route.help.is_empty() {
        operation["description"] = route.help.into();
    }
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.iter().map(parameter).collect();
    }
    if let Body::Required(schema) | Body::Optional(schema) = route.body {
        operation["requestBody"] = json!({
            "required": matches!(route.body, Body::Required(_)),
            "content": {"application/json": {"schema": schema::reference(schema)}},
        });
    }
    operation
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "in": parameter.place.as_str(),
        "name": parameter.name,
        "description": parameter.help,
        "required": parameter.required,
        "schema": (parameter.schema)(),
    })
}

fn security(access: Access) -> Value {
    let mut ways = Vec::new();
    let scopes: Vec<&str> = access.scopes().iter().map(|scope| scope.as_str()).collect();
    if !scopes.is_empty() {
        ways.push(json!({"key": scopes}));
    }
    if access.takes_ballot_tokens() {
        ways.push(json!({"ballot_token": []}));
    }
    ways.into()
}

/// By status. Problems that nothing else shares a status with are written once for all routes.
fn responses(route: &Route, shared: &mut BTreeMap<String, Value>) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, (Vec<&Answer>, Vec<&ProblemCode>)> = BTreeMap::new();
    for answer in route.answers {
        by_status.entry(answer.status).or_default().0.push(answer);
    }
    for problem in problems(route) {
        by_status.entry(problem.status).or_default().1.push(problem);
    }
    let mut responses = Map::new();
    for (status, (answers, problems)) in by_status {
        // What public routes share with limited ones has the headers of limits too: they may be missing.
        let limited = answers.is_empty() || route.access != Access::Public;
        let response = response(&answers, &problems, limited);
        let response = if answers.is_empty() {
            let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
            let name = format!("{status}.{}", codes.join("."));
            let reference = json!({"$ref": format!("#/components/responses/{name}")});
            shared.insert(name, response);
            reference
        } else {
            response
        };
        responses.insert(status.to_string(), response);
    }
    responses
}

fn response(answers: &[&Answer], problems: &[&ProblemCode], limited: bool) -> Value {
    let mut help: Vec<String> = answers.iter().map(|answer| answer.help.to_owned()).collect();
    let mut content = Map::new();
    let mut headers = Map::new();
    for answer in answers {
        match answer.content {
            Content::Nothing => {}
            Content::Json(schema) => {
                content.insert("application/json".into(), json!({"schema": schema::reference(schema)}));
            }
            Content::JsonOf(media_type, schema) => {
                content.insert(media_type.into(), json!({"schema": schema::reference(schema)}));
            }
            Content::Page => {
                content.insert("text/html".into(), json!({"schema": {"type": "string"}}));
            }
            Content::Text => {
                content.insert("text/plain".into(), json!({"schema": {"type": "string"}}));
            }
        }
        headers.extend(answer.headers.iter().map(|it| (it.name.to_owned(), header(*it))));
    }
    if !problems.is_empty() {
        let words: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
        help.extend(problems.iter().map(|problem| format!("`{}`: {}.", problem.code, problem.title)));
        let narrowed = json!({"properties": {"code": {"enum": words}}});
        let schema = json!({"allOf": [schema::reference(schema::PROBLEM), narrowed]});
        content.insert(PROBLEM_JSON.into(), json!({"schema": schema}));
        let of_status = problems.first().map_or(0, |problem| problem.status);
        headers.extend(problem_header(of_status).map(|it| (it.name.to_owned(), header(it))));
    }
    let shared = SHARED_HEADERS.iter().filter(|header| header.always || limited);
    headers.extend(
        shared.map(|it| (it.name.to_owned(), json!({"$ref": format!("#/components/headers/{}", it.name)}))),
    );
    let mut response = json!({"description": help.join(" "), "headers": headers});
    if !content.is_empty() {
        response["content"] = content.into();
    }
    response
}

/// What a problem of this status says in its head.
fn problem_header(status: u16) -> Option<Header> {
    match status {
        401 => Some(Header::always("WWW-Authenticate", "The scheme, `Bearer`.")),
        412 => Some(Header::sometimes("ETag", "The present revision.")),
        429 => Some(Header::always("Retry-After", "Seconds after which it is worth another try.")),
        503 => Some(Header::sometimes("Retry-After", "Seconds after which it is worth another try.")),
        _ => None,
    }
}

fn header(header: Header) -> Value {
    json!({"description": header.help, "required": header.always, "schema": {"type": "string"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: Route = Route::new("PUT", "/api/v1/things/{id}/{*path}", Access::Edit)
        .about("Things", "Changes one")
        .parameters(&[schema::IF_MATCH_REQUIRED])
        .body(schema::ID)
        .answers(&[Answer::json(200, "Changed.", schema::ID).headers(&[schema::ETAG])]);

    #[test]
    fn the_document_names_operations_parameters_and_who_may() {
        let document = document(&[ROUTE]);
        let operation = &document["paths"]["/api/v1/things/{id}/{path}"]["put"];
        assert_eq!(operation["operationId"], "put_things_id_path");
        assert_eq!(operation["security"], json!([{"key": ["admin", "editor"]}]));
        let names: Vec<&str> = operation["parameters"]
            .as_array()
            .expect("parameters")
            .iter()
            .map(|parameter| parameter["name"].as_str().expect("a name"))
            .collect();
        assert_eq!(names, ["id", "path", "If-Match"]);
        assert_eq!(operation["responses"]["200"]["headers"]["ETag"]["required"], true);
        let shared = operation["responses"]["403"]["$ref"].as_str().expect("a shared response");
        assert!(document.pointer(shared.trim_start_matches('#')).is_some(), "{shared}");
    }
}
