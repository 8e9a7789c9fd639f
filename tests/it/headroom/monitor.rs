//! The task: what it keeps, what it says when it cannot measure, and that it ends when told.

use std::collections::BTreeSet;
use std::time::Duration;

use resolute::db::headroom::{HealthStatus, Monitor, Settings, Status};

use sqlx::postgres::PgPoolOptions;

use super::database::{database, execute};

#[tokio::test]
async fn the_monitor_keeps_its_last_report_and_says_when_an_attempt_failed() {
    let pool = database().await;
    execute(&pool, "CREATE TABLE t (id smallint GENERATED ALWAYS AS IDENTITY)").await;
    let monitor = Monitor::new((*pool).clone(), Settings::default());
    assert_eq!(monitor.health().status, HealthStatus::Unknown);

    monitor.measure_once().await.expect("measured");
    assert_eq!(monitor.health().status, HealthStatus::Measured(Status::Ok));
    let samples: i64 =
        sqlx::query_scalar("SELECT count(*) FROM headroom_samples").fetch_one(&*pool).await.expect("counted");
    assert_eq!(samples, 1);

    execute(&pool, "SELECT setval('t_id_seq', 32700)").await;
    monitor.measure_once().await.expect("measured");
    assert!(monitor.health().status.is_failing());

    pool.close().await;
    assert!(monitor.measure_once().await.is_err());
    let health = monitor.health();
    assert!(health.last_attempt_failed);
    assert_eq!(health.status, HealthStatus::Measured(Status::Critical), "the last report is still recent");
    assert_eq!(health.to_json()["last_attempt_failed"], true);
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_still_measured() {
    let pool = database().await;
    execute(&pool, "CREATE TABLE t (id bigserial)").await;
    execute(
        &pool,
        "REVOKE ALL ON headroom_samples FROM PUBLIC; GRANT SELECT ON t_id_seq TO pg_signal_backend",
    )
    .await;
    let reader = pool.target().sqlx().options([("role", "pg_signal_backend")]);
    let reader = PgPoolOptions::new().connect_with(reader).await.expect("reader connects");
    let monitor = Monitor::new(reader, Settings::default());
    monitor.measure_once().await.expect("measured");
    assert_eq!(monitor.health().status, HealthStatus::Measured(Status::Ok));
}

#[tokio::test]
async fn the_task_measures_at_once_and_again_after_the_interval() {
    let pool = database().await;
    let settings = Settings { interval: Duration::from_secs(1), ..Settings::default() };
    let monitor = Monitor::new((*pool).clone(), settings);
    let mut seen = BTreeSet::new();
    let watch = async {
        while seen.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            seen.extend(monitor.health().report.map(|report| report.measured_at));
        }
    };
    let twice = async {
        tokio::select! {
            () = monitor.run() => unreachable!("the task ends only with the process"),
            () = watch => {}
        }
    };
    tokio::time::timeout(Duration::from_secs(20), twice).await.expect("measured twice");
}
