//! Participants: all or none, exact weights, tokens that die, people who leave.

use serde_json::{Value, json};

use super::{Hall, text};
use crate::support::TestApp;

#[tokio::test]
async fn one_participant_or_many_are_added_with_their_tokens_shown_once() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 0).await;
    let path = format!("/api/v1/meetings/{}/participants", hall.meeting);
    let one =
        json!({"name": "Ada", "email": "Ada@Example.org", "external_reference": "m-1", "weight": "1.75"});
    let added = hall.chair.post(&path, one).await.expect(201);
    assert_eq!(added.header("cache-control"), "no-store");
    let added = added.json();
    assert_eq!((&added["email"], &added["weight"]), (&json!("Ada@Example.org"), &json!("1.750000")));
    assert!(text(&added["token"]).starts_with("rsb_"));
    let listed = hall.chair.get(&path).await.expect(200).json();
    assert_eq!(listed["items"][0]["name"], "Ada");
    assert!(!listed.to_string().contains("rsb_"), "a token is shown once");
}

#[tokio::test]
async fn one_fault_among_many_adds_nobody_and_every_fault_is_named() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 0).await;
    let path = format!("/api/v1/meetings/{}/participants", hall.meeting);
    let post = |people: Value| hall.chair.post(&path, json!({ "participants": people }));
    hall.chair.post(&path, json!({"name": "Ada", "email": "ada@example.org"})).await.expect(201);
    let faulty =
        json!([{"name": ""}, {"name": "B", "weight": "0"}, 7, {"name": "C", "wieght": "1"}, {"name": "D"}]);
    let refused = post(faulty).await.expect_problem(422, "invalid");
    assert_eq!(
        refused.pointers(),
        ["/participants/0/name", "/participants/1/weight", "/participants/2", "/participants/3/wieght"]
    );
    let double = json!([{"name": "B", "email": "b@x.org"}, {"name": "C", "email": "B@x.org"}]);
    assert_eq!(post(double).await.expect_problem(422, "invalid").pointers(), ["/participants/1/email"]);
    let taken = json!([{"name": "B"}, {"name": "C", "email": "ADA@example.org"}]);
    let refused = post(taken).await.expect_problem(409, "participant_exists");
    assert_eq!(refused.pointers(), ["/participants/1/email"]);
    post(json!([])).await.expect_problem(422, "invalid");
    let listed = hall.chair.get(&path).await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn weights_are_exact_in_tally_base_and_percentages() {
    let app = TestApp::start().await;
    let mut hall = Hall::seated(&app, 0).await;
    hall.seat(vec![json!({"name": "A", "weight": "3"}), json!({"name": "B", "weight": "1"})]).await;
    let poll = hall.poll(&["Yes", "No"], json!({})).await;
    hall.all_cast(&poll, |_| 0).await;
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["options"][0]["votes"], json!({"heads": 2, "weight": "4.000000"}));
    assert_eq!(result["options"][0]["share_of_cast"]["percent"], "100.000");

    let mut tenths = Hall::seated(&app, 0).await;
    let people = ["0.1", "0.2", "1.75"].map(|weight| json!({"name": "N", "weight": weight}));
    tenths.seat(people.to_vec()).await;
    let poll = tenths.poll(&["A", "B"], json!({})).await;
    tenths.all_cast(&poll, |at| at / 2).await;
    let result = tenths.close(&poll).await.expect(200).json();
    assert_eq!(result["options"][0]["votes"]["weight"], "0.300000");
    assert_eq!(result["options"][1]["votes"]["weight"], "1.750000");
    assert_eq!(result["entitled"]["weight"], "2.050000");
}

#[tokio::test]
async fn a_reissued_token_kills_the_one_before_at_once() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let path = format!("/api/v1/participants/{}/token", hall.participants[0]);
    let fresh = text(&hall.chair.post(&path, json!({})).await.expect(201).json()["token"]);
    poll.cast(&hall.voters[0], 0).await.expect_problem(401, "unauthenticated");
    poll.cast(&app.bearer(&fresh), 0).await.expect(201);
}

#[tokio::test]
async fn a_voter_who_leaves_changes_no_electorate_and_no_result() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 6).await;
    let poll = hall.poll(&["Yes", "No"], json!({})).await;
    for (voter, place) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)] {
        poll.cast(&hall.voters[voter], place).await.expect(201);
    }
    // One leaves before the close without having voted, and can vote no more.
    hall.chair.delete(&format!("/api/v1/participants/{}", hall.participants[5])).await.expect(204);
    poll.cast(&hall.voters[5], 0).await.expect_problem(401, "unauthenticated");
    let result = hall.close(&poll).await.expect(200);
    assert_eq!(result.json()["entitled"]["heads"], 6);
    let leaving = format!("/api/v1/participants/{}", hall.participants[0]);
    hall.chair.delete(&leaving).await.expect(204);
    hall.chair.delete(&leaving).await.expect(204);
    let again = hall.chair.get(&poll.path("/result")).await.expect(200);
    assert_eq!(again.body, result.body);
    let heads: Vec<i64> =
        (0..2).filter_map(|at| again.json()["options"][at]["votes"]["heads"].as_i64()).collect();
    assert_eq!(heads, [3, 2]);
    let listed = hall.chair.get(&format!("/api/v1/meetings/{}/participants", hall.meeting)).await.json();
    assert_eq!(listed["items"][0]["name"], "former participant");
    assert_ne!(listed["items"][0]["removed_at"], Value::Null);
    assert_eq!(hall.stored(&poll).await, 5);
    let token = format!("{leaving}/token");
    hall.chair.post(&token, json!({})).await.expect_problem(409, "participant_removed");
}

#[tokio::test]
async fn an_address_is_free_again_when_its_holder_has_left() {
    let app = TestApp::start().await;
    let mut hall = Hall::seated(&app, 0).await;
    hall.seat(vec![json!({"name": "Ada", "email": "ada@example.org"})]).await;
    hall.chair.delete(&format!("/api/v1/participants/{}", hall.participants[0])).await.expect(204);
    hall.seat(vec![json!({"name": "Ada", "email": "ada@example.org"})]).await;
}

#[tokio::test]
async fn somebody_added_after_the_opening_is_not_in_the_electorate() {
    let app = TestApp::start().await;
    let mut hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    hall.seat(vec![json!({"name": "Late"})]).await;
    poll.cast(&hall.voters[1], 0).await.expect_problem(403, "not_eligible");
    let next = hall.poll(&["A"], json!({})).await;
    next.cast(&hall.voters[1], 0).await.expect(201);
    assert_eq!(hall.close(&poll).await.expect(200).json()["entitled"]["heads"], 1);
}
