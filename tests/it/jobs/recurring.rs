//! Recurring jobs: one for all servers, at its pace, for ever.

use std::time::Duration;

use resolute::db::jobs::{Done, Kinds, NewJob, Running};

use super::{PACE, ask, at_work, note, noting, runs, start, until};

fn ticking(who: &'static str) -> Kinds {
    Kinds::default().recurring("tick", Duration::from_millis(200), move |job, conn| -> Running<'_> {
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, who).await?;
            Ok(Done::Finished)
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_keep_one_recurring_job_at_its_pace() {
    let app = start().await;
    let twin = app.twin();
    let (_one, _tasks) = at_work(&app, ticking("one"), PACE);
    let (_two, _more_tasks) = at_work(&twin, ticking("two"), PACE);
    until(|| async { (runs(&app).await.len() >= 6).then_some(()) }).await;
    let pool = app.db().management();
    let jobs: i64 = sqlx::query_scalar("SELECT count(*) FROM jobs").fetch_one(pool).await.expect("a count");
    assert_eq!(jobs, 1);
    let shortest: f64 = sqlx::query_scalar(
        "SELECT min(extract(epoch FROM pause))::float8 FROM (SELECT at - lag(at) OVER (ORDER BY at) AS pause FROM runs) AS pauses",
    )
    .fetch_one(pool)
    .await
    .expect("pauses");
    assert!(shortest >= 0.2, "two runs were {shortest} s apart");
}

#[tokio::test]
async fn a_recurring_job_that_fails_goes_on_and_its_failures_are_seen() {
    let app = start().await;
    let kinds = Kinds::default().recurring("fails", Duration::from_millis(10), |_, _| -> Running<'_> {
        Box::pin(async { Err("still not".into()) })
    });
    let (_worker, _tasks) = at_work(&app, kinds, PACE);
    until(|| async {
        let seen: Option<(String, i32, Option<String>)> =
            sqlx::query_as("SELECT state, attempts, last_error FROM jobs")
                .fetch_optional(app.db().management())
                .await
                .expect("the job");
        let (state, attempts, error) = seen?;
        assert_eq!(state, "waiting");
        (attempts > 10 && error.as_deref() == Some("still not")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_backlog_of_other_jobs_delays_nothing_that_recurs() {
    let app = start().await;
    let kinds = ticking("tick").on_demand("slow", |_, _| -> Running<'_> { Box::pin(std::future::pending()) });
    for _ in 0..3 {
        ask(&app, &NewJob::new("slow")).await;
    }
    let (_worker, _tasks) = at_work(&app, kinds, PACE);
    until(|| async { (runs(&app).await.len() >= 3).then_some(()) }).await;
}

#[tokio::test]
async fn what_is_asked_for_is_done_at_once_by_the_server_that_is_woken() {
    let app = start().await;
    let slow = resolute::db::jobs::Pace { poll: Duration::from_mins(10), ..PACE };
    let (worker, _tasks) = at_work(&app, noting("me"), slow);
    // It has looked once and sleeps.
    tokio::time::sleep(Duration::from_millis(300)).await;
    ask(&app, &NewJob::new("note")).await;
    worker.wake();
    until(|| async { (runs(&app).await.len() == 1).then_some(()) }).await;
}
