//! The electorate of a poll is read when it opens, and what was read before it opened does not outlive that.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use resolute::config::Config;
use serde_json::json;

use super::Hall;
use crate::support::TestApp;

/// Waits for so many voters and polls in memory.
async fn remembered(app: &TestApp, size: usize) {
    let end = Instant::now() + Duration::from_secs(10);
    while app.app.voting.known_polls.len() != size {
        assert!(Instant::now() < end, "{} are remembered, not {size}", app.app.voting.known_polls.len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn voters_are_read_when_their_poll_opens_before_anybody_comes() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 30).await;
    assert!(app.app.voting.known_polls.is_empty());
    let polls = join_all((0..6).map(|_| hall.poll(&["A", "B"], json!({})))).await;
    remembered(&app, 6 * 31).await;
    for poll in &polls {
        let answers = hall.all_cast(poll, |place| place % 2).await;
        assert!(answers.iter().all(|answer| answer.status == 201));
        assert_eq!(hall.stored(poll).await, 30);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_server_reads_the_voters_when_it_is_first_asked() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 5).await;
    let twin = app.twin();
    let poll = hall.poll(&["A"], json!({})).await;
    remembered(&app, 6).await;
    assert!(twin.app.voting.known_polls.is_empty());
    poll.cast(&twin.bearer(hall.voters[0].token()), 0).await.expect(201);
    assert_eq!(twin.app.voting.known_polls.len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_poll_that_was_asked_for_as_a_draft_is_read_again_when_it_opens() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 5).await;
    let poll = hall.draft(&["A"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(409);
    assert_eq!(app.app.voting.known_polls.len(), 1);
    hall.open(&poll).await.expect(200);
    remembered(&app, 6).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test]
async fn an_electorate_that_fills_the_whole_memory_is_judged_voter_by_voter() {
    let mut config = Config::default();
    config.cache.voters = 5;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 5).await;
    let poll = hall.poll(&["A"], json!({})).await;
    remembered(&app, 1).await;
    let answers = hall.all_cast(&poll, |_| 0).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!(app.app.voting.known_polls.len(), 1, "the poll, and nobody of its electorate");
}
