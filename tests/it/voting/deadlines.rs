//! Deadlines go by the database's clock, whether or not anything runs when they pass.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Hall, from_now};
use crate::support::TestApp;

#[tokio::test]
async fn past_its_deadline_a_poll_is_closed_with_the_result_pending_and_reading_counts_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let closes_at = from_now(&app, 400).await;
    let poll = hall.poll(&["A", "B"], json!({"closes_at": closes_at, "results": "live"})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    tokio::time::sleep(Duration::from_millis(500)).await;
    poll.cast(&hall.voters[1], 0).await.expect_problem(409, "poll_closed");
    for viewer in [&hall.chair, &hall.voters[0]] {
        let seen = viewer.get(&poll.path("")).await.expect(200).json();
        assert_eq!((&seen["state"], &seen["result_state"]), (&json!("closed"), &json!("pending")));
        assert_eq!(seen["closed_at"], closes_at.as_str());
        viewer.get(&poll.path("/result")).await.expect_problem(409, "result_not_counted");
    }
    let id: i64 = poll.id.parse().expect("an id");
    let state: String = sqlx::query_scalar("SELECT state FROM polls WHERE poll_id = $1")
        .bind(id)
        .fetch_one(app.db().management())
        .await
        .expect("a state");
    assert_eq!(state, "open", "reading changed nothing");
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["cast"]["heads"], 1);
    assert_eq!(result["closed_at"], closes_at.as_str(), "it closed when the deadline passed");
}

#[tokio::test]
async fn a_deadline_is_extended_before_it_passes_and_not_after() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let (soon, sooner, later) =
        (from_now(&app, 600).await, from_now(&app, 300).await, from_now(&app, 1200).await);
    let poll = hall.poll(&["A"], json!({ "closes_at": soon })).await;
    let extend = |to: &str| {
        let body = json!({ "closes_at": to });
        let (chair, path) = (hall.chair.clone(), poll.path("/deadline"));
        async move { chair.post(&path, body).await }
    };
    assert_eq!(extend(&sooner).await.expect_problem(422, "invalid").pointers(), ["/closes_at"]);
    let extended = extend(&later).await.expect(200).json();
    assert_eq!(extended["closes_at"], later.as_str());
    tokio::time::sleep(Duration::from_millis(700)).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    tokio::time::sleep(Duration::from_millis(600)).await;
    extend(&from_now(&app, 5000).await).await.expect_problem(409, "deadline_passed");
    poll.cast(&hall.voters[1], 0).await.expect_problem(409, "poll_closed");
}

#[tokio::test]
async fn a_poll_does_not_open_after_its_deadline() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.draft(&["A"], json!({"closes_at": "2020-01-01T00:00:00Z"})).await;
    hall.open(&poll).await.expect_problem(409, "deadline_passed");
    let seen = hall.chair.get(&poll.path("")).await.expect(200).json();
    assert_eq!((&seen["state"], &seen["opened_at"]), (&json!("draft"), &Value::Null));
    hall.chair
        .post(&poll.path("/deadline"), json!({"closes_at": from_now(&app, 9000).await}))
        .await
        .expect_problem(409, "poll_not_open");
}
