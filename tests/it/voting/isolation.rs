//! Who may do what: another tenant's key or token finds nothing, a ballot token opens its meeting only.

use serde_json::json;

use super::Hall;
use crate::support::TestApp;

#[tokio::test]
async fn another_tenants_key_finds_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let stranger = app.tenant("umbra").await.admin().await;
    let meeting = format!("/api/v1/meetings/{}", hall.meeting);
    let participant = format!("/api/v1/participants/{}", hall.participants[0]);
    let draft = json!({"title": "T", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    for path in [meeting.clone(), format!("{meeting}/participants"), poll.path(""), poll.path("/result")] {
        stranger.get(&path).await.expect_problem(404, "not_found");
    }
    for (path, body) in [
        (format!("{meeting}/state"), json!({"state": "closed"})),
        (format!("{meeting}/participants"), json!({"name": "Eve"})),
        (format!("{meeting}/polls"), draft.clone()),
        (format!("{participant}/token"), json!({})),
        (poll.path("/open"), json!({})),
        (poll.path("/close"), json!({})),
        (poll.path("/cancel"), json!({})),
        (poll.path("/publish"), json!({})),
        (poll.path("/deadline"), json!({"closes_at": "2030-01-01T00:00:00Z"})),
    ] {
        stranger.post(&path, body).await.expect_problem(404, "not_found");
    }
    stranger.delete(&participant).await.expect_problem(404, "not_found");
    stranger.with("if-match", "*").put(&poll.path(""), draft).await.expect_problem(404, "not_found");
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test]
async fn a_token_of_another_meeting_or_tenant_finds_no_poll() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let next_door = Hall::seated(&app, 1).await;
    let abroad = Hall::seated_in(&app, "umbra", 1).await;
    for token in [&next_door.voters[0], &abroad.voters[0]] {
        poll.cast(token, 0).await.expect_problem(404, "not_found");
        token.get(&poll.path("")).await.expect_problem(404, "not_found");
        token.get(&poll.path("/ballot")).await.expect_problem(404, "not_found");
        token.get(&poll.path("/result")).await.expect_problem(404, "not_found");
        token.delete(&poll.path("/ballot")).await.expect_problem(404, "not_found");
    }
    assert_eq!(hall.stored(&poll).await, 0);
}

#[tokio::test]
async fn a_token_does_one_thing_and_a_key_does_not_cast() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let voter = &hall.voters[0];
    voter.get(&poll.path("")).await.expect(200);
    let meeting = format!("/api/v1/meetings/{}", hall.meeting);
    voter.get(&meeting).await.expect_problem(401, "unauthenticated");
    voter.get(&format!("{meeting}/participants")).await.expect_problem(401, "unauthenticated");
    voter.post(&poll.path("/close"), json!({})).await.expect_problem(401, "unauthenticated");
    poll.cast(&hall.chair, 0).await.expect_problem(401, "unauthenticated");
    poll.cast(&app.stranger(), 0).await.expect_problem(401, "unauthenticated");
    app.stranger().get(&poll.path("")).await.expect_problem(401, "unauthenticated");
    let reader = app.tenant("acme").await.reader().await;
    reader.get(&poll.path("")).await.expect(200);
    reader.post(&poll.path("/close"), json!({})).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn a_forged_token_is_no_token() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let token = hall.voters[0].token().to_owned();
    let secret = token.splitn(4, '_').nth(3).expect("a secret");
    let other = hall.voters[1].token().to_owned();
    let other_secret = other.splitn(4, '_').nth(3).expect("a secret");
    for forged in [
        token.replace(secret, other_secret),
        token.replace(secret, &"A".repeat(secret.len())),
        token.replacen("rsb_", "rsb_9", 1),
        token.to_uppercase(),
    ] {
        poll.cast(&app.bearer(&forged), 0).await.expect_problem(401, "unauthenticated");
        app.bearer(&forged).get(&poll.path("")).await.expect_problem(401, "unauthenticated");
    }
    assert_eq!(hall.stored(&poll).await, 0);
}

#[tokio::test]
async fn no_secret_is_stored() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let row: String = sqlx::query_scalar("SELECT to_jsonb(p)::text FROM participants p")
        .fetch_one(app.db().management())
        .await
        .expect("a row");
    let secret = hall.voters[0].token().splitn(4, '_').nth(3).expect("a secret").to_owned();
    assert!(!row.contains(&secret));
}
