//! A domain gets another owner: who may do it, and that rights move at once and rows do not.

use serde_json::{Value, json};
use sqlx::Row;

use super::Registry;
use crate::support::{Actor, TestApp};

const HANDOVER: &str = "/api/v1/domain-handovers/d";
const ACCEPTANCE: &str = "/api/v1/domain-acceptances/d";

/// `acme` with the domain `d` and the name `n` in it, and both sides' admins.
async fn sides() -> (Registry, Actor, Actor) {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let (editor, giver) = (acme.editor().await, acme.admin().await);
    let registry = Registry { app, editor };
    registry.top_level(json!({"path": "d"})).await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let taker = registry.app.tenant("umbra").await.admin().await;
    (registry, giver, taker)
}

/// What rows of names look like on disk.
async fn places(registry: &Registry) -> Vec<String> {
    let rows = sqlx::query("SELECT ctid::text || xmin::text AS place FROM purls ORDER BY purl_id");
    let rows = rows.fetch_all(registry.app.db().management()).await.expect("rows");
    rows.iter().map(|row| row.get("place")).collect()
}

#[tokio::test]
async fn all_rights_move_with_the_acceptance_and_no_row_does() {
    let (registry, giver, taker) = sides().await;
    giver.post("/api/v1/domains", json!({"path": "d/deep"})).await.expect(201);
    let before = places(&registry).await;
    let offered = giver.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200).json();
    assert_eq!((&offered["owner"], &offered["offered_to"]), (&json!("acme"), &json!("umbra")));
    // An offer gives no right.
    taker.get("/api/v1/purls/d/n").await.expect_problem(404, "not_found");
    assert_eq!(taker.get(HANDOVER).await.expect(200).json(), offered);
    let after = taker.post(ACCEPTANCE, json!({})).await.expect(200).json();
    assert_eq!((&after["owner"], &after["offered_to"]), (&json!("umbra"), &Value::Null));
    assert_eq!(places(&registry).await, before);

    let new = json!({"domain": "d", "name": "m", "target": "https://e.org/"});
    let target = json!({"target": "https://e.org/2"});
    for (actor, may) in [(&giver, false), (&taker, true)] {
        let any = actor.with("if-match", "*");
        let rules = json!({"rules": []});
        let answers = [
            ("get", actor.get("/api/v1/domains/d").await),
            ("settings", any.put("/api/v1/domains/d", json!({"cache_seconds": 7})).await),
            ("rules", actor.get("/api/v1/domain-rules/d").await),
            ("new rules", any.put("/api/v1/domain-rules/d", rules).await),
            ("rule revisions", actor.get("/api/v1/domain-rule-revisions/d").await),
            ("checks", actor.get("/api/v1/domain-checks/d").await),
            ("new checks", any.put("/api/v1/domain-checks/d", json!({"checks": []})).await),
            ("create", actor.post("/api/v1/purls", new.clone()).await),
            ("list", actor.get("/api/v1/purls?domain=d").await),
            ("read", actor.get("/api/v1/purls/d/n").await),
            ("change", any.put("/api/v1/purls/d/n", target.clone()).await),
            ("history", actor.get("/api/v1/purl-revisions/d/n").await),
            ("withdraw", any.delete("/api/v1/purls/d/n").await),
            ("restore", any.post("/api/v1/purl-revisions/d/n", json!({})).await),
        ];
        for (what, answer) in answers {
            let status = answer.status.as_u16();
            if may {
                assert!(status < 300, "{what}: {status} {}", answer.text());
            } else {
                assert_eq!(status, 404, "{what}: {}", answer.text());
            }
        }
        let child = actor.post("/api/v1/domains", json!({"path": "d/child"})).await;
        child.expect(if may { 201 } else { 403 });
    }
    // A deeper domain keeps its owner.
    giver.get("/api/v1/domains/d/deep").await.expect(200);
    taker.get("/api/v1/domains/d/deep").await.expect_problem(404, "not_found");
    registry.leads("/d/n", "https://e.org/2").await;
}

#[tokio::test]
async fn an_offer_is_declined_taken_back_replaced_and_only_its_tenant_accepts() {
    let (registry, giver, taker) = sides().await;
    let other = registry.app.tenant("other").await.admin().await;
    taker.post(ACCEPTANCE, json!({})).await.expect_problem(404, "not_found");
    taker.post(HANDOVER, json!({"tenant": "umbra"})).await.expect_problem(404, "not_found");
    for slug in ["nobody", "acme"] {
        let refused = giver.post(HANDOVER, json!({"tenant": slug})).await;
        assert_eq!(refused.expect_problem(422, "invalid").pointers(), ["/tenant"], "{slug}");
    }
    registry.editor.post(HANDOVER, json!({"tenant": "umbra"})).await.expect_problem(403, "forbidden");
    for decliner in [&giver, &taker] {
        giver.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200);
        other.delete(HANDOVER).await.expect_problem(404, "not_found");
        decliner.delete(HANDOVER).await.expect(204);
        taker.post(ACCEPTANCE, json!({})).await.expect_problem(404, "not_found");
    }
    giver.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200);
    giver.post(HANDOVER, json!({"tenant": "other"})).await.expect(200);
    taker.post(ACCEPTANCE, json!({})).await.expect_problem(404, "not_found");
    let once = other.with("idempotency-key", "k");
    let first = once.post(ACCEPTANCE, json!({})).await.expect(200);
    let again = once.post(ACCEPTANCE, json!({})).await.expect(200);
    assert_eq!((first.json(), again.header("idempotency-replayed")), (again.json(), "true"));
    other.post(ACCEPTANCE, json!({})).await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn an_operator_hands_over_at_once_and_both_logs_say_so() {
    let (registry, giver, taker) = sides().await;
    giver.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200);
    let moved = registry.app.operator().await.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200);
    assert_eq!(moved.json()["owner"], "umbra");
    for admin in [&giver, &taker] {
        let log = admin.get("/api/v1/audit-log").await.expect(200).text();
        assert!(log.contains("domain.offered") && log.contains("domain.handed_over"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_under_way_are_finished_or_refused_and_none_comes_after_the_hand_over() {
    let (registry, giver, taker) = sides().await;
    giver.post(HANDOVER, json!({"tenant": "umbra"})).await.expect(200);
    let writers = (0..8).map(|writer| {
        let giver = giver.clone();
        async move {
            let mut statuses = Vec::new();
            for number in 0..60 {
                let name = format!("w{writer}-{number}");
                let body = json!({"domain": "d", "name": name, "target": "https://e.org/"});
                statuses.push(giver.post("/api/v1/purls", body).await.status.as_u16());
            }
            statuses
        }
    });
    let (written, seen) = tokio::join!(futures_util::future::join_all(writers), async {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        taker.post(ACCEPTANCE, json!({})).await.expect(200);
        // From here on every answer to the old owner is a refusal.
        let body = json!({"domain": "d", "name": "late", "target": "https://e.org/"});
        giver.post("/api/v1/purls", body).await.status.as_u16()
    });
    assert_eq!(seen, 404);
    let mut made = 0;
    for statuses in &written {
        let until = statuses.iter().position(|status| *status != 201).unwrap_or(statuses.len());
        assert!(statuses[until..].iter().all(|status| *status == 404), "{statuses:?}");
        made += i64::try_from(until).expect("few");
    }
    let count =
        sqlx::query("SELECT count(*) AS n FROM purls").fetch_one(registry.app.db().management()).await;
    assert_eq!(count.expect("a count").get::<i64, _>("n"), made + 1, "each 201 is a row, and no other is");
}
