//! What is answered when the database misbehaves.

use std::time::{Duration, Instant};

use resolute::config::Config;
use serde_json::json;

use super::Registry;
use crate::support::chaos::{ChaosProxy, Cut};
use crate::support::{TestApp, until};

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
    let back =
        until(|| async { app.stranger().get("/d/unknown").await }, |answer| answer.status == 404).await;
    back.expect_problem(404, "not_found");
    app.stranger().get("/d/n").await.expect(302);
}

#[tokio::test(flavor = "multi_thread")]
async fn known_names_resolve_through_an_outage_and_what_is_not_known_is_never_taken_for_absent() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/n").await.expect(201);
    registry.mint("other", "https://e.org/other").await.expect(201);
    registry.mint("gone", "https://e.org/").await.expect(201);
    registry.editor.delete("/api/v1/purls/d/gone").await.expect(200);
    let prefix = json!({"domain": "d", "name": "p", "target": "https://e.org/p/", "kind": "partial"});
    registry.mint_as(prefix).await.expect(201);
    registry.top_level(json!({"path": "empty"})).await;
    let proxy = ChaosProxy::start().await;
    let app = TestApp::over(&proxy.target(registry.app.target()), Config::default());
    let ask = |path: &'static str| async { app.stranger().get(path).await };
    for path in ["/d/n", "/d/p/x", "/d/gone", "/d/absent"] {
        ask(path).await;
    }
    // Longer than anything is believed without the database.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    proxy.refuse(true);
    proxy.cut_all();
    let begun = Instant::now();
    for _ in 0..50 {
        assert_eq!(ask("/d/n").await.expect(302).header("location"), "https://e.org/n");
        assert_eq!(ask("/d/p/x").await.expect(302).header("location"), "https://e.org/p/x");
        ask("/d/gone").await.expect_problem(410, "withdrawn");
        for unknown in ["/d/other", "/d/absent", "/d/p/new", "/empty/x", "/nowhere/x"] {
            let answer = ask(unknown).await;
            assert_eq!(answer.header("retry-after"), "1");
            answer.expect_problem(503, "unavailable");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?} for 400 requests", begun.elapsed());
    proxy.behave();
    let back = until(|| ask("/d/other"), |answer| answer.status == 302).await;
    assert_eq!(back.header("location"), "https://e.org/other");
    ask("/d/absent").await.expect_problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_full_pools_every_answer_comes_in_bounded_time_and_all_is_well_when_there_is_room() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/n").await.expect(201);
    let mut config = Config::default();
    config.database.max_connections = 4;
    config.database.acquire_timeout_ms = 1_500;
    let app = TestApp::over(registry.app.target(), config);
    let (stranger, editor) = (app.stranger(), app.bearer(registry.editor.token()));
    stranger.get("/d/n").await.expect(302);
    let pool = app.db().management();
    let held = (
        app.db().hot().await.expect("one"),
        app.db().hot().await.expect("two"),
        pool.acquire().await.expect("three"),
        pool.acquire().await.expect("four"),
    );
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let begun = Instant::now();
    let mint = json!({"domain": "d", "name": "m", "target": "https://e.org/"});
    let (known, unknown, write, ready) = tokio::join!(
        stranger.get("/d/n"),
        stranger.get("/d/unknown"),
        editor.post("/api/v1/purls", mint.clone()),
        stranger.get("/health/ready")
    );
    assert!(begun.elapsed() < Duration::from_millis(2_500), "{:?}", begun.elapsed());
    known.expect(302);
    for refused in [unknown, write] {
        assert_eq!(refused.header("retry-after"), "1");
        refused.expect_problem(503, "unavailable");
    }
    let ready = ready.expect(503).json();
    assert_eq!(
        (&ready["database"], &ready["full_pools"]),
        (&json!("pool_full"), &json!(["hot", "management"]))
    );
    drop(held);
    until(|| stranger.get("/d/unknown"), |answer| answer.status == 404).await;
    editor.post("/api/v1/purls", mint).await.expect(201);
    stranger.get("/health/ready").await.expect(200);
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
