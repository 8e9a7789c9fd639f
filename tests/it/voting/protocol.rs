//! The protocol of the write path, rule by rule: what is judged under the lock, batches, broken connections.

use std::time::Duration;

use resolute::voting::cast::Verdict;
use resolute::voting::eligibility::Cast;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{Hall, Poll, text};
use crate::support::chaos::{ChaosProxy, Cut};
use crate::support::database::TestDatabase;
use crate::support::{Answer, TestApp};

/// COMMIT on the wire: with its end, because BEGIN says READ COMMITTED.
const COMMIT: &str = "COMMIT\0";

/// What a cast answers when `sql` is committed while it waits for the poll's lock.
async fn cast_while(app: &TestApp, hall: &Hall<'_>, poll: &Poll, sql: String) -> Answer {
    let mut holder = TestDatabase::connect(app.target()).await;
    let begin = format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id);
    run(&mut holder, begin).await;
    let changed = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        run(&mut holder, format!("{sql}; COMMIT")).await;
    };
    futures_util::future::join(poll.cast(&hall.voters[0], 0), changed).await.0
}

async fn run(connection: &mut sqlx::PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.expect("SQL of the test");
}

#[tokio::test]
async fn what_changes_while_a_cast_waits_is_judged_again() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let (id, participant) = (&poll.id, &hall.participants[0]);
    let bump = format!("UPDATE polls SET generation = generation + 1 WHERE poll_id = {id}");
    for (change, status, code) in [
        (
            format!(
                "{bump}; UPDATE participants SET removed_at = now() WHERE participant_id = {participant}"
            ),
            401,
            "unauthenticated",
        ),
        (
            format!(
                "{bump}; UPDATE participants SET removed_at = NULL, token_sha256 = sha256('') WHERE participant_id = {participant}"
            ),
            401,
            "unauthenticated",
        ),
    ] {
        let before: Vec<u8> = token_of(&app, participant).await;
        cast_while(&app, &hall, &poll, change).await.expect_problem(status, code);
        let mut connection = TestDatabase::connect(app.target()).await;
        sqlx::query("UPDATE participants SET removed_at = NULL, token_sha256 = $1")
            .bind(before)
            .execute(&mut connection)
            .await
            .expect("restored");
    }
    let suspend = format!("{bump}; UPDATE polls SET meeting_suspended = true WHERE poll_id = {id}");
    cast_while(&app, &hall, &poll, suspend).await.expect_problem(409, "meeting_suspended");
    let resume = format!("UPDATE polls SET meeting_suspended = false WHERE poll_id = {id}");
    run(&mut TestDatabase::connect(app.target()).await, resume).await;
    assert_eq!(hall.stored(&poll).await, 0);
    // A change that takes nothing away only costs another judgement.
    cast_while(&app, &hall, &poll, bump).await.expect(201);
}

async fn token_of(app: &TestApp, participant: &str) -> Vec<u8> {
    let id: i64 = participant.parse().expect("an id");
    sqlx::query_scalar("SELECT token_sha256 FROM participants WHERE participant_id = $1")
        .bind(id)
        .fetch_one(app.db().management())
        .await
        .expect("a hash")
}

#[tokio::test]
async fn each_item_of_a_batch_has_a_verdict_of_its_own() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 4).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    poll.cast(&hall.voters[1], 0).await.expect(201);
    let items =
        [(0, 0), (1, 1), (2, 1), (0, 1), (3, 1)].map(|(voter, option)| hall.judged(&poll, voter, option));
    let mut items = items.map(|item| (&poll, item));
    items[4].1.generation = 1;
    let verdicts = hall.batch(&items.each_ref().map(|(poll, item)| (*poll, item))).await;
    let seen: Vec<(&str, i64)> = verdicts
        .iter()
        .map(|verdict| match verdict {
            Verdict::Accepted(index, _) => ("accepted", *index),
            Verdict::Before(ballot) => ("before", ballot.index),
            Verdict::Stale => ("stale", 0),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [("accepted", 2), ("before", 1), ("accepted", 3), ("stale", 0), ("stale", 0)];
    assert_eq!(seen, expected, "a second ballot of a batch, and one judged earlier, are judged again");

    let cast = async |item: Cast| hall.batch(&[(&poll, &item)]).await.remove(0);
    let item = |voter, option| hall.judged(&poll, voter, option);
    let Verdict::Before(first) = cast(item(0, 1)).await else { panic!("it has voted") };
    assert_eq!(first.choice, items[0].1.choice, "of two ballots of one voter the first stands");
    let stale = Cast { generation: 1, ..item(1, 0) };
    assert_eq!(
        cast(stale).await,
        Verdict::Stale,
        "who has voted is shown the ballot only by a fresh judgement"
    );
    let result = hall.close(&poll).await.expect(200).json();
    assert_eq!(result["cast"]["heads"], 3);
    assert_eq!(result["record"]["closed_event_index"], 4);
    assert_eq!(cast(item(2, 0)).await, Verdict::Stale);
    assert_eq!(cast(item(3, 0)).await, Verdict::Closed);
}

#[tokio::test]
async fn a_stale_generation_stores_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let stale = Cast { generation: 1, ..hall.judged(&poll, 0, 0) };
    assert_eq!(hall.batch(&[(&poll, &stale)]).await, [Verdict::Stale]);
    assert_eq!(hall.stored(&poll).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_defaults_to_repeatable_read_fails_no_waiter() {
    let app = TestApp::start().await;
    let name = app.target().database();
    run(
        &mut TestDatabase::connect(app.target()).await,
        format!("ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'"),
    )
    .await;
    let strict = app.twin();
    let hall = Hall::seated(&strict, 30).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let answers = hall.all_cast(&poll, |_| 0).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!(hall.close(&poll).await.expect(200).json()["cast"]["heads"], 30);
}

/// A hall whose server reaches the database through a proxy that misbehaves.
async fn with_proxy(story: impl AsyncFnOnce(Hall<'_>, Poll, TestApp, ChaosProxy)) {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let proxy = ChaosProxy::start().await;
    let behind = TestApp::over(&proxy.target(app.target()), app.app.config.clone());
    story(hall, poll, behind, proxy).await;
}

#[tokio::test]
async fn a_connection_cut_after_commit_is_an_unknown_outcome_that_a_retry_settles() {
    with_proxy(async |hall, poll, behind, proxy| {
        let voter = behind.bearer(hall.voters[0].token()).with("idempotency-key", "k");
        proxy.cut_at(COMMIT, Cut::After);
        poll.cast(&voter, 0).await.expect_problem(503, "outcome_unknown");
        assert_eq!(proxy.cuts(), 1);
        proxy.behave();
        let settled = poll.cast(&voter, 0).await.expect(201);
        assert_eq!(settled.header("idempotency-replayed"), "true", "it had been stored");
        assert_eq!(hall.stored(&poll).await, 1);
        assert_eq!(hall.close(&poll).await.expect(200).json()["cast"]["heads"], 1);
    })
    .await;
}

#[tokio::test]
async fn a_connection_cut_before_commit_stores_nothing_and_a_retry_casts() {
    with_proxy(async |hall, poll, behind, proxy| {
        let voter = behind.bearer(hall.voters[0].token()).with("idempotency-key", "k");
        proxy.cut_at(COMMIT, Cut::Before);
        poll.cast(&voter, 0).await.expect_problem(503, "outcome_unknown");
        proxy.cut_at("BEGIN", Cut::Before);
        poll.cast(&voter, 0).await.expect_problem(503, "unavailable");
        assert_eq!(hall.stored(&poll).await, 0);
        proxy.behave();
        let settled = poll.cast(&voter, 0).await.expect(201);
        assert_eq!(settled.header("idempotency-replayed"), "");
        assert_eq!(settled.json()["index"], 1, "the lost tries left no gap in the log");
    })
    .await;
}

#[tokio::test]
async fn a_close_whose_answer_was_lost_is_repeated_with_the_same_result() {
    with_proxy(async |hall, poll, behind, proxy| {
        poll.cast(&hall.voters[0], 0).await.expect(201);
        let chair = behind.bearer(hall.chair.token());
        chair.get(&poll.path("")).await.expect(200);
        proxy.cut_at(COMMIT, Cut::After);
        chair.post(&poll.path("/close"), json!({})).await.expect_problem(503, "outcome_unknown");
        proxy.behave();
        let again = chair.post(&poll.path("/close"), json!({})).await.expect(200);
        assert_eq!(again.json()["cast"]["heads"], 1);
        assert_eq!(hall.close(&poll).await.expect(200).body, again.body);
        poll.cast(&hall.voters[1], 0).await.expect_problem(409, "poll_closed");
    })
    .await;
}

#[tokio::test]
async fn a_database_that_is_away_is_503_and_everything_returns_with_it() {
    with_proxy(async |hall, poll, behind, proxy| {
        let voter = behind.bearer(hall.voters[0].token());
        proxy.refuse(true);
        proxy.cut_all();
        let answer = poll.cast(&voter, 0).await.expect_problem(503, "unavailable");
        assert_ne!(answer.header("retry-after"), "");
        proxy.behave();
        poll.cast(&voter, 0).await.expect(201);
        assert_eq!(hall.stored(&poll).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_voter_who_hangs_up_leaves_a_whole_ballot_or_none() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    let lock = format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id);
    run(&mut holder, lock).await;
    let hung_up = tokio::time::timeout(Duration::from_millis(300), poll.cast(&hall.voters[0], 0)).await;
    assert!(hung_up.is_err(), "the cast was waiting for the lock");
    // It arrives while the first one's transaction waits, so its own comes after that.
    let second = poll.cast(&hall.voters[1], 0);
    let released = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        run(&mut holder, "ROLLBACK".to_owned()).await;
    };
    let (second, ()) = futures_util::future::join(second, released).await;
    assert_eq!(second.expect(201).json()["index"], 2);
    assert_eq!(hall.stored(&poll).await, 2);
    let first = poll.cast(&hall.voters[0], 0).await.expect_problem(409, "already_voted");
    assert_eq!(first.json()["first"]["index"], 1, "the ballot was under way, and is whole");
}

#[tokio::test]
async fn a_voter_who_hangs_up_before_the_transaction_begins_has_not_voted() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    let lock = format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id);
    run(&mut holder, lock).await;
    let waits_behind = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::time::timeout(Duration::from_millis(200), poll.cast(&hall.voters[1], 0)).await
    };
    let released = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        run(&mut holder, "ROLLBACK".to_owned()).await;
    };
    let (first, hung_up, ()) =
        futures_util::future::join3(poll.cast(&hall.voters[0], 0), waits_behind, released).await;
    first.expect(201);
    assert!(hung_up.is_err(), "it was waiting for the next batch");
    assert_eq!(poll.cast(&hall.voters[1], 0).await.expect(201).json()["index"], 2);
}

#[tokio::test]
async fn a_failed_or_repeated_opening_changes_nothing_and_every_server_sees_the_same() {
    let app = TestApp::start().await;
    let twin = app.twin();
    let hall = Hall::seated(&app, 50).await;
    let poll = hall.poll(&["A"], json!({"results": "live"})).await;
    let answers = hall.all_cast(&poll, |_| 0).await;
    assert!(answers.iter().all(|answer| answer.status == 201));
    let opened = text(&hall.chair.get(&poll.path("")).await.json()["opened_at"]);
    hall.open(&poll).await.expect_problem(409, "illegal_step");
    for server in [&app, &twin] {
        let chair = server.bearer(hall.chair.token());
        let seen = chair.get(&poll.path("")).await.expect(200).json();
        assert_eq!((&seen["state"], &seen["opened_at"]), (&json!("open"), &json!(opened)));
        assert_eq!(chair.get(&poll.path("/result")).await.expect(200).json()["cast"]["heads"], 50);
    }
    assert_eq!(hall.stored(&poll).await, 50);
}
