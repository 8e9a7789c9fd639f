//! The life of a rule set: read, changed all at once, compared before, stated answers kept, and gone back to.

use serde_json::{Value, json};

use super::Registry;
use crate::support::chaos::ChaosProxy;
use crate::support::{Actor, TestApp, until};

const RULES: &str = "/api/v1/domain-rules/d";

fn to(pattern: &str, text: &str, target: &str) -> Value {
    json!({pattern: text, "target": target})
}

/// Puts rules in force that nobody else changes meanwhile.
async fn put(editor: &Actor, path: &str, rules: Value) -> Value {
    let etag = editor.get(path).await.expect(200).header("etag").to_owned();
    editor.with("if-match", &etag).put(path, json!({ "rules": rules })).await.expect(200).json()
}

async fn location(registry: &Registry, path: &str) -> String {
    registry.app.stranger().get(path).await.header("location").to_owned()
}

#[tokio::test]
async fn rules_are_read_changed_and_listed() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    let none = editor.get(RULES).await.expect(200);
    assert_eq!(
        (none.header("etag"), none.json()),
        ("\"r0\"", json!({"domain": "d", "revision": 0, "rules": []}))
    );
    let first = json!([to("exact", "a", "https://e.org/a"), to("prefix", "b/", "https://e.org/b/")]);
    editor.put(RULES, json!({ "rules": first })).await.expect_problem(428, "precondition_required");
    let made = put(editor, RULES, first.clone()).await;
    assert_eq!(
        (made["revision"].as_i64(), made["changed"].as_bool(), made["rules"].as_i64()),
        (Some(1), Some(true), Some(2))
    );
    assert_eq!(location(&registry, "/d/a").await, "https://e.org/a");
    assert_eq!(location(&registry, "/d/b/x%2Fy?q").await, "https://e.org/b/x%2Fy?q");

    let read = editor.get(RULES).await.expect(200);
    let mut sent = read.json();
    let same = editor.with("if-match", read.header("etag")).put(RULES, sent.clone()).await.expect(200);
    assert_eq!(
        (same.header("etag"), same.json()["changed"].as_bool()),
        ("\"r1\"", Some(false)),
        "what was read can be sent back"
    );
    sent["rules"][0]["target"] = "https://e.org/other".into();
    editor
        .with("if-match", "\"r0\"")
        .put(RULES, sent.clone())
        .await
        .expect_problem(412, "precondition_failed");
    editor.with("if-match", "\"r1\"").put(RULES, sent).await.expect(200);
    assert_eq!(location(&registry, "/d/a").await, "https://e.org/other");

    let history = editor.get("/api/v1/domain-rule-revisions/d").await.expect(200).json();
    let numbers: Vec<i64> = history["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["revision"].as_i64())
        .collect();
    assert_eq!(numbers, [2, 1]);
    let old = editor.get(&format!("{RULES}?revision=1")).await.expect(200);
    assert_eq!(
        (old.json()["rules"][0]["target"].as_str(), old.header("etag")),
        (Some("https://e.org/a"), "\"r2\"")
    );
    editor.get(&format!("{RULES}?revision=3")).await.expect_problem(404, "not_found");
    editor.get(&format!("{RULES}?revision=x")).await.expect_problem(422, "invalid");

    let back = editor.with("if-match", "\"r2\"");
    let back = back.post("/api/v1/domain-rule-rollbacks/d", json!({"revision": 1})).await.expect(200).json();
    assert_eq!(back["revision"], 3);
    assert_eq!(location(&registry, "/d/a").await, "https://e.org/a");
    let missing =
        editor.with("if-match", "*").post("/api/v1/domain-rule-rollbacks/d", json!({"revision": 9})).await;
    missing.expect_problem(422, "invalid");
    editor
        .with("if-match", "*")
        .post("/api/v1/domain-rule-rollbacks/d", json!({"revision": 0}))
        .await
        .expect(200);
    registry.app.stranger().get("/d/a").await.expect(404);
}

#[tokio::test]
async fn every_fault_is_named_and_the_old_rules_go_on() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    put(editor, RULES, json!([to("exact", "a", "https://e.org/a")])).await;
    let bad = json!({"rules": [to("exact", "a", "javascript:alert(1)"), to("regex", "(", "https://e.org/"), {"exact": "b"}]});
    let refused = editor.with("if-match", "\"r1\"").put(RULES, bad).await;
    let pointers = |answer: &Value| -> Vec<String> {
        let errors = answer["errors"].as_array().expect("errors");
        errors.iter().filter_map(|error| error["pointer"].as_str()).map(str::to_owned).collect()
    };
    assert_eq!(pointers(&refused.expect_problem(422, "invalid").json()), ["/rules/2/target"]);
    let bad = json!({"rules": [to("exact", "a", "javascript:alert(1)"), to("regex", "(", "https://e.org/")]});
    let refused = editor.with("if-match", "\"r1\"").put(RULES, bad).await;
    assert_eq!(
        pointers(&refused.expect_problem(422, "invalid").json()),
        ["/rules/0/target", "/rules/1/regex"]
    );
    assert_eq!(location(&registry, "/d/a").await, "https://e.org/a");
}

#[tokio::test]
async fn whoever_may_not_does_not() {
    let registry = Registry::start().await;
    let body = json!({"rules": []});
    let other = registry.app.tenant("umbra").await.editor().await;
    for path in [RULES, "/api/v1/domain-checks/d"] {
        other.get(path).await.expect_problem(404, "not_found");
        other.with("if-match", "*").put(path, json!({"rules": [], "checks": []})).await;
        registry.app.stranger().get(path).await.expect_problem(401, "unauthenticated");
    }
    other.with("if-match", "*").put(RULES, body).await.expect_problem(404, "not_found");
    other.get("/api/v1/domain-rule-revisions/d").await.expect_problem(404, "not_found");
    let back =
        other.with("if-match", "*").post("/api/v1/domain-rule-rollbacks/d", json!({"revision": 0})).await;
    back.expect_problem(404, "not_found");
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_and_changes_nothing() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    let rules = json!([to("exact", "a", "https://e.org/a"), to("prefix", "b/", "https://e.org/b/")]);
    put(editor, RULES, rules).await;
    let next = json!({"rules": [
        to("prefix", "b/", "https://e.org/c/"),
        to("exact", "b/x", "https://e.org/never"),
        {"regex": "^r/(.*)$", "rewrite": "/d/s/$1"},
        {"regex": "^s/(.*)$", "rewrite": "/d/r/$1"},
        {"exact": "n", "target": "https://e.org/n", "conditions": [{"header": "accept", "matches": "turtle"}]},
    ]});
    let dry = editor
        .with("if-match", "\"r1\"")
        .put(&format!("{RULES}?dry_run=true"), next.clone())
        .await
        .expect(200);
    let told = dry.json();
    assert_eq!(
        (dry.header("etag"), told["changed"].as_bool(), told["revision"].as_i64()),
        ("\"r1\"", Some(false), Some(1))
    );
    let warnings: Vec<(&str, &str)> = told["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|warning| {
            (warning["pointer"].as_str().unwrap_or_default(), warning["code"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(warnings, [("/rules/1", "shadowed"), ("/rules/2", "round"), ("/rules/3", "round")]);
    let from = |path: &str| {
        told["differences"]
            .as_array()
            .expect("differences")
            .iter()
            .find(|difference| difference["from"] == path)
            .cloned()
    };
    let changed = from("/d/b/x").expect("another answer");
    assert_eq!(changed["after"], json!({"status": 302, "location": "https://e.org/c/x"}));
    let gone = from("/d/a").expect("no answer any more");
    assert_eq!(
        (gone["before"]["location"].as_str(), gone["after"].is_null()),
        (Some("https://e.org/a"), true)
    );
    let new = from("/d/n").expect("a new answer");
    assert_eq!((new["headers"]["accept"].as_str(), new["before"].is_null()), (Some("turtle"), true));
    assert_eq!(location(&registry, "/d/b/x").await, "https://e.org/b/x");
    let done = editor.with("if-match", "\"r1\"").put(RULES, next).await.expect(200).json();
    assert_eq!(done["differences"], told["differences"], "what was told is what was done");
    assert_eq!(location(&registry, "/d/b/x").await, "https://e.org/c/x");
}

#[tokio::test]
async fn a_stated_answer_is_kept_also_where_another_domain_is_changed() {
    let registry = Registry::start().await;
    let app = &registry.app;
    let (editor, other) = (&registry.editor, app.tenant("umbra").await.editor().await);
    app.operator()
        .await
        .post("/api/v1/domains", json!({"path": "shared", "tenant": "umbra"}))
        .await
        .expect(201);
    let shared = "/api/v1/domain-rules/shared";
    put(&other, shared, json!([to("prefix", "t/", "https://e.org/t/")])).await;
    put(editor, RULES, json!([{"regex": "^x/(.*)$", "rewrite": "/shared/t/$1"}])).await;
    registry.mint("n", "https://e.org/n").await.expect(201);
    let checks = "/api/v1/domain-checks/d";
    let stated = json!({"checks": [
        {"from": "/d/x/1", "to": "https://e.org/t/1"},
        {"from": "/d/n?q=1", "status": 302, "to": "https://e.org/n?q=1"},
        {"from": "/d/nothing", "status": 404},
    ]});
    let wrong = json!({"checks": [{"from": "/d/x/1", "to": "https://e.org/other"}]});
    let refused = editor
        .with("if-match", "\"r0\"")
        .put(checks, wrong)
        .await
        .expect_problem(409, "checks_broken")
        .json();
    assert_eq!(refused["broken_checks"][0]["location"], "https://e.org/t/1");
    let made = editor.with("if-match", "\"r0\"").put(checks, stated.clone()).await.expect(200);
    assert_eq!((made.header("etag"), &made.json()["checks"]), ("\"r1\"", &stated["checks"]));
    editor
        .with("if-match", "\"r0\"")
        .put(checks, json!({"checks": []}))
        .await
        .expect_problem(412, "precondition_failed");

    let breaking = json!({"rules": [to("prefix", "t/", "https://e.org/u/")]});
    let expected = json!([{
        "domain": "d", "check": {"from": "/d/x/1", "to": "https://e.org/t/1"}, "status": 302, "location": "https://e.org/u/1",
    }]);
    let dry = other
        .with("if-match", "\"r1\"")
        .put(&format!("{shared}?dry_run=true"), breaking.clone())
        .await
        .expect(200);
    assert_eq!(dry.json()["broken_checks"], expected);
    let refused =
        other.with("if-match", "\"r1\"").put(shared, breaking).await.expect_problem(409, "checks_broken");
    assert_eq!(refused.json()["broken_checks"], expected, "the same list");
    assert_eq!(location(&registry, "/d/x/1").await, "https://e.org/t/1");
}

#[tokio::test]
async fn settings_that_break_a_check_are_refused_and_rolling_back_restores_every_answer() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    let first = json!([to("exact", "a", "https://e.org/a"), to("regex", "^([0-9]+)$", "https://e.org/$1")]);
    put(editor, RULES, first).await;
    let stated = json!({"checks": [{"from": "/d/a?q", "to": "https://e.org/a?q"}]});
    editor.with("if-match", "\"r0\"").put("/api/v1/domain-checks/d", stated).await.expect(200);
    let etag = editor.get("/api/v1/domains/d").await.header("etag").to_owned();
    let refused = editor.with("if-match", &etag).put("/api/v1/domains/d", json!({"query": "drop"})).await;
    refused.expect_problem(409, "checks_broken");
    assert_eq!(location(&registry, "/d/a?q").await, "https://e.org/a?q");
    let empty = editor.with("if-match", "\"r1\"").put(RULES, json!({"rules": []})).await;
    empty.expect_problem(409, "checks_broken");
    put(editor, RULES, json!([to("exact", "a", "https://e.org/a")])).await;
    registry.app.stranger().get("/d/7").await.expect(404);
    let back = editor
        .with("if-match", "\"r2\"")
        .post("/api/v1/domain-rule-rollbacks/d", json!({"revision": 1}))
        .await;
    assert_eq!(back.expect(200).json()["rules"], 2);
    assert_eq!(location(&registry, "/d/7").await, "https://e.org/7");
    assert_eq!(location(&registry, "/d/a?q").await, "https://e.org/a?q");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_changes_that_are_good_each_by_itself_cannot_break_a_check_together() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    registry.top_level(json!({"path": "s"})).await;
    let rules = json!([to("exact", "a", "https://e.org/a"), {"exact": "b", "rewrite": "/d/a"}]);
    put(editor, RULES, rules).await;
    put(editor, "/api/v1/domain-rules/s", json!([{"exact": "x", "rewrite": "/d/a"}])).await;
    let stated = json!({"checks": [{"from": "/s/x", "to": "https://e.org/a"}]});
    editor.with("if-match", "\"r0\"").put("/api/v1/domain-checks/s", stated).await.expect(200);
    let elsewhere = json!({"rules": [{"exact": "x", "rewrite": "/d/b"}]});
    let without_b = json!({"rules": [to("exact", "a", "https://e.org/a")]});
    let (one, two) = (editor.with("if-match", "\"r1\""), editor.with("if-match", "\"r1\""));
    let (one, two) = tokio::join!(one.put("/api/v1/domain-rules/s", elsewhere), two.put(RULES, without_b));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text(), two.text());
}

#[tokio::test]
async fn an_explanation_ends_in_the_answer_that_is_given() {
    let registry = Registry::start().await;
    let editor = &registry.editor;
    let rules = json!([
        {"exact": "x", "target": "https://e.org/ttl", "conditions": [{"header": "accept", "matches": "turtle"}]},
        {"exact": "x", "target": "https://e.org/html"},
        {"exact": "j", "rewrite": "/d/n/1"},
        {"regex": "^r(.*)$", "rewrite": "/d/r$1r"},
    ]);
    put(editor, RULES, rules).await;
    registry
        .mint_as(json!({"domain": "d", "name": "n/", "target": "https://e.org/n/", "kind": "partial"}))
        .await
        .expect(201);
    for (path, accept) in [
        ("/d/x", ""),
        ("/d/x", "text/turtle"),
        ("/d/j?q=%20", ""),
        ("/d/n/a%2Fb", ""),
        ("/d/none", ""),
        ("/e", ""),
        ("/d/r", ""),
        ("/api/x", ""),
    ] {
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("path", path)
            .append_pair("accept", accept)
            .finish();
        let told = editor.get(&format!("/api/v1/explain?{query}")).await.expect(200).json();
        let real = registry.app.stranger().with("accept", accept).get(path).await;
        assert_eq!(told["answer"]["status"], real.status.as_u16(), "{path}: {told}");
        for name in ["location", "vary", "cache-control", "etag"] {
            assert_eq!(
                told["answer"]["headers"][name].as_str().unwrap_or_default(),
                real.header(name),
                "{path}: {told}"
            );
        }
    }
    let told = editor.get("/api/v1/explain?path=/d/x&accept=text/html").await.expect(200).json();
    let tried = &told["steps"][0]["rules"];
    assert_eq!(
        (tried[0]["met"].as_bool(), tried[0]["condition"].as_str()),
        (Some(false), Some("/rules/0/conditions/0"))
    );
    assert_eq!(
        (tried[1]["met"].as_bool(), tried[1]["rule"]["target"].as_str()),
        (Some(true), Some("https://e.org/html"))
    );
    let told = editor.get("/api/v1/explain?path=/d/j").await.expect(200).json();
    assert_eq!(
        (told["steps"][0]["leads_to"].as_str(), told["steps"][1]["name"]["met_as"].as_str()),
        (Some("/d/n/1"), Some("a prefix"))
    );
    let other = registry.app.tenant("umbra").await.editor().await;
    let told = other.get("/api/v1/explain?path=/d/x").await.expect(200).json();
    assert!(told["steps"][0]["rules"].is_null() && told["steps"][0]["names"].is_null(), "{told}");
    editor.get("/api/v1/explain?path=d").await.expect_problem(422, "invalid");
    editor.get("/api/v1/explain").await.expect_problem(422, "invalid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_answer_on_while_others_are_put_in_force_and_while_the_database_is_away() {
    let registry = Registry::start().await;
    put(&registry.editor, RULES, json!([to("prefix", "", "https://e.org/0/")])).await;
    let proxy = ChaosProxy::start().await;
    let server = TestApp::over(&proxy.target(registry.app.target()), resolute::config::Config::default());
    let asking = async {
        for _ in 0..400 {
            let answer = server.stranger().get("/d/x").await;
            assert!(
                answer.header("location").starts_with("https://e.org/"),
                "{} {}",
                answer.status,
                answer.text()
            );
            tokio::task::yield_now().await;
        }
    };
    let changing = async {
        for round in 1..10 {
            put(&registry.editor, RULES, json!([to("prefix", "", &format!("https://e.org/{round}/"))])).await;
        }
    };
    tokio::join!(asking, changing);
    let newest = until(
        async || server.stranger().get("/d/x").await,
        |answer| answer.header("location") == "https://e.org/9/x",
    )
    .await;
    assert_eq!(newest.header("location"), "https://e.org/9/x");
    proxy.refuse(true);
    proxy.cut_all();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(server.stranger().get("/d/y").await.header("location"), "https://e.org/9/y");
}
