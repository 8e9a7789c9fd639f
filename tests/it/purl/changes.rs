//! Changes of a name, their preconditions, and what stays of them.

use http::Method;
use serde_json::json;

use super::Registry;

const PATH: &str = "/api/v1/purls/d/n";

#[tokio::test]
async fn a_change_needs_the_revision_that_it_replaces() {
    let registry = Registry::start().await;
    let made = registry.mint("n", "https://e.org/1").await.expect(201);
    assert_eq!(made.header("etag"), "\"r1\"");
    let change = json!({"target": "https://e.org/2"});
    registry.editor.put(PATH, change.clone()).await.expect_problem(428, "precondition_required");
    let stale = registry.editor.with("if-match", "\"r7\"").put(PATH, change.clone()).await;
    assert_eq!(stale.expect_problem(412, "precondition_failed").header("etag"), "\"r1\"");
    let changed = registry.editor.with("if-match", "\"r1\"").put(PATH, change.clone()).await.expect(200);
    assert_eq!(changed.header("etag"), "\"r2\"");
    registry.leads("/d/n", "https://e.org/2").await;
    let again = registry.editor.with("if-match", "\"r1\"").put(PATH, change.clone()).await;
    again.expect_problem(412, "precondition_failed");
    let same = registry.editor.with("if-match", "\"r2\"").put(PATH, change).await.expect(200);
    assert_eq!(same.header("etag"), "\"r2\"", "what changes nothing makes no revision");
    registry.editor.with("if-match", "\"r2\"").delete(PATH).await.expect(200);
    registry.editor.with("if-match", "\"r2\"").delete(PATH).await.expect_problem(412, "precondition_failed");
}

#[tokio::test]
async fn a_withdrawn_name_is_never_free_again() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let gone = registry.editor.delete(&format!("{PATH}?reason=moved")).await.expect(200);
    assert_eq!(gone.json()["state"], "withdrawn");
    assert_eq!(gone.json()["reason"], "moved");
    let taken = registry.mint("n", "https://e.org/").await.expect_problem(409, "name_taken");
    assert!(taken.json()["detail"].as_str().expect("a detail").contains("never free again"));
    let change = json!({"target": "https://e.org/2"});
    let refused = registry.editor.with("if-match", "\"r2\"").put(PATH, change).await;
    refused.expect_problem(409, "name_withdrawn");
    registry.editor.delete(PATH).await.expect_problem(409, "name_withdrawn");
    assert_eq!(registry.editor.get(PATH).await.expect(200).json()["target"], "https://e.org/");
}

#[tokio::test]
async fn every_state_stays_in_the_history() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/1").await.expect(201);
    for revision in 1..=4 {
        registry.app.app.clock.advance(time::Duration::minutes(1));
        let change =
            json!({"target": format!("https://e.org/{}", revision + 1), "status": 303, "kind": "partial"});
        let actor = registry.editor.with("if-match", &format!("\"r{revision}\""));
        actor.put(PATH, change).await.expect(200);
    }
    let body = json!({"reason": "done"}).to_string();
    registry.editor.send(Method::DELETE, PATH, Some(body)).await.expect(200);

    let history = registry.editor.get("/api/v1/purl-revisions/d/n").await.expect(200).json();
    let items = history["items"].as_array().expect("items");
    let revisions: Vec<i64> = items.iter().map(|item| item["revision"].as_i64().expect("a number")).collect();
    assert_eq!(revisions, [6, 5, 4, 3, 2, 1]);
    assert_eq!(items[0]["status"], 410);
    assert_eq!(items[0]["reason"], "done");
    assert_eq!(items[0]["superseded_at"], json!(null));
    assert_eq!(items[5]["target"], "https://e.org/1");
    assert_eq!(items[5]["kind"], "plain");
    assert_eq!(items[5]["written_at"], "2026-11-30T20:00:00Z");
    for pair in items.windows(2) {
        assert_eq!(pair[1]["superseded_at"], pair[0]["written_at"], "no gap between two states");
    }

    let page = registry.editor.get("/api/v1/purl-revisions/d/n?limit=4").await.expect(200).json();
    let next = page["next"].as_str().expect("two more");
    let rest = registry.editor.get(next).await.expect(200).json();
    assert_eq!(rest["items"].as_array().expect("items").len(), 2);
    assert_eq!(rest["next"], json!(null));
}

#[tokio::test]
async fn a_change_replaces_everything_that_a_body_can_say() {
    let registry = Registry::with_domain(json!({"path": "d", "default_status": 303})).await;
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/1", "status": 301, "kind": "partial",
                      "valid_until": "2027-01-01T00:00:00Z"});
    registry.mint_as(body).await.expect(201);
    let change = json!({"target": "https://e.org/2"});
    let changed = registry.editor.with("if-match", "*").put(PATH, change).await.expect(200).json();
    assert_eq!(changed["status"], 303);
    assert_eq!(changed["kind"], "plain");
    assert_eq!(changed["valid_until"], json!(null));
    let off = registry.editor.with("if-match", "*").put(PATH, json!({"status": 404})).await.expect(200);
    assert_eq!(off.json()["state"], "temporarily_gone");
    registry.ask("/d/n").await.expect_problem(404, "temporarily_gone");
}
