//! What callers, databases and bad timing can do to voting: it stays within its limits and says what happened.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{Hall, from_now, text, with_status};
use crate::support::TestApp;
use crate::support::chaos::{ChaosProxy, Cut};
use crate::support::database::TestDatabase;

/// COMMIT on the wire: with its end, because BEGIN says READ COMMITTED.
const COMMIT: &str = "COMMIT\0";

async fn run(connection: &mut sqlx::PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.expect("SQL of the test");
}

/// Open connections to the test's database, the asking one and `others` apart.
async fn connections(asking: &mut sqlx::PgConnection, others: i64) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
    sqlx::query_scalar::<_, i64>(sql).fetch_one(asking).await.expect("a count") - 1 - others
}

#[tokio::test(flavor = "multi_thread")]
async fn voters_who_hang_up_while_the_poll_is_locked_take_no_more_connections_than_are_configured() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 60).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut asking = TestDatabase::connect(app.target()).await;
    let mut holder = TestDatabase::connect(app.target()).await;
    run(&mut holder, format!("BEGIN; SELECT 1 FROM polls WHERE poll_id = {} FOR UPDATE", poll.id)).await;
    for voters in hall.voters.chunks(10) {
        let casts =
            voters.iter().map(|voter| tokio::time::timeout(Duration::from_millis(100), poll.cast(voter, 0)));
        assert!(join_all(casts).await.iter().all(Result::is_err), "all were waiting for the lock");
    }
    let open = connections(&mut asking, 1).await;
    assert!(open <= i64::from(app.app.config.database.max_connections), "{open} connections");
    run(&mut holder, "ROLLBACK".to_owned()).await;
    // Whose ballot was in the batch that waited for the lock has voted.
    let answers = hall.all_cast(&poll, |_| 0).await;
    assert_eq!(with_status(&answers, 201) + with_status(&answers, 409), 60);
    assert!(with_status(&answers, 201) >= 50, "the others were in no batch");
    assert_eq!(hall.close(&poll).await.expect(200).json()["cast"]["heads"], 60);
}

#[tokio::test]
async fn a_database_that_lets_nobody_in_is_not_a_defect_of_the_server() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let name = app.target().database();
    let mut outside = TestDatabase::connect(&app.target().with_database("postgres")).await;
    run(
        &mut outside,
        format!(
            "ALTER DATABASE {name} ALLOW_CONNECTIONS false;
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ),
    )
    .await;
    for answer in [
        hall.chair.get(&poll.path("")).await,
        hall.chair.post("/api/v1/meetings", json!({"title": "M"})).await,
        hall.close(&poll).await,
        poll.cast(&hall.voters[0], 0).await,
        app.stranger().get(&format!("/api/v1/public/acme/polls/{}", poll.id)).await,
    ] {
        answer.expect_problem(503, "unavailable");
    }
    let ready = app.stranger().get("/health/ready").await.expect(503).json();
    assert_eq!(ready["database"], "unreachable");
    run(&mut outside, format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test]
async fn a_table_whose_ids_are_used_up_refuses_writes_and_nothing_else() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let mut connection = TestDatabase::connect(app.target()).await;
    for sequence in ["meetings_meeting_id_seq", "participants_participant_id_seq", "polls_poll_id_seq"] {
        run(&mut connection, format!("SELECT setval('{sequence}', 9223372036854775807)")).await;
    }
    let meeting = format!("/api/v1/meetings/{}", hall.meeting);
    let draft = json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    for (path, body) in [
        ("/api/v1/meetings", json!({"title": "M"})),
        (&format!("{meeting}/participants"), json!({"name": "N"})),
        (&format!("{meeting}/polls"), draft),
    ] {
        hall.chair.post(path, body).await.expect_problem(503, "unavailable");
    }
    poll.cast(&hall.voters[0], 0).await.expect(201);
}

#[tokio::test]
async fn readiness_tells_a_schema_that_is_missing_from_a_database_that_is_away() {
    let app = TestApp::start().await;
    app.stranger().get("/health/ready").await.expect(200);
    let mut connection = TestDatabase::connect(app.target()).await;
    run(&mut connection, "ALTER TABLE _sqlx_migrations RENAME TO elsewhere".to_owned()).await;
    let ready = app.stranger().get("/health/ready").await.expect(503).json();
    assert_eq!((&ready["database"], &ready["schema"]), (&json!("ok"), &json!("unknown")));
}

#[tokio::test]
async fn a_ballot_that_says_two_things_at_once_is_refused_and_uses_nothing_up() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    let both = format!(r#"{{"options": ["{}"], "options": ["{}"]}}"#, poll.options[0], poll.options[1]);
    let voter = &hall.voters[0];
    let answer = voter.send(http::Method::PUT, &poll.path("/ballot"), Some(both)).await;
    answer.expect_problem(400, "bad_json");
    assert_eq!(hall.stored(&poll).await, 0);
    poll.cast(voter, 1).await.expect(201);
}

#[tokio::test]
async fn a_body_of_nothing_but_unknown_fields_gets_a_short_answer() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({})).await;
    let fields: Vec<String> = (0..100_000).map(|number| format!("\"f{number}\":1")).collect();
    let body = format!("{{{}}}", fields.join(","));
    let answer = hall.voters[0].send(http::Method::PUT, &poll.path("/ballot"), Some(body)).await;
    let answer = answer.expect_problem(422, "invalid");
    assert!(answer.body.len() < 10_000, "{} bytes", answer.body.len());
}

#[tokio::test]
async fn a_deadline_outside_the_calendar_is_a_fault_of_the_body() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 0).await;
    let poll = hall.poll(&["A"], json!({})).await;
    for edge in ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"] {
        let later = hall.chair.post(&poll.path("/deadline"), json!({"closes_at": edge})).await;
        assert_eq!(later.expect_problem(422, "invalid").json()["errors"][0]["pointer"], "/closes_at");
    }
}

#[tokio::test]
async fn a_deadline_that_passes_while_a_poll_is_being_opened_leaves_it_in_draft() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.draft(&["A"], json!({"closes_at": from_now(&app, 600).await})).await;
    // The freezing of the electorate checks that the participant exists, and waits for this lock.
    let mut holder = TestDatabase::connect(app.target()).await;
    run(&mut holder, "BEGIN; SELECT 1 FROM participants FOR UPDATE".to_owned()).await;
    let release = async {
        tokio::time::sleep(Duration::from_millis(900)).await;
        run(&mut holder, "ROLLBACK".to_owned()).await;
    };
    let opened = futures_util::future::join(hall.open(&poll), release).await.0;
    opened.expect_problem(409, "deadline_passed");
    let shown = hall.chair.get(&poll.path("")).await.expect(200).json();
    assert_eq!((&shown["state"], &shown["opened_at"]), (&json!("draft"), &json!(null)));
}

#[tokio::test]
async fn keys_for_names_have_no_part_in_meetings() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 1).await;
    let poll = hall.poll(&["A"], json!({"results": "live"})).await;
    let domain = app.operator().await.post("/api/v1/domains", json!({"path": "obo", "tenant": "acme"})).await;
    domain.expect(201);
    let mut connection = TestDatabase::connect(app.target()).await;
    let id: i64 =
        sqlx::query_scalar("SELECT domain_id FROM domains").fetch_one(&mut connection).await.expect("an id");
    let acme = app.tenant("acme").await;
    let people = format!("/api/v1/meetings/{}/participants", hall.meeting);
    for stranger in [
        acme.minter().await,
        acme.moderator().await,
        acme.limited("reader", &[id]).await,
        acme.limited("admin", &[id]).await,
    ] {
        for path in [&people, &poll.path(""), &poll.path("/result")] {
            stranger.get(path).await.expect_problem(403, "forbidden");
        }
        stranger.post(&poll.path("/close"), json!({})).await.expect_problem(403, "forbidden");
    }
    for insider in [acme.reader().await, acme.admin().await] {
        insider.get(&people).await.expect(200);
    }
}

#[tokio::test]
async fn a_meeting_whose_commit_was_cut_is_an_unknown_outcome() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 0).await;
    let proxy = ChaosProxy::start().await;
    let behind = TestApp::over(&proxy.target(app.target()), app.app.config.clone());
    let chair = behind.bearer(hall.chair.token());
    proxy.cut_at(COMMIT, Cut::After);
    chair.post("/api/v1/meetings", json!({"title": "Cut"})).await.expect_problem(503, "outcome_unknown");
    assert_eq!(proxy.cuts(), 1);
}

#[tokio::test]
async fn a_step_that_is_taken_and_cannot_be_read_back_does_not_say_that_nothing_was_written() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 0).await;
    let proxy = ChaosProxy::start().await;
    let behind = TestApp::over(&proxy.target(app.target()), app.app.config.clone());
    let chair = behind.bearer(hall.chair.token());
    let path = format!("/api/v1/meetings/{}/state", hall.meeting);
    // The reading after the commit.
    proxy.cut_at("title, state, proxies_per_holder", Cut::Before);
    chair.post(&path, json!({"state": "closed"})).await.expect_problem(503, "outcome_unknown");
    proxy.behave();
    let meeting = hall.chair.get(&format!("/api/v1/meetings/{}", hall.meeting)).await.expect(200).json();
    assert_eq!(text(&meeting["state"]), "closed");
}
