//! States of meetings and polls: every illegal step is refused and leaves everything as it was.

use serde_json::json;

use super::{Hall, text};
use crate::support::TestApp;

#[tokio::test]
async fn every_illegal_step_of_a_meeting_is_refused_and_changes_nothing() {
    let app = TestApp::start().await;
    let legal = [
        ("draft", "preparing"),
        ("preparing", "active"),
        ("active", "suspended"),
        ("suspended", "active"),
        ("active", "closed"),
        ("closed", "archived"),
    ];
    let states = ["draft", "preparing", "active", "suspended", "closed", "archived"];
    let chair = app.tenant("acme").await.editor().await;
    for from in states {
        let meeting = chair.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201).json();
        let path = format!("/api/v1/meetings/{}", text(&meeting["id"]));
        let way: &[&str] = match from {
            "draft" => &[],
            "preparing" => &["preparing"],
            "active" => &["preparing", "active"],
            "suspended" => &["preparing", "active", "suspended"],
            "closed" => &["preparing", "active", "closed"],
            _ => &["preparing", "active", "closed", "archived"],
        };
        for state in way {
            chair.post(&format!("{path}/state"), json!({ "state": state })).await.expect(200);
        }
        for to in states.into_iter().filter(|to| *to != from && !legal.contains(&(from, to))) {
            let answer = chair.post(&format!("{path}/state"), json!({ "state": to })).await;
            answer.expect_problem(409, "illegal_step");
            assert_eq!(chair.get(&path).await.expect(200).json()["state"], from, "{from} → {to}");
        }
        let again = chair.post(&format!("{path}/state"), json!({ "state": from })).await.expect(200);
        assert_eq!(again.json()["state"], from, "a retry is harmless");
    }
    let unknown = chair.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201).json();
    let path = format!("/api/v1/meetings/{}/state", text(&unknown["id"]));
    assert_eq!(chair.post(&path, json!({"state": "open"})).await.expect(422).pointers(), ["/state"]);
}

#[tokio::test]
async fn every_illegal_step_of_a_poll_is_refused() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let post = |path: String| {
        let chair = hall.chair.clone();
        async move { chair.post(&path, json!({})).await }
    };
    let draft = hall.draft(&["A"], json!({})).await;
    post(draft.path("/close")).await.expect_problem(409, "illegal_step");
    post(draft.path("/publish")).await.expect_problem(409, "result_not_counted");
    draft.cast(&hall.voters[0], 0).await.expect_problem(409, "poll_not_open");
    post(draft.path("/cancel")).await.expect(200);
    post(draft.path("/cancel")).await.expect(200);
    post(draft.path("/open")).await.expect_problem(409, "illegal_step");
    post(draft.path("/close")).await.expect_problem(409, "illegal_step");
    draft.cast(&hall.voters[0], 0).await.expect_problem(409, "poll_not_open");

    let open = hall.poll(&["A"], json!({})).await;
    post(open.path("/open")).await.expect_problem(409, "illegal_step");
    post(open.path("/cancel")).await.expect_problem(409, "illegal_step");
    post(open.path("/publish")).await.expect_problem(409, "result_not_counted");
    hall.close(&open).await.expect(200);
    post(open.path("/open")).await.expect_problem(409, "illegal_step");
    post(open.path("/cancel")).await.expect_problem(409, "illegal_step");
}

#[tokio::test]
async fn polls_open_only_while_the_meeting_accepts_votes() {
    let app = TestApp::start().await;
    let chair = app.tenant("acme").await.editor().await;
    let made = chair.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201).json();
    let (slug, voters, participants) = ("acme", Vec::new(), Vec::new());
    let hall = Hall { app: &app, chair, slug, meeting: text(&made["id"]), voters, participants };
    let poll = hall.draft(&["A"], json!({})).await;
    hall.open(&poll).await.expect_problem(409, "meeting_not_open");
    hall.step("preparing").await.expect(200);
    hall.open(&poll).await.expect(200);
    hall.step("active").await.expect(200);
    hall.step("suspended").await.expect(200);
    let next = hall.draft(&["A"], json!({})).await;
    hall.open(&next).await.expect_problem(409, "meeting_not_open");
}

#[tokio::test]
async fn closing_a_meeting_counts_its_open_polls_and_cancels_its_drafts() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let (one, two) = (hall.poll(&["A", "B"], json!({})).await, hall.poll(&["C"], json!({})).await);
    let draft = hall.draft(&["D"], json!({})).await;
    one.cast(&hall.voters[0], 1).await.expect(201);
    hall.step("closed").await.expect(200);
    let counted = hall.chair.get(&one.path("/result")).await.expect(200);
    assert_eq!(counted.json()["options"][1]["votes"]["heads"], 1);
    assert_eq!(hall.close(&one).await.expect(200).body, counted.body);
    hall.chair.get(&two.path("/result")).await.expect(200);
    assert_eq!(hall.chair.get(&draft.path("")).await.expect(200).json()["state"], "cancelled");
    one.cast(&hall.voters[1], 0).await.expect_problem(409, "poll_closed");
    let people = format!("/api/v1/meetings/{}/participants", hall.meeting);
    hall.chair.post(&people, json!({"name": "Late"})).await.expect_problem(409, "meeting_over");
    let polls = format!("/api/v1/meetings/{}/polls", hall.meeting);
    let body = json!({"title": "T", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    hall.chair.post(&polls, body).await.expect_problem(409, "meeting_over");
    hall.chair.post(&one.path("/publish"), json!({})).await.expect(200);
}

#[tokio::test]
async fn a_suspended_meeting_refuses_ballots_until_it_goes_on() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    hall.step("suspended").await.expect(200);
    poll.cast(&hall.voters[0], 0).await.expect_problem(409, "meeting_suspended");
    hall.step("active").await.expect(200);
    poll.cast(&hall.voters[0], 0).await.expect(201);
    hall.step("suspended").await.expect(200);
    assert_eq!(hall.close(&poll).await.expect(200).json()["cast"]["heads"], 1);
}

#[tokio::test]
async fn a_draft_changes_only_for_those_who_have_seen_it_and_freezes_at_opening() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.draft(&["A", "B"], json!({})).await;
    let seen = hall.chair.get(&poll.path("")).await.expect(200);
    let body = json!({"title": "Really?", "ballot_kind": "single_choice", "options": [{"title": "C"}], "results": "live"});
    let put = |etag: Option<&str>| {
        let chair = etag.map_or_else(|| hall.chair.clone(), |etag| hall.chair.with("if-match", etag));
        let (path, body) = (poll.path(""), body.clone());
        async move { chair.put(&path, body).await }
    };
    put(None).await.expect_problem(428, "precondition_required");
    let changed = put(Some(seen.header("etag"))).await.expect(200);
    assert_eq!(changed.json()["options"][0]["title"], "C");
    assert_ne!(changed.header("etag"), seen.header("etag"));
    put(Some(seen.header("etag"))).await.expect_problem(412, "precondition_failed");
    let opened = hall.open(&poll).await.expect(200);
    assert_ne!(opened.json()["opening_hash"], json!(null));
    put(Some(opened.header("etag"))).await.expect_problem(409, "poll_not_a_draft");
}
