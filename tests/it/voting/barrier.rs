//! The close barrier: what was acknowledged is counted, nothing else is, and a close is the same every time.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use super::{Hall, Poll, from_now, with_status};
use crate::support::database::TestDatabase;
use crate::support::{Actor, Answer, TestApp};

/// A burst with a close in its middle; voters alternate between the routers given.
async fn burst(hall: &Hall<'_>, poll: &Poll, voters: Vec<Actor>) -> (Vec<Answer>, Answer) {
    let casts: Vec<_> = voters
        .into_iter()
        .enumerate()
        .map(|(at, voter)| {
            let poll = poll.clone();
            #[allow(clippy::disallowed_methods)]
            tokio::spawn(async move { poll.cast(&voter, at % 2).await })
        })
        .collect();
    // Long enough for some, too short for all.
    while hall.stored(poll).await < 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let closed = hall.close(poll).await.expect(200);
    let answers = join_all(casts).await.into_iter().map(|answer| answer.expect("no panic")).collect();
    (answers, closed)
}

fn assert_acknowledged_is_counted(answers: &[Answer], closed: &Answer) {
    let accepted = with_status(answers, 201);
    assert_eq!(with_status(answers, 409) + accepted, answers.len(), "nothing else is answered");
    let result = closed.json();
    assert_eq!(result["cast"]["heads"], accepted);
    for refused in answers.iter().filter(|answer| answer.status == 409) {
        assert_eq!(refused.json()["code"], "poll_closed");
    }
    for place in 0..2 {
        let option = &result["options"][place];
        let acknowledged = answers
            .iter()
            .filter(|answer| answer.status == 201 && answer.json()["options"][0] == option["option"])
            .count();
        assert_eq!(option["votes"]["heads"], acknowledged);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_close_in_the_middle_of_a_burst_counts_what_was_acknowledged() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 200).await;
    for _ in 0..5 {
        let poll = hall.poll(&["A", "B"], json!({})).await;
        let (answers, closed) = burst(&hall, &poll, hall.voters.clone()).await;
        assert_acknowledged_is_counted(&answers, &closed);
        assert_eq!(
            hall.close(&poll).await.expect(200).body,
            closed.body,
            "a repeated close is the same bytes"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_barrier_holds_over_two_servers_on_one_database() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, 200).await;
    for _ in 0..5 {
        let poll = hall.poll(&["A", "B"], json!({})).await;
        let voters = hall
            .voters
            .iter()
            .enumerate()
            .map(|(at, voter)| if at % 2 == 0 { voter.clone() } else { twin.bearer(voter.token()) });
        let (answers, closed) = burst(&hall, &poll, voters.collect()).await;
        assert_acknowledged_is_counted(&answers, &closed);
        let again = twin.bearer(hall.chair.token()).post(&poll.path("/close"), json!({})).await.expect(200);
        assert_eq!(again.body, closed.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_closes_at_once_give_one_result() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    hall.all_cast(&poll, |_| 0).await;
    let answers = join_all((0..10).map(|_| hall.close(&poll))).await;
    assert_eq!(with_status(&answers, 200), 10);
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
}

#[tokio::test]
async fn a_deadline_that_passes_while_a_cast_waits_for_the_lock_refuses_it() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let closes_at = from_now(&app, 700).await;
    let poll = hall.poll(&["A", "B"], json!({ "closes_at": closes_at })).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    hold(&mut holder, &poll).await;
    let begun = Instant::now();
    let (answer, ()) = futures_util::future::join(poll.cast(&hall.voters[0], 0), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The holder only locked: nothing tells the waiter that the row has changed.
        release(&mut holder).await;
    })
    .await;
    assert!(begun.elapsed() >= Duration::from_millis(900), "the cast waited for the lock");
    answer.expect_problem(409, "poll_closed");
    assert_eq!(hall.stored(&poll).await, 0);
}

#[tokio::test]
async fn a_poll_closed_while_a_cast_waits_for_the_lock_refuses_it() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    let mut holder = TestDatabase::connect(app.target()).await;
    hold(&mut holder, &poll).await;
    // First in the queue for the lock is the close, then the cast, whose eligibility was read before.
    let close = hall.close(&poll);
    let cast = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        poll.cast(&hall.voters[1], 1).await
    };
    let let_go = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        release(&mut holder).await;
    };
    let (closed, answer, ()) = futures_util::future::join3(close, cast, let_go).await;
    answer.expect_problem(409, "poll_closed");
    assert_eq!(closed.expect(200).json()["cast"]["heads"], 1);
}

#[tokio::test]
async fn a_lock_that_is_never_released_ends_in_503_and_stores_nothing() {
    let mut config = resolute::config::Config::default();
    config.database.lock_timeout_ms = 300;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    hold(&mut holder, &poll).await;
    let answer = poll.cast(&hall.voters[0], 0).await.expect_problem(503, "unavailable");
    assert_ne!(answer.header("retry-after"), "");
    hall.close(&poll).await.expect_problem(503, "unavailable");
    release(&mut holder).await;
    assert_eq!(hall.stored(&poll).await, 0);
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_with_5000_entitled_takes_less_than_a_second() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 5_000).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let id: i64 = poll.id.parse().expect("an id");
    // Ballots of 4,000 of them, as casting would store them.
    sqlx::query(
        "WITH stored AS (
             INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice, event_hash)
             SELECT tenant_id, poll_id, participant_id, row_number() OVER (), now(), round,
                    jsonb_build_array($2::text), decode(repeat('00', 32), 'hex')
             FROM poll_electorate WHERE poll_id = $1 ORDER BY participant_id LIMIT 4000 RETURNING 1)
         UPDATE polls SET record_size = 1 + (SELECT count(*) FROM stored) WHERE poll_id = $1",
    )
    .bind(id)
    .bind(&poll.options[0])
    .execute(app.db().management())
    .await
    .expect("ballots");
    let begun = Instant::now();
    let result = hall.close(&poll).await.expect(200).json();
    let took = begun.elapsed();
    assert_eq!((&result["entitled"]["heads"], &result["cast"]["heads"]), (&json!(5_000), &json!(4_000)));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

async fn hold(holder: &mut sqlx::PgConnection, poll: &Poll) {
    let id: i64 = poll.id.parse().expect("an id");
    sqlx::query("BEGIN").execute(&mut *holder).await.expect("begin");
    sqlx::query("SELECT 1 FROM polls WHERE poll_id = $1 FOR UPDATE")
        .bind(id)
        .execute(holder)
        .await
        .expect("the lock");
}

async fn release(holder: &mut sqlx::PgConnection) {
    sqlx::query("ROLLBACK").execute(holder).await.expect("rollback");
}
