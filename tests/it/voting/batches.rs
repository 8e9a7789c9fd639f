//! Group commit as voters see it: one that cannot be stored costs nobody else, deadlocks are invisible, what is
//! remembered of a poll is never believed too long, and full queues answer at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use resolute::config::Config;
use resolute::db;
use resolute::voting::cast::Verdict;
use resolute::voting::eligibility::Cast;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{Hall, Poll, number, with_status};
use crate::support::TestApp;
use crate::support::chaos::ChaosProxy;
use crate::support::database::TestDatabase;

pub(super) async fn run(connection: &mut sqlx::PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.expect("SQL of the test");
}

/// Holds a poll, so that what is submitted meanwhile gathers, for this long.
pub(super) async fn held(app: &TestApp, poll: &Poll, time: Duration) {
    let mut holder = TestDatabase::connect(app.target()).await;
    run(&mut holder, format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id)).await;
    tokio::time::sleep(time).await;
    run(&mut holder, "ROLLBACK".to_owned()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_poison_item_in_a_hundred_costs_the_others_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 100).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let key = (app.tenant("acme").await.id, number(&poll.id));
    let mut items: Vec<Cast> = (0..100).map(|voter| hall.judged(&poll, voter, 0)).collect();
    // Longer than the table allows; no route lets it through.
    items[37].idempotency_key = Some("k".repeat(300));
    let casting = &app.app.voting.casting;
    let cast = async |item| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        casting.submit(&key, Arc::new(item)).await
    };
    let (answers, ()) =
        join(join_all(items.into_iter().map(cast)), held(&app, &poll, Duration::from_millis(300))).await;
    for (at, answer) in answers.iter().enumerate() {
        match answer {
            Ok(Verdict::Accepted(..)) => assert_ne!(at, 37),
            Err(db::Error::CheckViolation { constraint }) => {
                assert_eq!((at, constraint.as_str()), (37, "ballots_idempotency_key_length"));
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    assert_eq!(hall.stored(&poll).await, 99);
    let stats = casting.stats(None);
    assert!(stats.largest > 10, "they were written together: {stats:?}");
    let closed = hall.close(&poll).await.expect(200).json();
    assert_eq!(closed["record"]["closed_event_index"], 100, "no gap where the poison was tried");
}

/// The ballots' transaction fails in the middle, COMMIT answers ROLLBACK without an error: nobody is told of success.
#[tokio::test]
async fn a_commit_that_is_a_rollback_acknowledges_nothing() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut owner = TestDatabase::connect(app.target()).await;
    run(
        &mut owner,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'on purpose'; END $$;
         CREATE TRIGGER fail AFTER INSERT ON ballots FOR EACH STATEMENT EXECUTE FUNCTION fail()"
            .to_owned(),
    )
    .await;
    poll.cast(&hall.voters[0], 0).await.expect_problem(500, "internal");
    run(
        &mut owner,
        "DROP TRIGGER fail ON ballots;
         CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON ballots DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION fail()"
            .to_owned(),
    )
    .await;
    poll.cast(&hall.voters[0], 0).await.expect_problem(500, "internal");
    assert_eq!(hall.stored(&poll).await, 0);
    run(&mut owner, "DROP TRIGGER fail ON ballots".to_owned()).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deadlock_is_run_again_and_no_voter_notices() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut other = TestDatabase::connect(app.target()).await;
    // A row of the voter's that is never committed: the batch waits for it with the poll locked …
    run(
        &mut other,
        format!(
            "SET deadlock_timeout = '10s'; BEGIN;
             INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice, event_hash)
             SELECT tenant_id, poll_id, {}, 99, now(), 1, '[]', sha256('') FROM polls WHERE poll_id = {}",
            hall.participants[0], poll.id
        ),
    )
    .await;
    let closing_the_circle = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        // … and the other one now waits for the poll. PostgreSQL ends the batch after its second.
        run(&mut other, format!("SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id)).await;
        run(&mut other, "ROLLBACK".to_owned()).await;
    };
    let (answers, ()) = join(hall.all_cast(&poll, |_| 0), closing_the_circle).await;
    assert_eq!(with_status(&answers, 201), 3);
    assert_eq!(hall.stored(&poll).await, 3);
}

/// A token is reissued by another server, a participant removed, the meeting interrupted, between the moment at which
/// this server remembered the poll and the cast.
#[tokio::test]
async fn what_another_server_changed_since_the_poll_was_remembered_counts() {
    let app = TestApp::start().await;
    let other = app.twin();
    let hall = Hall::seated(&app, 4).await;
    let poll = hall.poll(&["A"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    assert!(!app.app.voting.known_polls.is_empty(), "the poll is remembered");

    let chair = other.bearer(hall.chair.token());
    let path = |participant: usize| format!("/api/v1/participants/{}", hall.participants[participant]);
    let reissued = chair.post(&format!("{}/token", path(1)), json!({})).await.expect(201).json();
    poll.cast(&hall.voters[1], 0).await.expect_problem(401, "unauthenticated");
    poll.cast(&app.bearer(reissued["token"].as_str().expect("a token")), 0).await.expect(201);

    let revision = chair.get(&path(2)).await.expect(200);
    chair.with("if-match", revision.header("etag")).delete(&path(2)).await.expect(204);
    poll.cast(&hall.voters[2], 0).await.expect_problem(401, "unauthenticated");

    let step = format!("/api/v1/meetings/{}/state", hall.meeting);
    chair.post(&step, json!({"state": "suspended"})).await.expect(200);
    poll.cast(&hall.voters[3], 0).await.expect_problem(409, "meeting_suspended");
    chair.post(&step, json!({"state": "active"})).await.expect(200);
    poll.cast(&hall.voters[3], 0).await.expect(201);

    chair.post(&poll.path("/close"), json!({})).await.expect(200);
    poll.cast(&hall.voters[0], 0).await.expect_problem(409, "already_voted");
    assert_eq!(hall.stored(&poll).await, 3);
}

/// The poll is remembered with the token that voted; the token is then replaced, here and by another server.
#[tokio::test]
async fn a_dead_token_is_not_shown_the_ballot_that_was_cast_with_it() {
    let app = TestApp::start().await;
    let other = app.twin();
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let cast = |voter: &crate::support::Actor| {
        let (voter, body) = (voter.with("idempotency-key", "k"), poll.choose(0));
        let path = poll.path("/ballot");
        async move { voter.put(&path, body).await }
    };
    for voter in &hall.voters {
        cast(voter).await.expect(201);
    }
    let path = |participant: usize| format!("/api/v1/participants/{}", hall.participants[participant]);
    let here = hall.chair.post(&format!("{}/token", path(0)), json!({})).await.expect(201).json();
    cast(&hall.voters[0]).await.expect_problem(401, "unauthenticated");
    let chair = other.bearer(hall.chair.token());
    chair.post(&format!("{}/token", path(1)), json!({})).await.expect(201);
    poll.cast(&hall.voters[1], 1).await.expect_problem(401, "unauthenticated");
    let revision = chair.get(&path(2)).await.expect(200);
    chair.with("if-match", revision.header("etag")).delete(&path(2)).await.expect(204);
    cast(&hall.voters[2]).await.expect_problem(401, "unauthenticated");

    let successor = app.bearer(here["token"].as_str().expect("a token"));
    assert_eq!(cast(&successor).await.expect(201).header("idempotency-replayed"), "true");
    poll.cast(&successor, 1).await.expect_problem(409, "already_voted");
    hall.close(&poll).await.expect(200);
    cast(&hall.voters[0]).await.expect_problem(401, "unauthenticated");
    assert_eq!(cast(&successor).await.expect(201).header("idempotency-replayed"), "true");
}

/// As when tokens are replaced one after the other: each makes what is remembered of the poll old, sooner than a large
/// electorate is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_that_come_faster_than_an_electorate_can_be_read_keep_nobody_from_voting() {
    let app = TestApp::start().await;
    let mut hall = Hall::seated(&app, 5_000).await;
    for _ in 0..3 {
        hall.seat((0..5_000).map(|number| json!({"name": format!("Voter {number}")})).collect()).await;
    }
    let poll = hall.poll(&["A"], json!({})).await;
    let mut other = TestDatabase::connect(app.target()).await;
    let changing = async {
        loop {
            run(
                &mut other,
                format!("UPDATE polls SET generation = generation + 1 WHERE poll_id = {}", poll.id),
            )
            .await;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    };
    let voting = async {
        let mut answers = Vec::new();
        for crowd in hall.voters[..60].chunks(20) {
            answers.extend(join_all(crowd.iter().map(|voter| poll.cast(voter, 0))).await);
        }
        answers
    };
    let answers = tokio::select! {
        answers = voting => answers,
        () = changing => unreachable!("it goes on"),
    };
    assert_eq!(with_status(&answers, 201), 60);
}

/// As after a partition of the network: what was sent on it is confirmed by nobody, and nothing says that it is dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_that_is_silently_dead_holds_a_poll_up_for_a_bounded_time() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let proxy = ChaosProxy::start().await;
    let mut config = Config::default();
    config.database.statement_timeout_ms = 400;
    config.database.lock_timeout_ms = 200;
    let server = TestApp::over(&proxy.target(app.target()), config);
    let voters: Vec<_> = hall.voters.iter().map(|voter| server.bearer(voter.token())).collect();
    poll.cast(&voters[0], 0).await.expect(201);
    proxy.delay(Duration::from_hours(1));
    let cut_off = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.behave();
    };
    let begun = Instant::now();
    let (lost, ()) = join(poll.cast(&voters[1], 0), cut_off).await;
    lost.expect_problem(503, "outcome_unknown");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    poll.cast(&voters[2], 0).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_electorate_that_is_too_large_to_be_remembered_votes_all_the_same() {
    let mut config = Config::default();
    config.cache.voters = 20;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 40).await;
    let poll = hall.poll(&["A"], json!({})).await;
    assert_eq!(with_status(&hall.all_cast(&poll, |_| 0).await, 201), 40);
    assert!(app.app.voting.known_polls.len() <= 20);
    let others = [hall.poll(&["B"], json!({})).await, hall.poll(&["C"], json!({})).await];
    for other in &others {
        assert_eq!(with_status(&hall.all_cast(other, |_| 0).await, 201), 40);
    }
    assert!(app.app.voting.known_polls.len() <= 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_queue_answers_at_once_and_what_was_refused_can_be_sent_again() {
    let mut config = Config::default();
    config.write.queue_bytes = 8_000;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 60).await;
    let poll = hall.poll(&["A"], json!({})).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
    let burst = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        let timed = async |voter| (poll.cast(voter, 0).await, begun.elapsed());
        join_all(hall.voters[1..].iter().map(timed)).await
    };
    let (answers, ()) = join(burst, held(&app, &poll, Duration::from_millis(1500))).await;
    let mut refused = 0;
    for (answer, time) in &answers {
        if answer.status == 201 {
            continue;
        }
        refused += 1;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "1"));
        assert!(*time < Duration::from_secs(1), "refused after {time:?}");
    }
    assert!(refused > 10, "{refused} were refused");
    assert_eq!(app.app.voting.casting.stats(None).refused, refused);
    for voter in &hall.voters {
        let again = poll.cast(voter, 0).await.status.as_u16();
        assert!([201, 409].contains(&again), "{again}");
    }
    assert_eq!(hall.stored(&poll).await, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ballot_that_waits_too_long_is_given_back_and_nothing_of_it_is_stored_later() {
    let mut config = Config::default();
    config.write.queue_wait_ms = 300;
    let app = TestApp::with_config(config).await;
    let hall = Hall::seated(&app, 2).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let second = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let begun = Instant::now();
        let answer = poll.cast(&hall.voters[1], 0).await;
        (answer, begun.elapsed())
    };
    let first = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        poll.cast(&hall.voters[0], 0).await
    };
    let (((late, time), first), ()) =
        join(join(second, first), held(&app, &poll, Duration::from_millis(1500))).await;
    first.expect(201);
    late.expect_problem(503, "unavailable");
    assert!(time < Duration::from_secs(1), "{time:?}");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(hall.stored(&poll).await, 1);
}

#[tokio::test]
async fn a_tenants_admin_sees_the_counts_of_the_tenant_and_of_nobody_else() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A"], json!({})).await;
    assert_eq!(with_status(&hall.all_cast(&poll, |_| 0).await, 201), 3);
    let of = async |slug: &str| {
        let admin = app.tenant(slug).await.admin().await;
        let stats = admin.get("/api/v1/stats").await.expect(200).json();
        let queues = stats["queues"].as_array().expect("queues").clone();
        let named = queues.iter().map(|queue| queue["queue"].as_str().expect("a name").to_owned());
        assert_eq!(named.collect::<Vec<_>>(), ["ballots", "names", "changes"]);
        queues[0].clone()
    };
    let own = of("acme").await;
    assert_eq!((&own["items"], &own["waiting"]["items"]), (&json!(3), &json!(0)));
    assert!(own["waiting"]["peak_items"].as_u64().expect("a number") >= 1);
    assert_eq!(of("other").await["items"], 0);
    hall.chair.get("/api/v1/stats").await.expect_problem(403, "forbidden");
}
