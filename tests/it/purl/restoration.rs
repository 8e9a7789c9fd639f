//! Names that come back: restored tombstones, changes that are taken back, expired names, copies.

use futures_util::future::join_all;
use serde_json::json;

use super::Registry;

const PATH: &str = "/api/v1/purls/d/n";
const HISTORY: &str = "/api/v1/purl-revisions/d/n";

#[tokio::test]
async fn a_tombstone_is_restored_as_it_last_was_and_the_history_says_so() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/", "status": 303,
                      "kind": "partial-ignore-extension", "valid_until": "2027-01-01T00:00:00Z"});
    let made = registry.mint_as(body).await.expect(201).json();
    registry.editor.delete(&format!("{PATH}?reason=mistake&successor=https://e.org/new")).await.expect(200);
    registry.ask("/d/n").await.expect_problem(410, "withdrawn");

    registry.editor.post(HISTORY, json!({})).await.expect_problem(428, "precondition_required");
    let stale = registry.editor.with("if-match", "\"r1\"").post(HISTORY, json!({})).await;
    stale.expect_problem(412, "precondition_failed");
    let restored = registry.editor.with("if-match", "\"r2\"").post(HISTORY, json!({})).await.expect(200);
    assert_eq!(restored.header("etag"), "\"r3\"");
    let restored = restored.json();
    for member in ["id", "status", "kind", "target", "valid_until", "created_at", "url"] {
        assert_eq!(restored[member], made[member], "{member}");
    }
    assert_eq!(restored["state"], "live");
    assert_eq!((&restored["reason"], &restored["successor"]), (&json!(null), &json!(null)));
    registry.leads("/d/n/a.html", "https://e.org/a").await;

    let history = registry.editor.get(HISTORY).await.expect(200).json();
    let states: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|item| item["status"].clone()).collect();
    assert_eq!(states, [303, 410, 303]);
    assert_eq!(history["items"][1]["reason"], "mistake");

    registry.editor.delete(PATH).await.expect(200);
    let again = registry.editor.with("if-match", "*").post(HISTORY, json!({})).await.expect(200).json();
    assert_eq!((&again["revision"], &again["status"]), (&json!(5), &json!(303)), "past both tombstones");
}

#[tokio::test]
async fn a_change_is_taken_back_to_any_earlier_state() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/1").await.expect(201);
    let anyhow = registry.editor.with("if-match", "*");
    let none = anyhow.post(HISTORY, json!({})).await.expect_problem(422, "invalid");
    assert_eq!(none.pointers(), ["/revision"]);
    for number in [2, 3] {
        anyhow.put(PATH, json!({"target": format!("https://e.org/{number}")})).await.expect(200);
    }
    anyhow.post(HISTORY, json!({})).await.expect(200);
    registry.leads("/d/n", "https://e.org/2").await;
    anyhow.post(HISTORY, json!({"revision": 1})).await.expect(200);
    registry.leads("/d/n", "https://e.org/1").await;
    let same = anyhow.post(HISTORY, json!({"revision": 1})).await.expect(200);
    assert_eq!(same.json()["revision"], 5, "what changes nothing makes no revision");
    registry.editor.delete(PATH).await.expect(200);
    for (body, status) in [
        (json!({"revision": 6}), 422),
        (json!({"revision": 7}), 422),
        (json!({"revision": 0}), 422),
        (json!({"revision": "1"}), 422),
        (json!({"revisions": 1}), 422),
        (json!({"revision": 3}), 200),
    ] {
        let answer = anyhow.post(HISTORY, body.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{body}");
    }
    registry.leads("/d/n", "https://e.org/3").await;
    let tombstone = anyhow.post(HISTORY, json!({"revision": 6})).await.expect_problem(422, "invalid");
    assert!(tombstone.text().contains("is a tombstone"));
}

#[tokio::test]
async fn only_an_editor_of_the_owner_restores() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    registry.editor.delete(PATH).await.expect(200);
    let stranger = registry.app.tenant("other").await.editor().await;
    stranger.with("if-match", "*").post(HISTORY, json!({})).await.expect_problem(404, "not_found");
    let none = registry.app.stranger();
    none.with("if-match", "*").post(HISTORY, json!({})).await.expect_problem(401, "unauthenticated");
    let missing = "/api/v1/purl-revisions/d/none";
    registry.editor.with("if-match", "*").post(missing, json!({})).await.expect_problem(404, "not_found");
    registry.ask("/d/n").await.expect_problem(410, "withdrawn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_parallel_restorations_one_makes_a_revision() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    registry.editor.delete(PATH).await.expect(200);
    let actor = registry.editor.with("if-match", "\"r2\"");
    let answers = join_all((0..16).map(|_| actor.post(HISTORY, json!({})))).await;
    let restored = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(restored, 1);
    assert!(answers.iter().all(|answer| [200, 412].contains(&answer.status.as_u16())));
    assert_eq!(registry.editor.get(PATH).await.expect(200).json()["revision"], 3);
}

#[tokio::test]
async fn an_expired_name_is_renewed_by_a_change() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/", "valid_until": "2026-11-30T20:00:01Z"});
    registry.mint_as(body).await.expect(201);
    registry.app.app.clock.advance(time::Duration::seconds(1));
    registry.ask("/d/n").await.expect_problem(410, "expired");
    let renewed = json!({"target": "https://e.org/", "valid_until": "2027-01-01T00:00:00Z"});
    registry.editor.with("if-match", "\"r1\"").put(PATH, renewed).await.expect(200);
    registry.leads("/d/n", "https://e.org/").await;
}

#[tokio::test]
async fn a_copy_takes_what_the_other_name_answers_and_goes_its_own_way() {
    let registry = Registry::start().await;
    let source = json!({"domain": "d", "name": "n", "target": "https://e.org/%2B", "status": 303,
                        "kind": "partial", "valid_until": "2027-01-01T00:00:00Z"});
    registry.mint_as(source).await.expect(201);
    // Of another tenant: what is copied is public.
    let other = registry.app.tenant("other").await.editor().await;
    let domain = json!({"path": "o", "tenant": "other"});
    registry.app.operator().await.post("/api/v1/domains", domain).await.expect(201);
    let copy = json!({"domain": "o", "name": "c", "copy_of": "d/n"});
    let made = other.post("/api/v1/purls", copy).await.expect(201).json();
    assert_eq!(
        (&made["target"], &made["status"], &made["kind"]),
        (&json!("https://e.org/%2B"), &json!(303), &json!("partial"))
    );
    assert_eq!(made["valid_until"], json!(null));
    registry.editor.with("if-match", "*").put(PATH, json!({"target": "https://e.org/2"})).await.expect(200);
    registry.leads("/o/c/x", "https://e.org/%2B/x").await;

    let keyed = other.with("idempotency-key", "k1");
    let copy = json!({"domain": "o", "name": "c2", "copy_of": "d/n", "valid_until": "2028-01-01T00:00:00Z"});
    let first = keyed.post("/api/v1/purls", copy.clone()).await.expect(201).json();
    registry.editor.delete(PATH).await.expect(200);
    assert_eq!(
        keyed.post("/api/v1/purls", copy).await.expect(201).json(),
        first,
        "the first answer still holds"
    );
    for (source, reason) in
        [("d/n", "withdrawn"), ("d/none", "no such name"), ("", "no such name"), ("o", "no such name")]
    {
        let copy = json!({"domain": "o", "name": "c3", "copy_of": source});
        let refused = other.post("/api/v1/purls", copy).await.expect_problem(422, "invalid");
        assert_eq!(refused.pointers(), ["/copy_of"]);
        assert!(refused.text().contains(reason), "{source}");
    }
    let both = json!({"domain": "o", "name": "c3", "copy_of": "d/n", "target": "https://e.org/", "status": 301, "kind": "plain"});
    let refused = other.post("/api/v1/purls", both).await.expect_problem(422, "invalid");
    let mut pointers = refused.pointers();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/kind", "/status", "/target"]);
}
