//! What is answered when the database misbehaves.

use resolute::config::Config;
use serde_json::json;

use super::Registry;
use crate::support::TestApp;
use crate::support::chaos::{ChaosProxy, Cut};

/// As it stands in the protocol, with its end: `READ COMMITTED` is another thing.
const COMMIT: &str = "COMMIT\0";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_an_unknown_name_is_503_not_404() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let proxy = ChaosProxy::start().await;
    let mut config = Config::default();
    config.database.acquire_timeout_ms = 500;
    let app = TestApp::over(&proxy.target(registry.app.target()), config);
    app.stranger().get("/d/n").await.expect(302);
    proxy.refuse(true);
    proxy.cut_all();
    let away = app.stranger().get("/d/unknown").await.expect_problem(503, "unavailable");
    assert_eq!(away.header("retry-after"), "1");
    assert_eq!(away.header("access-control-allow-origin"), "*");
    proxy.behave();
    app.stranger().get("/d/unknown").await.expect_problem(404, "not_found");
    app.stranger().get("/d/n").await.expect(302);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_during_commit_leaves_the_outcome_open_and_says_so() {
    let registry = Registry::start().await;
    let proxy = ChaosProxy::start().await;
    let app = TestApp::over(&proxy.target(registry.app.target()), Config::default());
    let editor = app.bearer(registry.editor.token());
    let mint = |name: &str| json!({"domain": "d", "name": name, "target": "https://e.org/"});

    proxy.cut_at(COMMIT, Cut::After);
    editor.post("/api/v1/purls", mint("after")).await.expect_problem(503, "outcome_unknown");
    proxy.behave();
    registry.leads("/d/after", "https://e.org/").await;
    editor.post("/api/v1/purls", mint("after")).await.expect_problem(409, "name_taken");

    proxy.cut_at(COMMIT, Cut::Before);
    editor.post("/api/v1/purls", mint("before")).await.expect_problem(503, "outcome_unknown");
    proxy.behave();
    editor.post("/api/v1/purls", mint("before")).await.expect(201);
    assert_eq!(proxy.cuts(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_commit_writes_nothing() {
    let registry = Registry::start().await;
    let proxy = ChaosProxy::start().await;
    let app = TestApp::over(&proxy.target(registry.app.target()), Config::default());
    let editor = app.bearer(registry.editor.token());
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/"});
    proxy.cut_at("ISOLATION LEVEL", Cut::After);
    editor.post("/api/v1/purls", body.clone()).await.expect_problem(503, "unavailable");
    proxy.behave();
    registry.ask("/d/n").await.expect_problem(404, "not_found");
    editor.post("/api/v1/purls", body).await.expect(201);
}
