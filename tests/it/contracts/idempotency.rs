//! `Idempotency-Key`: sent twice, happens once.

use futures_util::future::join_all;
use resolute::db::idempotency;
use serde_json::{Value, json};
use time::Duration;

use super::{Office, id};
use crate::support::NOW;

const KEPT: [&str; 5] = ["content-type", "location", "etag", "cache-control", "content-length"];

#[tokio::test]
async fn the_same_key_and_body_twice_give_the_first_answer_on_every_route_that_creates() {
    let office = Office::open().await;
    for (number, creation) in office.creations().await.into_iter().enumerate() {
        let what = creation.what;
        let actor = creation.actor.with("idempotency-key", &format!("key-{number}"));
        let first = actor.post(&creation.path, creation.body.clone()).await;
        let first = first.expect(201);
        assert_eq!(first.header("idempotency-replayed"), "", "{what}");
        let rows = office.rows().await;
        let again = actor.post(&creation.path, creation.body.clone()).await;
        let again = again.expect(201);
        assert_eq!(again.header("idempotency-replayed"), "true", "{what}");
        assert_eq!(again.body, first.body, "{what}");
        for name in KEPT {
            assert_eq!(again.header(name), first.header(name), "{what}: {name}");
        }
        assert_eq!(office.rows().await, rows, "{what}: nothing happened the second time");
    }
}

#[tokio::test]
async fn the_same_key_with_another_body_or_route_is_refused_and_does_nothing() {
    let office = Office::open().await;
    let creations = office.creations().await;
    for (number, creation) in creations.iter().enumerate() {
        let actor = creation.actor.with("idempotency-key", &format!("key-{number}"));
        actor.post(&creation.path, creation.body.clone()).await.expect(201);
        let rows = office.rows().await;
        if creation.other_body != Value::Null {
            let other = actor.post(&creation.path, creation.other_body.clone()).await;
            other.expect_problem(422, "idempotency_key_reused");
        }
        // Every other route, with a body that is right there.
        for other in creations.iter().filter(|other| other.path != creation.path) {
            if other.actor.token() == creation.actor.token() && other.what != "token" {
                let refused = actor.post(&other.path, other.other_body.clone()).await;
                refused.expect_problem(422, "idempotency_key_reused");
            }
        }
        assert_eq!(office.rows().await, rows, "{}", creation.what);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_at_once_with_one_key_have_one_effect_and_give_one_answer() {
    let office = Office::open().await;
    let twin = office.app.twin();
    for (number, creation) in office.creations().await.into_iter().enumerate() {
        let key = format!("key-{number}");
        let rows = office.rows().await;
        let calls = (0..16).map(|call| {
            let server = if call % 2 == 0 { &office.app } else { &twin };
            let actor = server.bearer(creation.actor.token()).with("idempotency-key", &key);
            let (path, body) = (creation.path.clone(), creation.body.clone());
            async move { actor.post(&path, body).await }
        });
        let answers = join_all(calls).await;
        let first = answers.iter().filter(|answer| answer.header("idempotency-replayed").is_empty());
        assert_eq!(first.count(), 1, "{}", creation.what);
        for answer in &answers {
            assert_eq!(answer.status, 201, "{}: {}", creation.what, answer.text());
            assert_eq!(answer.body, answers[0].body, "{}", creation.what);
        }
        // One row more at most in every table: the thing made, and its entry in the log.
        for ((table, before), (_, after)) in rows.iter().zip(office.rows().await) {
            assert!(after - before <= 1, "{}: {table} {before} → {after}", creation.what);
        }
    }
}

#[tokio::test]
async fn keys_of_two_callers_never_meet() {
    let office = Office::open().await;
    let other = office.app.tenant("acme").await.editor().await;
    let stranger = office.app.tenant("umbra").await.editor().await;
    let mut made = Vec::new();
    for caller in [&office.admin, &other, &stranger] {
        let caller = caller.with("idempotency-key", "1");
        let answer = caller.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
        assert_eq!(answer.header("idempotency-replayed"), "");
        made.push(id(&answer.json()));
    }
    made.dedup();
    assert_eq!(made.len(), 3);
}

#[tokio::test]
async fn a_refused_request_is_judged_anew() {
    let office = Office::open().await;
    let admin = office.admin.with("idempotency-key", "k");
    let body = json!({"domain": "d/later", "name": "n", "target": "https://e.org/"});
    admin.post("/api/v1/purls", body.clone()).await.expect_problem(404, "not_found");
    let domain = office.operator.with("idempotency-key", "k");
    domain.post("/api/v1/domains", json!({"path": "d", "tenant": "acme"})).await.expect(409);
    assert_eq!(office.stored().await, 0);
    office.admin.post("/api/v1/domains", json!({"path": "d/later"})).await.expect(201);
    let made = admin.post("/api/v1/purls", body.clone()).await.expect(201);
    assert_eq!(made.header("idempotency-replayed"), "");
    let again = admin.post("/api/v1/purls", body).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
}

#[tokio::test]
async fn an_answer_holds_though_the_same_request_would_be_refused_by_now() {
    let office = Office::open().await;
    let admin = office.admin.with("idempotency-key", "k");
    let body = json!({"domain": "d", "name": "x/n", "target": "https://e.org/"});
    let first = admin.post("/api/v1/purls", body.clone()).await.expect(201);
    // A deeper domain now covers the name: a new request for it is refused.
    office.admin.post("/api/v1/domains", json!({"path": "d/x", "shadow": true})).await.expect(201);
    office.admin.post("/api/v1/purls", body.clone()).await.expect_problem(409, "name_swallowed");
    assert_eq!(admin.post("/api/v1/purls", body).await.expect(201).body, first.body);

    let body = json!({"scope": "reader", "expires_at": "2026-11-30T21:00:00Z"});
    let admin = office.admin.with("idempotency-key", "other");
    let first = admin.post("/api/v1/keys", body.clone()).await.expect(201);
    office.app.app.clock.advance(Duration::hours(2));
    assert_eq!(admin.post("/api/v1/keys", body).await.expect(201).body, first.body);
}

#[tokio::test]
async fn a_stored_answer_shows_nothing_and_opens_nowhere_else() {
    let office = Office::open().await;
    let people = format!("/api/v1/meetings/{}/participants", office.meeting);
    let admin = office.admin.with("idempotency-key", "a");
    let token = admin.post(&people, json!({"name": "Ada Lovelace"})).await.expect(201).json();
    let admin = office.admin.with("idempotency-key", "b");
    let key = admin.post("/api/v1/keys", json!({"scope": "reader"})).await.expect(201).json();
    let sql = "SELECT answer FROM idempotency_keys";
    let answers: Vec<Vec<u8>> =
        sqlx::query_scalar(sql).fetch_all(office.app.db().management()).await.expect("answers");
    assert_eq!(answers.len(), 2);
    for secret in [&token["token"], &token["name"], &key["key"], &json!("content-type")] {
        let secret = secret.as_str().expect("text").as_bytes();
        for answer in &answers {
            assert!(!answer.windows(secret.len()).any(|window| window == secret));
        }
    }
    // Moved to another row, an answer is no answer.
    let swap = "UPDATE idempotency_keys k SET answer = o.answer, request_sha256 = k.request_sha256
                FROM idempotency_keys o WHERE o.idempotency_key <> k.idempotency_key";
    sqlx::raw_sql(swap).execute(office.app.db().management()).await.expect("swapped");
    admin.post("/api/v1/keys", json!({"scope": "reader"})).await.expect_problem(500, "internal");
}

#[tokio::test]
async fn a_malformed_key_is_refused_before_anything_happens() {
    let office = Office::open().await;
    let long = "x".repeat(256);
    for bad in ["", "two words", long.as_str()] {
        let admin = office.admin.with("idempotency-key", bad);
        admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect_problem(400, "bad_header");
    }
    let twice = office.admin.with("idempotency-key", "a").with("idempotency-key", "b");
    twice.post("/api/v1/meetings", json!({"title": "M"})).await.expect_problem(400, "bad_header");
    let longest = office.admin.with("idempotency-key", &long[1..]);
    longest.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    assert_eq!(office.stored().await, 1);
}

#[tokio::test]
async fn without_a_key_nothing_is_stored_and_twice_is_two() {
    let office = Office::open().await;
    let one = office.admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    let two = office.admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    assert_ne!(id(&one.json()), id(&two.json()));
    assert_eq!(office.stored().await, 0);
}

#[tokio::test]
async fn answers_are_kept_for_a_day_and_then_removed_in_portions() {
    let office = Office::open().await;
    let admin = office.admin.with("idempotency-key", "young");
    admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    let pool = office.app.db().management();
    let old = "INSERT INTO idempotency_keys
               SELECT 1, gen_random_uuid(), number::text, sha256('x'), 'x', $1 - number * interval '1 ms'
               FROM generate_series(1, 2500) AS number";
    let day = NOW - idempotency::RETENTION;
    sqlx::query(old).bind(day).execute(pool).await.expect("old answers");
    let mut conn = pool.acquire().await.expect("a connection");
    let mut left = Vec::new();
    while idempotency::prune(&mut conn, NOW).await.expect("pruned") {
        left.push(office.stored().await);
    }
    assert_eq!(left, [1_501, 501]);
    assert_eq!(office.stored().await, 1);
    let again = admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
    idempotency::prune(&mut conn, NOW + idempotency::RETENTION).await.expect("pruned");
    assert_eq!(office.stored().await, 1);
    let later = NOW + idempotency::RETENTION + Duration::SECOND;
    idempotency::prune(&mut conn, later).await.expect("pruned");
    assert_eq!(office.stored().await, 0);
}
