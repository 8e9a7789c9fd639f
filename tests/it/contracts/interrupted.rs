//! What was asked and its stored answer share one fate, whatever happens to the connection between them.

use serde_json::{Value, json};

use super::Office;
use crate::support::chaos::{ChaosProxy, Cut};
use crate::support::{Actor, TestApp};

/// The simple query alone: BEGIN has the word too (READ COMMITTED).
const COMMIT: &str = "COMMIT\0";

async fn with_proxy(story: impl AsyncFn(&Office, &Actor, &ChaosProxy, &str, Value)) {
    let office = Office::open().await;
    let purl = json!({"domain": "d", "name": "n", "target": "https://e.org/"});
    // One over each driver.
    for (path, body) in [("/api/v1/meetings", json!({"title": "M"})), ("/api/v1/purls", purl)] {
        let proxy = ChaosProxy::start().await;
        let behind = TestApp::over(&proxy.target(office.app.target()), office.app.app.config.clone());
        let admin = behind.bearer(office.admin.token()).with("idempotency-key", path);
        story(&office, &admin, &proxy, path, body).await;
    }
}

#[tokio::test]
async fn a_write_that_is_cut_off_before_its_commit_stores_neither_effect_nor_answer() {
    with_proxy(async |office, admin, proxy, path, body| {
        let (rows, stored) = (office.rows().await, office.stored().await);
        proxy.cut_at(COMMIT, Cut::Before);
        admin.post(path, body.clone()).await.expect_problem(503, "outcome_unknown");
        assert_eq!(proxy.cuts(), 1);
        assert_eq!((office.rows().await, office.stored().await), (rows, stored));
        proxy.behave();
        let made = admin.post(path, body.clone()).await.expect(201);
        assert_eq!(made.header("idempotency-replayed"), "");
        assert_eq!(admin.post(path, body).await.expect(201).body, made.body);
    })
    .await;
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_settled_by_a_retry() {
    with_proxy(async |office, admin, proxy, path, body| {
        let stored = office.stored().await;
        proxy.cut_at(COMMIT, Cut::After);
        admin.post(path, body.clone()).await.expect_problem(503, "outcome_unknown");
        assert_eq!(office.stored().await, stored + 1, "it was committed");
        let rows = office.rows().await;
        proxy.behave();
        let settled = admin.post(path, body).await.expect(201);
        assert_eq!(settled.header("idempotency-replayed"), "true");
        assert_eq!(office.rows().await, rows);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_takes_the_effect_back() {
    let office = Office::open().await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''full''; END';
                  CREATE TRIGGER refuse BEFORE INSERT ON idempotency_keys EXECUTE FUNCTION refuse()";
    let pool = office.app.db().management();
    let creations = office.creations().await;
    sqlx::raw_sql(refuse).execute(pool).await.expect("a trigger");
    let rows = office.rows().await;
    for creation in &creations {
        let actor = creation.actor.with("idempotency-key", "k");
        actor.post(&creation.path, creation.body.clone()).await.expect_problem(500, "internal");
        assert_eq!(office.rows().await, rows, "{}", creation.what);
    }
    sqlx::raw_sql("DROP TRIGGER refuse ON idempotency_keys").execute(pool).await.expect("dropped");
    for creation in &creations {
        let actor = creation.actor.with("idempotency-key", creation.what.replace(' ', "-").as_str());
        actor.post(&creation.path, creation.body.clone()).await.expect(201);
    }
}
