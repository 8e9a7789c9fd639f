//! Attempts: failures are kept and tried again, what a failed attempt wrote is gone, and there is an end to it.

use std::time::Duration;

use resolute::db::jobs::{Done, Kinds, NewJob, Running, enqueue, prune};
use serde_json::json;

use super::{PACE, Seen, ask, at_work, note, noting, once, runs, see, start, until};
use crate::support::TestApp;

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_completes_at_the_second_attempt_with_its_error_kept_and_no_server_runs_it_again() {
    let app = TestApp::start().await;
    let twin = app.twin();
    // As an operator asks for it.
    let job_id: i64 = sqlx::query_scalar("INSERT INTO jobs (kind) VALUES ('probe') RETURNING job_id")
        .fetch_one(app.db().management())
        .await
        .expect("asked for");
    app.app.start_tasks();
    twin.app.start_tasks();
    let done = once(&app, job_id, "done").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let error = "a probe fails at its first attempt, on purpose".to_owned();
    assert_eq!(done, Seen { state: "done".into(), attempts: 2, last_error: Some(error), leased: false });
    assert_eq!(see(app.db().management(), job_id).await, done);
}

#[tokio::test]
async fn what_a_failed_attempt_wrote_is_taken_back() {
    let app = start().await;
    let kinds = Kinds::default().on_demand("second", |job, conn| -> Running<'_> {
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, "me").await?;
            if job.attempt == 1 { Err("not yet".into()) } else { Ok(Done::Finished) }
        })
    });
    let job_id = ask(&app, &NewJob::new("second")).await;
    let (_worker, _tasks) = at_work(&app, kinds, PACE);
    let done = once(&app, job_id, "done").await;
    assert_eq!((done.attempts, done.last_error.as_deref()), (2, Some("not yet")));
    assert_eq!(runs(&app).await, [(job_id, 2, "me".to_owned())]);
}

#[tokio::test]
async fn a_job_that_always_fails_stops_after_its_attempts_and_stays_to_be_seen() {
    let app = start().await;
    let kinds = Kinds::default()
        .on_demand("panics", |_, _| -> Running<'_> { Box::pin(async { panic!("on purpose") }) })
        .on_demand("fails", |_, conn| -> Running<'_> {
            Box::pin(async move {
                sqlx::query("SELECT 1 / 0").execute(conn).await?;
                Ok(Done::Finished)
            })
        })
        .on_demand("passes_over", |_, conn| -> Running<'_> {
            Box::pin(async move {
                let _ = sqlx::query("SELECT 1 / 0").execute(conn).await;
                Ok(Done::Finished)
            })
        });
    let mut jobs = Vec::new();
    for kind in ["panics", "fails", "passes_over"] {
        jobs.push(ask(&app, &NewJob { max_attempts: 2, ..NewJob::new(kind) }).await);
    }
    let (_worker, _tasks) = at_work(&app, kinds, PACE);
    for (job_id, why) in jobs.into_iter().zip(["panicked", "division by zero", "aborted"]) {
        let failed = once(&app, job_id, "failed").await;
        assert!(failed.last_error.as_ref().is_some_and(|error| error.contains(why)), "{failed:?}");
        assert_eq!((failed.attempts, failed.leased), (2, false));
    }
    until(|| async {
        let text = app.app.metrics.render();
        text.contains("resolute_jobs_failed{kind=\"panics\"} 1").then_some(())
    })
    .await;
    let text = app.app.metrics.render();
    assert!(text.contains("resolute_job_runs_total{kind=\"fails\",outcome=\"failed\"} 1"), "{text}");
    assert!(text.contains("resolute_job_runs_total{kind=\"fails\",outcome=\"stopped\"} 1"), "{text}");
}

#[tokio::test]
async fn a_run_that_takes_too_long_has_failed() {
    let app = start().await;
    let kinds = Kinds::default().on_demand("hangs", |job, conn| -> Running<'_> {
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, "me").await?;
            std::future::pending().await
        })
    });
    let job_id = ask(&app, &NewJob { max_attempts: 1, ..NewJob::new("hangs") }).await;
    let (_worker, _tasks) =
        at_work(&app, kinds, resolute::db::jobs::Pace { longest_run: Duration::from_millis(100), ..PACE });
    let failed = once(&app, job_id, "failed").await;
    assert_eq!(failed.last_error.as_deref(), Some("took longer than 100ms"));
    assert_eq!(runs(&app).await, []);
}

#[tokio::test]
async fn a_job_that_takes_its_servers_down_stops_without_being_run_again() {
    let app = start().await;
    let job_id = ask(&app, &NewJob { max_attempts: 3, ..NewJob::new("note") }).await;
    sqlx::query(
        "UPDATE jobs SET attempts = 3, leased_by = gen_random_uuid(), leased_until = now() WHERE job_id = $1",
    )
    .bind(job_id)
    .execute(app.db().management())
    .await
    .expect("as lost servers leave it");
    let (_worker, _tasks) = at_work(&app, noting("me"), PACE);
    let failed = once(&app, job_id, "failed").await;
    assert_eq!(failed.attempts, 3);
    assert_eq!(failed.last_error.as_deref(), Some("attempt 3 ended without an answer: its server was lost"));
    assert_eq!(runs(&app).await, []);
}

#[tokio::test]
async fn a_job_in_portions_runs_until_nothing_is_left_each_portion_with_all_its_attempts() {
    let app = start().await;
    let kinds = Kinds::default().on_demand("portions", |job, conn| -> Running<'_> {
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, "me").await?;
            let done: i64 = sqlx::query_scalar("SELECT count(*) FROM runs").fetch_one(conn).await?;
            Ok(if job.payload["portions"] == done { Done::Finished } else { Done::More })
        })
    });
    let job = NewJob { payload: json!({ "portions": 5 }), max_attempts: 1, ..NewJob::new("portions") };
    let job_id = ask(&app, &job).await;
    let (_worker, _tasks) = at_work(&app, kinds, PACE);
    once(&app, job_id, "done").await;
    assert_eq!(runs(&app).await, vec![(job_id, 1, "me".to_owned()); 5]);
}

#[tokio::test]
async fn a_job_exists_if_its_transaction_commits_and_one_key_waits_once() {
    let app = start().await;
    let pool = app.db().management();
    let mut tx = pool.begin().await.expect("begin");
    enqueue(&mut tx, &NewJob::new("note")).await.expect("enqueued").expect("a job");
    tx.rollback().await.expect("rollback");
    let keyed = NewJob { key: Some("k"), ..NewJob::new("note") };
    let first = ask(&app, &keyed).await;
    let mut conn = pool.acquire().await.expect("a connection");
    assert_eq!(enqueue(&mut conn, &keyed).await.expect("no error"), None);
    let jobs: Vec<i64> = sqlx::query_scalar("SELECT job_id FROM jobs").fetch_all(pool).await.expect("jobs");
    assert_eq!(jobs, [first]);

    let (worker, _tasks) = at_work(&app, noting("me"), PACE);
    once(&app, first, "done").await;
    let second = enqueue(&mut conn, &keyed).await.expect("no error").expect("the first waits no more");
    worker.wake();
    once(&app, second, "done").await;
}

#[tokio::test]
async fn jobs_done_a_week_ago_are_forgotten_in_portions_and_failed_ones_stay() {
    let app = TestApp::start().await;
    let pool = app.db().management();
    sqlx::query(
        "INSERT INTO jobs (kind, state, finished_at)
         SELECT 'old', 'done', now() - interval '8 days' FROM generate_series(1, 5)
         UNION ALL SELECT 'young', 'done', now() - interval '6 days'
         UNION ALL SELECT 'broken', 'failed', now() - interval '80 days'",
    )
    .execute(pool)
    .await
    .expect("old jobs");
    let mut conn = pool.acquire().await.expect("a connection");
    let mut portions = Vec::new();
    for _ in 0..3 {
        portions.push(prune::delete_done(&mut conn, 3).await.expect("deleted"));
    }
    assert_eq!(portions, [3, 2, 0]);
    let left: Vec<String> =
        sqlx::query_scalar("SELECT kind FROM jobs ORDER BY kind").fetch_all(pool).await.expect("jobs");
    assert_eq!(left, ["broken", "young"]);
}
