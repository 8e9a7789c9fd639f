//! The document of the API: complete, valid, the one that is committed, and readable as a page. That every answer of
//! every test is what it says, `support::contract` sees to.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Method, StatusCode};
use resolute::app;
use resolute::http::describe::Body;
use resolute::http::implied::{operation_id, plain_path, problems};
use resolute::http::route::Route;
use resolute::http::{api_docs, openapi};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{Answer, TestApp, contract};

#[test]
fn the_committed_document_is_what_the_code_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let made = api_docs::text(&app::operations());
    let different = committed.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(
        committed == made,
        "docs/openapi.json is out of date (first at {different:?}). If the change of the API is meant: \
         `cargo run -q -- openapi > docs/openapi.json`, read the difference, commit it."
    );
}

#[test]
fn every_route_is_described_and_has_a_name_of_its_own() {
    let codes: BTreeSet<&str> = app::problem_codes().into_iter().map(|code| code.code).collect();
    let mut ids = BTreeSet::new();
    for route in app::operations() {
        let at = format!("{} {}", route.method, route.path);
        assert!(!route.tag.is_empty() && !route.summary.is_empty(), "{at} lacks `.about(tag, summary)`");
        // The one route that always refuses.
        let refuses = at == "DELETE /api/v1/polls/{id}/ballot";
        assert!(refuses || !route.answers.is_empty(), "{at} lacks `.answers(…)`");
        assert!(route.method != "PUT" || !matches!(route.body, Body::None), "{at} lacks `.body(…)`");
        assert!(ids.insert(operation_id(&route)), "{at}: two routes are called {}", operation_id(&route));
        for problem in problems(&route) {
            assert!(codes.contains(problem.code), "{at}: {} is in no feature's ALL", problem.code);
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_schemas_have_one_meaning() {
    let routes = app::operations();
    let document = openapi::document(&routes);
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        let found = document.pointer(reference.trim_start_matches('#')).is_some();
        assert!(found, "{reference}: the schema that refers to it must name it, `.with(&[…])`");
    }
    for schema in openapi::schemas(&routes) {
        assert_eq!((schema.make)(), document["components"]["schemas"][schema.name], "{}", schema.name);
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[test]
fn every_schema_is_one_and_every_body_has_an_example_that_fits() {
    for schema in openapi::schemas(&app::operations()) {
        contract::validator_of(schema.name);
    }
    for route in app::operations() {
        let (Body::Required(schema) | Body::Optional(schema)) = route.body else { continue };
        let examples = (schema.make)()["examples"].as_array().cloned().unwrap_or_default();
        assert!(!examples.is_empty(), "{} has no example", schema.name);
        for example in examples {
            let faults: Vec<String> = contract::validator_of(schema.name)
                .iter_errors(&example)
                .map(|fault| format!("{}: {fault}", fault.instance_path()))
                .collect();
            assert!(faults.is_empty(), "{}: {faults:?}", schema.name);
        }
    }
}

#[tokio::test]
async fn what_the_document_does_not_have_is_noticed() {
    let app = TestApp::start().await;
    let admin = app.tenant("acme").await.admin().await;
    let good = admin.post("/api/v1/meetings", serde_json::json!({"title": "M"})).await.expect(201);
    let judge = |answer: &Answer| contract::judge(&Method::POST, "/api/v1/meetings", answer);
    assert_eq!(judge(&good), Ok(()));

    let mut other = good.clone();
    other.status = StatusCode::ACCEPTED;
    assert!(judge(&other).is_err(), "a status");
    let mut other = good.clone();
    other.headers.remove("etag");
    assert!(judge(&other).is_err(), "a header that is missing");
    let mut other = good.clone();
    other.headers.insert("content-type", HeaderValue::from_static("text/plain"));
    assert!(judge(&other).is_err(), "a content type");
    let mut body = good.json();
    body["mood"] = "good".into();
    let other = Answer { body: body.to_string().into(), ..good };
    assert!(judge(&other).is_err(), "a member");

    let mut problem =
        admin.post("/api/v1/meetings", serde_json::json!({})).await.expect_problem(422, "invalid");
    assert_eq!(judge(&problem), Ok(()));
    problem.body = problem.text().replace("\"invalid\"", "\"slug_taken\"").into();
    assert!(judge(&problem).is_err(), "a problem code");
}

#[tokio::test]
async fn the_server_gives_the_document_to_everybody() {
    let app = TestApp::start().await;
    let answer = app.stranger().get("/api/v1/openapi.json").await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.text(), api_docs::text(&app::operations()));
}

#[tokio::test]
async fn the_page_shows_every_operation_without_a_script_and_needs_nothing_from_elsewhere() {
    let app = TestApp::start().await;
    let answer = app.stranger().get("/docs/api").await.expect(200);
    let page = answer.text();
    for route in app::operations() {
        let Route { method, path, .. } = route;
        let heading = format!("<span class=\"method\">{method}</span> <code>{}</code>", plain_path(path));
        assert!(page.contains(&heading), "{method} {path}");
        for problem in problems(&route) {
            assert!(page.contains(&format!("/docs/problems#{}", problem.code)), "{}", problem.code);
        }
    }
    for id in page.split(" href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "#{id}");
    }
    for foreign in [" src=", "@import", "url(", "<link", "<img"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page.matches("<form ").count(), page.matches("<form hidden ").count());

    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
        let inline: Vec<&str> = page
            .split(&format!("<{tag}>"))
            .skip(1)
            .filter_map(|rest| rest.split(&format!("</{tag}>")).next())
            .collect();
        assert_eq!(inline.len(), 1, "one {tag}");
        let hash = STANDARD.encode(Sha256::digest(inline[0]));
        assert!(policy.contains(&format!("{directive} 'sha256-{hash}'")), "{policy}");
    }
}
