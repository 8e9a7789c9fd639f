//! Proxies: one level, so many a holder, cast with the holder's own token, and over at once when they are revoked.

use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::{Hall, Poll, text};
use crate::support::database::TestDatabase;
use crate::support::{Actor, Answer, TestApp};

fn proxy(participant: &str) -> String {
    format!("/api/v1/participants/{participant}/proxy")
}

async fn give(hall: &Hall<'_>, principal: usize, holder: usize) -> Answer {
    let chair = hall.chair.with("if-match", "*");
    chair.put(&proxy(&hall.participants[principal]), json!({"holder": hall.participants[holder]})).await
}

async fn cast_for(poll: &Poll, voter: &Actor, participant: &str, place: usize) -> Answer {
    voter.put(&poll.path(&format!("/ballots/{participant}")), poll.choose(place)).await
}

/// People in a meeting that permits so many proxies to each.
async fn seated(app: &TestApp, voters: usize, limit: i32) -> Hall<'_> {
    Hall::seated_with(app, "acme", voters, json!({"title": "Assembly", "proxies_per_holder": limit})).await
}

#[tokio::test]
async fn a_holder_casts_the_own_ballot_and_one_for_each_principal_with_their_weights() {
    let app = TestApp::start().await;
    let mut hall = seated(&app, 1, 2).await;
    hall.seat(vec![json!({"name": "Heavy", "weight": "2.5"}), json!({"name": "Light", "weight": "0.5"})])
        .await;
    for principal in [1, 2] {
        let given = give(&hall, principal, 0).await.expect(200);
        assert_eq!(given.json()["proxy"], hall.participants[0].as_str());
    }
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let holder = &hall.voters[0];
    cast_for(&poll, holder, &hall.participants[0], 1).await.expect(201);
    let receipt = cast_for(&poll, holder, &hall.participants[1], 0).await.expect(201).json();
    cast_for(&poll, holder, &hall.participants[2], 0).await.expect(201);
    let keys: Vec<(String, Option<String>)> = sqlx::query_as(
        "SELECT v.record_key::text, b.actor_key::text FROM participants v JOIN ballots b USING (tenant_id, participant_id)
         ORDER BY participant_id",
    )
    .fetch_all(app.db().management())
    .await
    .expect("ballots");
    assert_eq!(
        keys.iter().map(|(_, actor)| actor.clone()).collect::<Vec<_>>(),
        [None, Some(keys[0].0.clone()), Some(keys[0].0.clone())]
    );
    let event: Value = serde_json::from_str(&text(&receipt["event"])).expect("JSON");
    assert_eq!((text(&event["voter"]), text(&event["actor"])), (keys[1].0.clone(), keys[0].0.clone()));
    let own = hall.voters[1].get(&poll.path("/ballot")).await.expect(200).json();
    assert_eq!(own, receipt, "the principal sees what was cast in their name");
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["options"][0]["votes"], json!({"heads": 2, "weight": "3.000000"}));
    assert_eq!(result["options"][1]["votes"], json!({"heads": 1, "weight": "1.000000"}));
}

#[tokio::test]
async fn of_principal_and_proxy_the_first_stands_and_the_proxy_is_not_told_what_the_principal_chose() {
    let app = TestApp::start().await;
    let hall = seated(&app, 3, 2).await;
    give(&hall, 1, 0).await.expect(200);
    give(&hall, 2, 0).await.expect(200);
    let poll = hall.poll(&["A", "B"], json!({})).await;
    poll.cast(&hall.voters[1], 1).await.expect(201);
    let holder = hall.voters[0].with("idempotency-key", "k");
    let refused =
        cast_for(&poll, &holder, &hall.participants[1], 0).await.expect_problem(409, "already_voted");
    assert_eq!((refused.json().get("first"), refused.json().get("reference")), (None, None));
    let receipt = cast_for(&poll, &holder, &hall.participants[2], 0).await.expect(201).json();
    let late = hall.voters[2].with("idempotency-key", "k");
    let refused = poll.cast(&late, 0).await.expect_problem(409, "already_voted").json();
    assert_eq!(refused["first"], receipt, "the own ballot, whoever cast it");
    assert_eq!(hall.stored(&poll).await, 2);
    hall.chair.delete(&proxy(&hall.participants[2])).await.expect(204);
    let replayed = cast_for(&poll, &holder, &hall.participants[2], 0).await.expect(201);
    assert_eq!((replayed.header("idempotency-replayed"), replayed.json()), ("true", receipt));
}

#[tokio::test]
async fn a_proxy_revoked_at_another_server_casts_no_more_though_it_is_remembered() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = seated(&app, 3, 2).await;
    give(&hall, 1, 0).await.expect(200);
    give(&hall, 2, 0).await.expect(200);
    let poll = hall.poll(&["A"], json!({})).await;
    cast_for(&poll, &hall.voters[0], &hall.participants[2], 0).await.expect(201);
    let elsewhere = twin.bearer(hall.chair.token());
    elsewhere.delete(&proxy(&hall.participants[1])).await.expect(204);
    elsewhere.delete(&proxy(&hall.participants[1])).await.expect(204);
    cast_for(&poll, &hall.voters[0], &hall.participants[1], 0).await.expect_problem(403, "not_proxy");
    assert_eq!(hall.stored(&poll).await, 1);
    give(&hall, 1, 0).await.expect(200);
    cast_for(&poll, &hall.voters[0], &hall.participants[1], 0).await.expect(201);
}

#[tokio::test]
async fn a_proxy_revoked_while_its_ballot_waits_for_the_lock_is_refused() {
    let app = TestApp::start().await;
    let hall = seated(&app, 2, 1).await;
    give(&hall, 1, 0).await.expect(200);
    let poll = hall.poll(&["A"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    let mut holder = TestDatabase::connect(app.target()).await;
    let mut run = async |sql: String| {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut holder).await.expect("SQL of the test");
    };
    run(format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id)).await;
    let revoking = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run("DELETE FROM proxies; UPDATE polls SET generation = generation + 1; COMMIT".to_owned()).await;
    };
    let cast = cast_for(&poll, &hall.voters[0], &hall.participants[1], 0);
    join(cast, revoking).await.0.expect_problem(403, "not_proxy");
    assert_eq!(hall.stored(&poll).await, 1);
    poll.cast(&hall.voters[1], 0).await.expect(201);
}

#[tokio::test]
async fn what_is_given_after_the_opening_is_for_the_next_poll() {
    let app = TestApp::start().await;
    let hall = seated(&app, 2, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    give(&hall, 1, 0).await.expect(200);
    cast_for(&poll, &hall.voters[0], &hall.participants[1], 0).await.expect_problem(403, "not_proxy");
    let next = hall.poll(&["A"], json!({})).await;
    cast_for(&next, &hall.voters[0], &hall.participants[1], 0).await.expect(201);
    let hash = async |poll: &Poll| {
        hall.chair.get(&poll.path("")).await.expect(200).json()["electorate_hash"].clone()
    };
    assert_ne!(hash(&poll).await, hash(&next).await, "who acts for whom is part of the electorate");
}

#[tokio::test]
async fn chains_rings_oneself_and_one_too_many_are_refused_with_the_reason() {
    let app = TestApp::start().await;
    let hall = seated(&app, 5, 2).await;
    give(&hall, 0, 1).await.expect(200);
    for (principal, holder) in [(1, 2), (1, 0)] {
        let refused = give(&hall, principal, holder).await.expect_problem(409, "proxy_chain");
        assert_eq!(refused.json()["detail"], "who holds a proxy gives none");
    }
    let refused = give(&hall, 2, 0).await.expect_problem(409, "proxy_chain");
    assert_eq!(refused.json()["detail"], "who has given a proxy holds none");
    assert_eq!(give(&hall, 2, 2).await.expect_problem(422, "invalid").pointers(), ["/holder"]);
    give(&hall, 2, 1).await.expect(200);
    give(&hall, 3, 1).await.expect_problem(409, "proxy_limit");
    give(&hall, 2, 1).await.expect(200);
    give(&hall, 2, 4).await.expect(200);
    give(&hall, 3, 1).await.expect(200);

    let abroad = Hall::seated(&app, 2).await;
    let other = json!({"holder": abroad.participants[0]});
    let chair = hall.chair.with("if-match", "*");
    let refused = chair.put(&proxy(&hall.participants[0]), other).await.expect_problem(422, "invalid");
    assert_eq!(refused.pointers(), ["/holder"]);
    give(&abroad, 0, 1).await.expect_problem(409, "proxy_limit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_proxies_given_at_once_at_two_servers_one_is_within_the_limit() {
    let app = TestApp::start().await;
    let hall = seated(&app, 3, 1).await;
    let twin = app.twin().bearer(hall.chair.token()).with("if-match", "*");
    for _ in 0..10 {
        let body = json!({"holder": hall.participants[2]});
        let (there, body) = (proxy(&hall.participants[1]), body);
        let answers = join(give(&hall, 0, 2), twin.put(&there, body)).await;
        let statuses = [answers.0.status.as_u16(), answers.1.status.as_u16()];
        assert!(statuses == [200, 409] || statuses == [409, 200], "{statuses:?}");
        for principal in 0..2 {
            hall.chair.delete(&proxy(&hall.participants[principal])).await.expect(204);
        }
    }
}

#[tokio::test]
async fn nobody_but_the_holder_casts_for_somebody_and_nothing_is_told_of_whom_there_is() {
    let app = TestApp::start().await;
    let hall = seated(&app, 3, 1).await;
    give(&hall, 1, 0).await.expect(200);
    let abroad = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    poll.cast(&hall.voters[1], 0).await.expect(201);
    for whom in
        [&hall.participants[1], &hall.participants[0], &abroad.participants[0], &"999999999".to_owned()]
    {
        cast_for(&poll, &hall.voters[2], whom, 0).await.expect_problem(403, "not_proxy");
    }
    cast_for(&poll, &abroad.voters[0], &hall.participants[1], 0).await.expect_problem(404, "not_found");
    cast_for(&poll, &hall.voters[0], "x", 0).await.expect_problem(404, "not_found");
    cast_for(&poll, &app.stranger(), &hall.participants[0], 0).await.expect_problem(401, "unauthenticated");
    hall.close(&poll).await.expect(200);
    cast_for(&poll, &hall.voters[2], &hall.participants[1], 0).await.expect_problem(409, "poll_closed");
}

#[tokio::test]
async fn whoever_leaves_neither_holds_nor_gives_a_proxy_any_more() {
    let app = TestApp::start().await;
    let hall = seated(&app, 3, 2).await;
    give(&hall, 1, 0).await.expect(200);
    give(&hall, 2, 0).await.expect(200);
    let poll = hall.poll(&["A"], json!({})).await;
    let person = |at: usize| format!("/api/v1/participants/{}", hall.participants[at]);
    let seen = hall.chair.get(&person(2)).await.expect(200);
    hall.chair.delete(&person(1)).await.expect(204);
    cast_for(&poll, &hall.voters[0], &hall.participants[1], 0).await.expect_problem(403, "not_proxy");
    hall.chair.delete(&person(0)).await.expect(204);
    cast_for(&poll, &hall.voters[0], &hall.participants[2], 0).await.expect_problem(401, "unauthenticated");
    let after = hall.chair.get(&person(2)).await.expect(200);
    assert_eq!((&seen.json()["proxy"], &after.json()["proxy"]), (&json!(hall.participants[0]), &Value::Null));
    assert_ne!(seen.header("etag"), after.header("etag"));
    give(&hall, 2, 0).await.expect_problem(422, "invalid");
    give(&hall, 1, 2).await.expect_problem(409, "participant_removed");
    poll.cast(&hall.voters[2], 0).await.expect(201);
}
