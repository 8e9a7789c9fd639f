//! Who makes a domain, and how its settings change.

use serde_json::json;

use super::Registry;
use crate::support::TestApp;

const DOMAINS: &str = "/api/v1/domains";

#[tokio::test]
async fn an_operator_gives_top_level_domains_and_owners_those_below() {
    let app = TestApp::start().await;
    let (acme, operator) = (app.tenant("acme").await, app.operator().await);
    let made = operator.post(DOMAINS, json!({"path": "/net/example/", "tenant": "acme"})).await.expect(201);
    assert_eq!(made.header("location"), "/api/v1/domains/net/example");
    assert_eq!(made.json()["owner"], "acme");
    let (admin, editor) = (acme.admin().await, acme.editor().await);
    assert_eq!(admin.get("/api/v1/domains/net/example").await.expect(200).json(), made.json());

    editor.post(DOMAINS, json!({"path": "top"})).await.expect_problem(403, "forbidden");
    editor.post(DOMAINS, json!({"path": "net/other"})).await.expect_problem(403, "forbidden");
    admin.post(DOMAINS, json!({"path": "net/example/x"})).await.expect(201);
    operator
        .post(DOMAINS, json!({"path": "net/example/y", "tenant": "acme"}))
        .await
        .expect_problem(403, "forbidden");
    acme.minter()
        .await
        .post(DOMAINS, json!({"path": "net/example/z"}))
        .await
        .expect_problem(403, "forbidden");
    let taken = operator.post(DOMAINS, json!({"path": "net/example", "tenant": "acme"})).await;
    taken.expect_problem(409, "domain_taken");
    let unknown = operator.post(DOMAINS, json!({"path": "top", "tenant": "nobody"})).await;
    assert_eq!(unknown.expect_problem(422, "invalid").pointers(), ["/tenant"]);
    let named = admin.post(DOMAINS, json!({"path": "net/example/w", "tenant": "acme"})).await;
    assert_eq!(named.expect_problem(422, "invalid").pointers(), ["/tenant"]);
}

#[tokio::test]
async fn the_servers_own_words_and_impossible_paths_are_no_domains() {
    let app = TestApp::start().await;
    app.tenant("acme").await;
    let operator = app.operator().await;
    for path in ["api", "Health", "_x", ".well-known", "docs/x", "a//b", "a/../b", "a?b", "a#b", "a\\b", "//"]
    {
        let refused = operator.post(DOMAINS, json!({"path": path, "tenant": "acme"})).await;
        assert_eq!(refused.expect_problem(422, "invalid").pointers(), ["/path"], "{path}");
    }
}

#[tokio::test]
async fn settings_change_only_from_the_revision_that_was_read() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/?a").await.expect(201);
    let etag = registry.editor.get("/api/v1/domains/d").await.expect(200).header("etag").to_owned();
    let settings =
        json!({"trailing_slash": "strict", "query": "drop", "default_status": 303, "cache_seconds": 5});
    registry
        .editor
        .put("/api/v1/domains/d", settings.clone())
        .await
        .expect_problem(428, "precondition_required");
    let editor = registry.editor.with("if-match", &etag);
    let changed = editor.put("/api/v1/domains/d", settings.clone()).await.expect(200);
    assert_ne!(changed.header("etag"), etag);
    assert_eq!(changed.json()["default_status"], 303);
    editor.put("/api/v1/domains/d", settings).await.expect_problem(412, "precondition_failed");
    let answer = registry.ask("/d/n?b").await.expect(302);
    assert_eq!(answer.header("location"), "https://e.org/?a");
    assert_eq!(answer.header("cache-control"), "public, max-age=5");
    registry.ask("/d/n/").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn impossible_settings_are_named_one_by_one() {
    let registry = Registry::start().await;
    let editor = registry.editor.with("if-match", "*");
    let settings =
        json!({"trailing_slash": "x", "query": 1, "default_status": 301, "cache_seconds": -1, "path": "e"});
    let mut pointers =
        editor.put("/api/v1/domains/d", settings).await.expect_problem(422, "invalid").pointers();
    pointers.sort();
    assert_eq!(pointers, ["/cache_seconds", "/default_status", "/path", "/query", "/trailing_slash"]);
    let fixed = editor.put("/api/v1/domains/d", json!({"case_insensitive": true})).await;
    assert_eq!(fixed.expect_problem(422, "invalid").pointers(), ["/case_insensitive"]);
    editor.put("/api/v1/domains/d", json!({"case_insensitive": false})).await.expect(200);
}

#[tokio::test]
async fn a_new_domain_lists_what_it_would_hide() {
    let registry = Registry::start().await;
    for name in ["go", "go/", "go/x", "gox", "g"] {
        registry.mint(name, "https://e.org/").await.expect(201);
    }
    registry.editor.delete("/api/v1/purls/d/go/").await.expect(200);
    let refused = registry.editor.post(DOMAINS, json!({"path": "d/go"})).await;
    assert_eq!(refused.expect_problem(409, "domain_shadows").json()["names"], json!(["go", "go/", "go/x"]));

    let body = json!({"domain": "d", "name": "part/", "target": "https://e.org/", "kind": "partial"});
    registry.mint_as(body).await.expect(201);
    let refused = registry.editor.post(DOMAINS, json!({"path": "d/part/deep"})).await;
    assert_eq!(refused.expect_problem(409, "domain_shadows").json()["names"], json!(["part/"]));
    registry.editor.post(DOMAINS, json!({"path": "d/free"})).await.expect(201);
}

#[tokio::test]
async fn nobody_learns_from_a_refusal_which_domains_others_have() {
    let app = TestApp::start().await;
    let (_, umbra, operator) = (app.tenant("acme").await, app.tenant("umbra").await, app.operator().await);
    operator.post(DOMAINS, json!({"path": "theirs", "tenant": "acme"})).await.expect(201);
    let editor = umbra.editor().await;
    let known =
        editor.post(DOMAINS, json!({"path": "theirs/x"})).await.expect_problem(403, "forbidden").json();
    let unknown =
        editor.post(DOMAINS, json!({"path": "nobodys/x"})).await.expect_problem(403, "forbidden").json();
    assert_eq!(known["detail"], unknown["detail"]);
}
