//! Several servers over one table: each job runs once, a lost server's job goes to another, a newer server's job is
//! left to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use resolute::config::Config;
use resolute::db::jobs::{Done, Kinds, NewJob, Running, enqueue};
use tokio::sync::Notify;

use super::{PACE, Seen, ask, at_work, note, noting, once, runs, see, start, until};
use crate::support::TestApp;
use crate::support::chaos::ChaosProxy;

#[tokio::test(flavor = "multi_thread")]
async fn of_200_jobs_each_runs_once_whichever_of_two_servers_takes_it() {
    let app = start().await;
    let twin = app.twin();
    let mut tx = app.db().management().begin().await.expect("begin");
    for _ in 0..200 {
        enqueue(&mut tx, &NewJob::new("note")).await.expect("enqueued");
    }
    tx.commit().await.expect("commit");
    let (_one, _tasks) = at_work(&app, noting("one"), PACE);
    let (_two, _more_tasks) = at_work(&twin, noting("two"), PACE);
    until(|| async {
        let waiting: i64 = sqlx::query_scalar("SELECT count(*) FROM jobs WHERE state <> 'done'")
            .fetch_one(app.db().management())
            .await
            .expect("a count");
        (waiting == 0).then_some(())
    })
    .await;
    let runs = runs(&app).await;
    assert_eq!(runs.len(), 200);
    assert_eq!(runs.iter().map(|(job_id, ..)| *job_id).collect::<BTreeSet<_>>().len(), 200);
    assert!(runs.iter().all(|(_, attempt, _)| *attempt == 1));
    let workers: BTreeSet<&str> = runs.iter().map(|(.., who)| who.as_str()).collect();
    assert_eq!(workers, BTreeSet::from(["one", "two"]), "both had a share");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_of_a_server_that_is_cut_off_goes_to_another_and_not_before() {
    let app = start().await;
    let proxy = ChaosProxy::start().await;
    let cut_off = TestApp::over(&proxy.target(app.target()), Config::default());
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let hanging = Kinds::default().on_demand("note", move |job, conn| -> Running<'_> {
        let begins = Arc::clone(&begins);
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, "cut off").await?;
            begins.notify_one();
            std::future::pending().await
        })
    });
    let job_id = ask(&app, &NewJob::new("note")).await;
    let (_lost, _tasks) = at_work(&cut_off, hanging, PACE);
    begun.notified().await;
    let (_other, _more_tasks) = at_work(&app, noting("other"), PACE);
    tokio::time::sleep(PACE.lease * 3).await;
    assert_eq!(runs(&app).await, [], "its lease is over, but its run still holds the job");
    proxy.refuse(true);
    proxy.cut_all();
    let done = once(&app, job_id, "done").await;
    assert_eq!(runs(&app).await, [(job_id, 2, "other".to_owned())]);
    assert_eq!(done.last_error.as_deref(), Some("attempt 1 ended without an answer: its server was lost"));
}

#[tokio::test]
async fn a_kind_that_no_server_here_knows_is_left_alone_and_shown() {
    let app = start().await;
    let newer = ask(&app, &NewJob::new("of_a_newer_version")).await;
    let known = ask(&app, &NewJob::new("note")).await;
    let (_worker, _tasks) = at_work(&app, noting("me"), PACE);
    once(&app, known, "done").await;
    let untouched = Seen { state: "waiting".into(), attempts: 0, last_error: None, leased: false };
    assert_eq!(see(app.db().management(), newer).await, untouched);
    until(|| async {
        let text = app.app.metrics.render();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("resolute_jobs_oldest_due_seconds{kind=\"unknown\"} "))?;
        (line.parse::<f64>().expect("a number") > 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_gives_back_what_it_cannot_finish() {
    let app = start().await;
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let slow = Kinds::default().on_demand("note", move |job, conn| -> Running<'_> {
        let begins = Arc::clone(&begins);
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, "slow").await?;
            begins.notify_one();
            std::future::pending().await
        })
    });
    let job_id = ask(&app, &NewJob::new("note")).await;
    let (_worker, tasks) = at_work(&app, slow, PACE);
    begun.notified().await;
    assert!(tasks.stop(Duration::from_secs(10)).await, "the stop does not wait for the job");
    let given_back = Seen { state: "waiting".into(), attempts: 0, last_error: None, leased: false };
    assert_eq!(see(app.db().management(), job_id).await, given_back);

    let (_other, _tasks) = at_work(&app, noting("other"), PACE);
    once(&app, job_id, "done").await;
    assert_eq!(runs(&app).await, [(job_id, 1, "other".to_owned())]);
}

#[tokio::test]
async fn a_server_that_stops_finishes_what_takes_a_moment() {
    let app = start().await;
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let short = Kinds::default().on_demand("note", move |job, conn| -> Running<'_> {
        let begins = Arc::clone(&begins);
        Box::pin(async move {
            begins.notify_one();
            tokio::time::sleep(Duration::from_millis(200)).await;
            note(conn, job.job_id, job.attempt, "short").await?;
            Ok(Done::Finished)
        })
    });
    let job_id = ask(&app, &NewJob::new("note")).await;
    let pace = resolute::db::jobs::Pace { grace: Duration::from_secs(10), ..PACE };
    let (_worker, tasks) = at_work(&app, short, pace);
    begun.notified().await;
    assert!(tasks.stop(Duration::from_secs(20)).await);
    assert_eq!(see(app.db().management(), job_id).await.state, "done");
    assert_eq!(runs(&app).await.len(), 1);
}
