//! Requests that were made to break something: none may get a 5xx, or success for what was not done.

use http::Method;
use serde_json::json;

use crate::support::TestApp;

#[tokio::test]
async fn a_zero_character_is_refused_wherever_a_text_is_taken() {
    let app = TestApp::start().await;
    let (operator, admin) = (app.operator().await, app.tenant("acme").await.admin().await);
    let answer = operator.post("/api/v1/domains", json!({"path": "x", "tenant": "a\u{0}b"})).await;
    assert_eq!(answer.expect_problem(422, "invalid").pointers(), ["/tenant"]);
    let answer = admin.post("/api/v1/keys", json!({"scope": "reader", "domains": ["a\u{0}"]})).await;
    assert_eq!(answer.expect_problem(422, "invalid").pointers(), ["/domains/0"]);
    for path in ["/api/v1/tenants/a%00b", "/api/v1/tenants/%ff"] {
        operator.get(path).await.expect_problem(404, "not_found");
    }
    for path in ["/api/v1/public/a%00b/polls/1", "/api/v1/public/%ff/polls/1", "/api/v1/keys/%ff"] {
        admin.get(path).await.expect_problem(404, "not_found");
    }
}

#[tokio::test]
async fn an_instant_outside_of_the_calendar_is_refused() {
    let app = TestApp::start().await;
    let admin = app.tenant("acme").await.admin().await;
    for at in ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"] {
        let answer = admin.post("/api/v1/keys", json!({"scope": "reader", "expires_at": at})).await;
        assert_eq!(answer.expect_problem(422, "invalid").pointers(), ["/expires_at"]);
    }
}

#[tokio::test]
async fn what_stands_twice_is_refused() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let body = r#"{"slug":"one","slug":"two"}"#.to_owned();
    operator.send(Method::POST, "/api/v1/tenants", Some(body)).await.expect_problem(400, "bad_json");
    let reader = app.tenant("acme").await.reader().await;
    let answer = reader.get("/api/v1/purl-revisions/x?limit=1&limit=2").await;
    assert_eq!(answer.expect_problem(422, "invalid").pointers(), ["/limit"]);
}

#[tokio::test]
async fn a_key_limited_to_domains_works_nowhere_else_and_makes_no_keys() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let domain = json!({"path": "d", "tenant": "acme"});
    let domain = app.operator().await.post("/api/v1/domains", domain).await.expect(201).json();
    let id = domain["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let limited = acme.limited("admin", &[id]).await;
    limited.get("/api/v1/domains/d").await.expect(200);
    limited.post("/api/v1/keys", json!({"scope": "admin"})).await.expect_problem(403, "forbidden");
    let full = acme.admin().await;
    let key = full.post("/api/v1/keys", json!({"scope": "reader"})).await.expect(201);
    let path = key.header("location").to_owned();
    limited.delete(&path).await.expect_problem(403, "forbidden");
    assert_eq!(full.get(&path).await.expect(200).json()["revoked_at"], json!(null));
    limited.post("/api/v1/meetings", json!({"title": "x"})).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn reserved_paths_do_not_resolve_whatever_follows() {
    let app = TestApp::start().await;
    for path in ["/api/%zz", "/_x/%ff", &format!("/docs/{}", "a".repeat(4000))] {
        let answer = app.stranger().options(path).await.expect_problem(404, "not_found");
        assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
    }
}
