//! The LISTEN connection: lost and made again, and what is promised without it.

use std::time::Duration;

use resolute::app::App;
use resolute::db::notify::APPLICATION;
use resolute::telemetry::metrics::LISTEN_CONNECTED;
use sqlx::PgPool;

use crate::support::{TestApp, until};

async fn cut(pool: &PgPool) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE application_name = $1 AND datname = current_database()",
    )
    .bind(APPLICATION)
    .fetch_one(pool)
    .await
    .expect("cut")
}

/// Cuts the LISTEN connection again and again while `work` runs.
async fn cutting<T>(pool: &PgPool, work: impl Future<Output = T>) -> T {
    let cuts = async {
        loop {
            cut(pool).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = cuts => unreachable!("it never ends"),
    }
}

fn gauge(app: &App) -> bool {
    let text = app.metrics.render();
    let line = text.lines().find(|line| line.starts_with(&format!("{LISTEN_CONNECTED} "))).expect("exported");
    line.ends_with(" 1")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_listen_connection_is_made_again_and_told_in_metrics_and_readiness_without_failing_it() {
    let app = TestApp::start().await;
    let ready = || async { app.stranger().get("/health/ready").await };
    assert_eq!(ready().await.expect(200).json()["listen"], "lost");
    app.listen().await;
    assert_eq!(ready().await.expect(200).json()["listen"], "ok");
    assert!(gauge(&app.app));
    let pool = app.db().management();
    assert_eq!(cut(pool).await, 1);
    until(ready, |answer| answer.json()["listen"] == "lost").await.expect(200);
    let back = until(ready, |answer| answer.json()["listen"] == "ok").await;
    assert_eq!(back.expect(200).json()["listen"], "ok");
    cutting(pool, tokio::time::sleep(Duration::from_secs(1))).await;
    until(ready, |answer| answer.json()["listen"] == "ok").await;
    assert!(gauge(&app.app));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_on_a_second_server_within_a_second_with_its_listen_cut_as_well() {
    let first = TestApp::start().await;
    let second = first.twin();
    second.listen().await;
    let admin = first.tenant("acme").await.admin().await;
    for cut_off in [false, true] {
        let victim = first.tenant("acme").await.admin().await;
        let id = victim.token().split('_').nth(1).expect("id").to_owned();
        let path = format!("/api/v1/keys/{id}");
        let elsewhere = second.bearer(victim.token());
        let scene = async {
            elsewhere.get(&path).await.expect(200);
            admin.delete(&path).await.expect(200);
            first.bearer(victim.token()).get(&path).await.expect_problem(401, "unauthenticated");
            tokio::time::sleep(Duration::from_secs(1)).await;
            elsewhere.get(&path).await.expect_problem(401, "unauthenticated");
        };
        if cut_off {
            cutting(first.db().management(), scene).await;
        } else {
            scene.await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_is_heard_before_the_second_is_over() {
    let first = TestApp::start().await;
    let second = first.twin();
    second.listen().await;
    let admin = first.tenant("acme").await.admin().await;
    let id = admin.token().split('_').nth(1).expect("id").to_owned();
    let path = format!("/api/v1/keys/{id}");
    let (mut sooner, elsewhere) = (false, second.bearer(admin.token()));
    elsewhere.get(&path).await.expect(200);
    admin.delete(&path).await.expect(200);
    // Under load a single one may take longer than the key is believed anyway; it is a hint.
    for _ in 0..20 {
        sooner |= elsewhere.get(&path).await.status == 401;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(sooner, "nothing was heard");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_that_is_no_message_is_ignored() {
    let app = TestApp::start().await;
    app.listen().await;
    for payload in ["", "nonsense", "2 names\n1 x", "1 names\nnonsense", "1 keys\nnonsense", "1 later\nx"] {
        sqlx::query("SELECT pg_notify('resolute', $1)")
            .bind(payload)
            .execute(app.db().management())
            .await
            .expect("sent");
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(app.app.hearing.is_connected());
}
