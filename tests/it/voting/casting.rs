//! Casting: exactly once, whole ballots only, harmless retries.

use futures_util::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use resolute::voting::record::hash::hex;

use super::{Hall, text, with_status};
use crate::support::TestApp;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_32_parallel_casts_by_one_voter_one_is_stored() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let (poll, voter) = (poll.clone(), hall.voters[0].clone());
            #[allow(clippy::disallowed_methods)]
            tokio::spawn(async move { poll.cast(&voter, number % 2).await })
        })
        .collect();
    let answers: Vec<_> = join_all(tasks).await.into_iter().map(|answer| answer.expect("no panic")).collect();
    assert_eq!((with_status(&answers, 201), with_status(&answers, 409)), (1, 31));
    assert_eq!(hall.stored(&poll).await, 1);
    let first = answers.iter().find(|answer| answer.status == 201).expect("one").json();
    for refused in answers.iter().filter(|answer| answer.status == 409) {
        assert_eq!(refused.json()["code"], "already_voted");
        assert_eq!(refused.json()["first"], first, "the refusal names the ballot that stands");
    }
    assert_eq!(hall.close(&poll).await.expect(200).json()["cast"]["heads"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_voters_at_once_are_all_counted_each_at_a_place_of_their_own() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 100).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let answers = hall.all_cast(&poll, |at| at % 2).await;
    assert_eq!(with_status(&answers, 201), 100);
    let mut places: Vec<i64> =
        answers.iter().map(|answer| answer.json()["index"].as_i64().expect("a place")).collect();
    places.sort_unstable();
    assert_eq!(places, (1..=100).collect::<Vec<_>>(), "place 0 is the opening");
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["cast"], json!({"heads": 100, "weight": "100.000000"}));
    assert_eq!(result["verdict"]["outcome"], "tied");
    assert_eq!(result["record"]["closed_event_index"], 101);
}

#[tokio::test]
async fn a_receipt_holds_what_recomputes_its_hash() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let receipt = poll.cast(&hall.voters[0], 1).await.expect(201).json();
    assert_eq!(receipt["poll"], poll.id.as_str());
    assert_eq!((&receipt["round"], &receipt["index"]), (&json!(1), &json!(1)));
    assert_eq!(receipt["options"], json!([poll.options[1]]));
    let event = text(&receipt["event"]);
    let hash = Sha256::new().chain_update(b"\0resolute.event.v1\0").chain_update(&event).finalize();
    assert_eq!(receipt["event_hash"], hex(&hash));
    let known: Value = serde_json::from_str(&event).expect("canonical JSON");
    let names: Vec<&str> = known.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["event", "options", "poll", "round", "voter", "weight"]);
    assert_eq!(text(&known["voter"]).len(), 36, "the voter is a random id, not a sequential one");
    let again = hall.voters[0].get(&poll.path("/ballot")).await.expect(200);
    assert_eq!(again.json(), receipt);
}

#[tokio::test]
async fn two_voters_with_one_choice_have_different_hashes_that_no_known_id_explains() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let one = poll.cast(&hall.voters[0], 0).await.expect(201).json();
    let two = poll.cast(&hall.voters[1], 0).await.expect(201).json();
    assert_ne!(one["event_hash"], two["event_hash"]);
    for id in 0..1000_u32 {
        for guess in [Sha256::digest(id.to_string()), Sha256::digest(id.to_be_bytes())] {
            assert!(
                !one.to_string().contains(&hex(&guess)),
                "a hash of the id {id} stands beside the answer"
            );
        }
    }
}

#[tokio::test]
async fn a_retry_with_its_key_is_answered_alike_and_counted_once() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let voter = hall.voters[0].with("idempotency-key", "phone-7");
    let first = poll.cast(&voter, 0).await.expect(201);
    assert_eq!(first.header("idempotency-replayed"), "");
    let again = poll.cast(&voter, 0).await.expect(201);
    assert_eq!(again.body, first.body, "the same bytes");
    assert_eq!(again.header("idempotency-replayed"), "true");
    poll.cast(&voter, 1).await.expect_problem(422, "idempotency_key_reused");
    poll.cast(&hall.voters[0], 0).await.expect_problem(409, "already_voted");
    poll.cast(&hall.voters[0].with("idempotency-key", "other"), 0).await.expect_problem(409, "already_voted");
    hall.close(&poll).await.expect(200);
    let late = poll.cast(&voter, 0).await.expect(201);
    assert_eq!(late.body, first.body, "a retry after the close finds its receipt");
    assert_eq!(hall.stored(&poll).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_retries_with_one_key_all_get_the_one_receipt() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let voter = hall.voters[0].with("idempotency-key", "k");
    let answers = join_all((0..16).map(|_| poll.cast(&voter, 0))).await;
    assert_eq!(with_status(&answers, 201), 16);
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    let fresh = answers.iter().filter(|answer| answer.header("idempotency-replayed").is_empty()).count();
    assert_eq!(fresh, 1);
    assert_eq!(hall.stored(&poll).await, 1);
}

#[tokio::test]
async fn malformed_idempotency_keys_are_refused() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let long = "k".repeat(256);
    for key in ["", "a b", long.as_str()] {
        let answer = poll.cast(&hall.voters[0].with("idempotency-key", key), 0).await;
        answer.expect_problem(400, "bad_header");
    }
    let fits = "k".repeat(255);
    poll.cast(&hall.voters[0].with("idempotency-key", &fits), 0).await.expect(201);
}

#[tokio::test]
async fn a_ballot_with_any_fault_is_refused_whole_and_burns_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let elsewhere = hall.poll(&["C"], json!({})).await;
    let (a, b, foreign) = (&poll.options[0], &poll.options[1], &elsewhere.options[0]);
    for (body, pointers) in [
        (json!({"options": [a, "999999"]}), vec!["/options/1", "/options"]),
        (json!({"options": [foreign]}), vec!["/options/0"]),
        (json!({"options": [a, a]}), vec!["/options/1", "/options"]),
        (json!({"options": [a, b]}), vec!["/options"]),
        (json!({"options": []}), vec!["/options"]),
        (json!({"options": ["garbage"]}), vec!["/options/0"]),
        (json!({"options": [a.parse::<i64>().expect("an id")]}), vec!["/options/0"]),
        (json!({"options": a}), vec!["/options"]),
        (json!({"options": [a], "voter": "1"}), vec!["/voter"]),
        (json!({}), vec!["/options"]),
    ] {
        let refused = hall.voters[0].put(&poll.path("/ballot"), body.clone()).await;
        assert_eq!(refused.expect_problem(422, "invalid").pointers(), pointers, "{body}");
    }
    assert_eq!(hall.stored(&poll).await, 0);
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test]
async fn after_the_close_neither_put_nor_delete_touches_the_ballot() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    hall.voters[0].delete(&poll.path("/ballot")).await.expect_problem(409, "ballot_change_not_allowed");
    let result = hall.close(&poll).await.expect(200);
    poll.cast(&hall.voters[0], 1).await.expect_problem(409, "already_voted");
    hall.voters[0].delete(&poll.path("/ballot")).await.expect_problem(409, "poll_closed");
    poll.cast(&hall.voters[1], 1).await.expect_problem(409, "poll_closed");
    hall.voters[1].get(&poll.path("/ballot")).await.expect_problem(404, "not_found");
    assert_eq!(
        hall.voters[0].get(&poll.path("/ballot")).await.expect(200).json()["options"][0],
        poll.options[0]
    );
    assert_eq!(hall.close(&poll).await.expect(200).body, result.body);
    assert_eq!(hall.stored(&poll).await, 1);
}
