//! The job that closes polls past their deadline.

use serde_json::{Value, json};

use super::until;
use crate::support::TestApp;
use crate::voting::{Hall, Poll, from_now};

/// The stored state, which reading a poll over HTTP does not tell from a deadline that has only passed.
async fn stored_state(app: &TestApp, poll: &Poll) -> String {
    sqlx::query_scalar("SELECT state FROM polls WHERE poll_id = $1")
        .bind(poll.id.parse::<i64>().expect("an id"))
        .fetch_one(app.db().management())
        .await
        .expect("a state")
}

async fn until_closed(app: &TestApp, poll: &Poll) {
    until(|| async { (stored_state(app, poll).await == "closed").then_some(()) }).await;
}

/// A result without what differs between any two polls: ids, hashes, times.
fn counted(result: &Value) -> Value {
    let mut counted = result.clone();
    for option in counted["options"].as_array_mut().into_iter().flatten() {
        option.as_object_mut().expect("an option").remove("option");
    }
    let winners = counted["verdict"].clone();
    json!({ "cast": counted["cast"], "entitled": counted["entitled"], "options": counted["options"],
            "outcome": winners["outcome"], "rule": counted["rule"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_past_its_deadline_is_closed_and_counted_as_an_explicit_close_would_without_anybody_calling() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, 5).await;
    let closes_at = from_now(&app, 1_500).await;
    let due = hall.poll(&["A", "B"], json!({ "closes_at": closes_at })).await;
    let asked = hall.poll(&["A", "B"], json!({})).await;
    for poll in [&due, &asked] {
        for (voter, place) in [(0, 0), (1, 1), (2, 1)] {
            poll.cast(&hall.voters[voter], place).await.expect(201);
        }
    }
    app.app.start_tasks();
    twin.app.start_tasks();
    let asked_for = hall.close(&asked).await.expect(200).json();
    until_closed(&app, &due).await;
    let result = hall.chair.get(&due.path("/result")).await.expect(200).json();
    assert_eq!(result["closed_at"], closes_at.as_str(), "it closed when the deadline passed");
    assert_eq!(counted(&result), counted(&asked_for));
    assert_eq!(result["cast"]["heads"], 3);
    assert_eq!(hall.close(&due).await.expect(200).json(), result, "closing it again answers the same");
    let events: i64 = sqlx::query_scalar("SELECT count(*) FROM poll_events WHERE poll_id = $1")
        .bind(due.id.parse::<i64>().expect("an id"))
        .fetch_one(app.db().management())
        .await
        .expect("a count");
    assert_eq!(events, 3, "opened, closed, counted, each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_cannot_be_counted_keeps_no_other_waiting_and_is_seen() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let broken = hall.poll(&["A"], json!({"closes_at": from_now(&app, 500).await})).await;
    sqlx::query("UPDATE polls SET rule = '{\"name\": \"of a newer version\"}' WHERE poll_id = $1")
        .bind(broken.id.parse::<i64>().expect("an id"))
        .execute(app.db().management())
        .await
        .expect("broken");
    let sound = hall.poll(&["A"], json!({"closes_at": from_now(&app, 600).await})).await;
    let later = hall.poll(&["A"], json!({"closes_at": from_now(&app, 60_000).await})).await;
    app.app.start_tasks();
    until_closed(&app, &sound).await;
    assert_eq!(stored_state(&app, &broken).await, "open");
    assert_eq!(stored_state(&app, &later).await, "open", "its time has not come");
    until(|| async {
        let error: Option<String> =
            sqlx::query_scalar("SELECT last_error FROM jobs WHERE kind = 'close_due_polls'")
                .fetch_one(app.db().management())
                .await
                .expect("the job");
        error?.contains("of a newer version").then_some(())
    })
    .await;
}
