//! Results: hidden until they are counted, published for everybody, the same bytes for all.

use serde_json::{Value, json};

use super::Hall;
use crate::support::TestApp;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_first_preferences_elect_the_largest_minority_and_the_world_can_read_it() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 100).await;
    let poll = hall.poll(&["West", "Centre", "South-east", "East"], json!({})).await;
    let votes: [usize; 4] = [42, 26, 15, 17];
    let answers = hall
        .all_cast(&poll, |at| {
            let mut below = 0;
            votes
                .iter()
                .position(|heads| {
                    below += heads;
                    at < below
                })
                .expect("a place")
        })
        .await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    let closed = hall.close(&poll).await.expect(200);
    let result = closed.json();
    let heads: Vec<i64> = (0..4).filter_map(|at| result["options"][at]["votes"]["heads"].as_i64()).collect();
    assert_eq!(heads, [42, 26, 15, 17]);
    assert_eq!(result["verdict"]["elected"], json!([poll.options[0]]));
    let public = format!("/api/v1/public/{}/polls/{}", hall.slug, poll.id);
    app.stranger().get(&public).await.expect_problem(404, "not_found");
    hall.voters[0].get(&poll.path("/result")).await.expect_problem(409, "result_not_counted");

    let published = hall.chair.post(&poll.path("/publish"), json!({})).await.expect(200);
    assert_eq!(published.json()["result_state"], "published");
    hall.chair.post(&poll.path("/publish"), json!({})).await.expect(200);
    let seen = app.stranger().get(&public).await.expect(200);
    assert_eq!(seen.header("access-control-allow-origin"), "*");
    assert_eq!(seen.body, closed.body);
    assert_eq!(hall.voters[0].get(&poll.path("/result")).await.expect(200).body, closed.body);
    app.tenant("umbra").await;
    let elsewhere = format!("/api/v1/public/umbra/polls/{}", poll.id);
    app.stranger().get(&elsewhere).await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn hidden_results_are_the_same_for_everybody_whatever_was_cast() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 4).await;
    let poll = hall.poll(&["A", "B"], json!({"results": "hidden"})).await;
    let viewers = [hall.chair.clone(), app.tenant("acme").await.admin().await, hall.voters[3].clone()];
    let look = async || {
        // Time enough for the viewers' own rate limits, which count their looks, to be whole again.
        app.app.clock.advance(time::Duration::MINUTE);
        let mut seen = Vec::new();
        for viewer in &viewers {
            for path in [poll.path(""), poll.path("/result"), poll.path("/ballot")] {
                let answer = viewer.get(&path).await;
                let mut headers = answer.headers.clone();
                headers.remove("x-request-id");
                let mut body = answer.json();
                if let Some(object) = body.as_object_mut() {
                    object.remove("instance");
                }
                seen.push((answer.status, headers, body));
            }
        }
        seen
    };
    let before = look().await;
    for voter in &hall.voters[..3] {
        poll.cast(voter, 0).await.expect(201);
    }
    assert_eq!(look().await, before, "three ballots leave no trace");
    app.stranger()
        .get(&format!("/api/v1/public/acme/polls/{}", poll.id))
        .await
        .expect_problem(404, "not_found");
}

#[tokio::test]
async fn live_results_show_numbers_without_a_verdict_to_all_in_the_meeting() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A", "B"], json!({"results": "live"})).await;
    poll.cast(&hall.voters[0], 1).await.expect(201);
    for viewer in [&hall.chair, &hall.voters[2]] {
        let seen = viewer.get(&poll.path("/result")).await.expect(200).json();
        assert_eq!(seen["interim"], true);
        assert_eq!((&seen["entitled"]["heads"], &seen["cast"]["heads"]), (&json!(3), &json!(1)));
        assert_eq!(seen["options"][1]["votes"]["heads"], 1);
        assert!(seen.get("verdict").is_none());
    }
    let closed = hall.close(&poll).await.expect(200);
    assert_eq!(hall.voters[2].get(&poll.path("/result")).await.expect(200).body, closed.body);
}

#[tokio::test]
async fn two_against_two_is_tied_and_nobody_is_named() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 4).await;
    let poll = hall.poll(&["A", "B", "C"], json!({})).await;
    hall.all_cast(&poll, |at| at % 2).await;
    let verdict = hall.close(&poll).await.expect(200).json()["verdict"].clone();
    assert_eq!(verdict["outcome"], "tied");
    assert_eq!(verdict["elected"], json!([]));
    assert_eq!(verdict["tied_set"], json!([poll.options[0], poll.options[1]]));
}

#[tokio::test]
async fn four_four_six_has_whole_percents_that_add_up() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 14).await;
    let poll = hall.poll(&["A", "B", "C"], json!({})).await;
    hall.all_cast(&poll, |at| if at < 8 { at / 4 } else { 2 }).await;
    let result = hall.close(&poll).await.expect(200).json();
    let shares: Vec<&Value> = (0..3).map(|at| &result["options"][at]["share_of_cast"]).collect();
    let wholes: Vec<i64> = shares.iter().filter_map(|share| share["whole_percent"].as_i64()).collect();
    assert_eq!(wholes, [29, 28, 43]);
    assert_eq!(shares[0]["percent"], "28.571");
    assert_eq!(shares[0]["numerator"], "4000000");
}

#[tokio::test]
async fn without_ballots_there_is_no_result_and_no_percentage() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["verdict"]["outcome"], "no_result");
    assert_eq!(result["options"][0]["share_of_cast"], Value::Null);
}

#[tokio::test]
async fn the_log_of_a_round_is_whole_and_its_result_is_in_it() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    hall.all_cast(&poll, |_| 0).await;
    let closed = hall.close(&poll).await.expect(200);
    let id: i64 = poll.id.parse().expect("an id");
    let places: Vec<i64> = sqlx::query_scalar(
        "SELECT event_index FROM poll_events WHERE poll_id = $1 UNION ALL
         SELECT event_index FROM ballots WHERE poll_id = $1 ORDER BY 1",
    )
    .bind(id)
    .fetch_all(app.db().management())
    .await
    .expect("places");
    assert_eq!(places, (0..=5).collect::<Vec<_>>());
    let counted: String =
        sqlx::query_scalar("SELECT body FROM poll_events WHERE poll_id = $1 AND kind = 'counted'")
            .bind(id)
            .fetch_one(app.db().management())
            .await
            .expect("an event");
    assert!(counted.contains(&closed.text()));
    let size: i64 = sqlx::query_scalar("SELECT record_size FROM polls WHERE poll_id = $1")
        .bind(id)
        .fetch_one(app.db().management())
        .await
        .expect("a size");
    assert_eq!(size, 6);
}
