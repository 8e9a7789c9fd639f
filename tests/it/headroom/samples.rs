//! Samples: one per hour whoever writes it, and the date that follows from them.

use resolute::db::headroom::samples::insert_samples;
use time::Duration;

use super::database::{database, execute, line, report, set_default};

#[tokio::test]
async fn a_projected_date_comes_from_samples_of_an_earlier_run() {
    let pool = database().await;
    execute(
        &pool,
        "CREATE TABLE t (id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY);
         SELECT setval('t_id_seq', 2147483647 - 1000);
         INSERT INTO headroom_samples
         SELECT date_trunc('hour', at, 'UTC'), 't_id_seq', at, 2147483647 - 1500
           FROM (SELECT now() - interval '24 hours') AS sample (at)",
    )
    .await;
    let report = report(&pool).await;
    let t = line(&report, "t", "id");
    assert_eq!(t.rate_per_day.map(f64::round), Some(500.0));
    let left = t.exhausted_at.expect("a date") - report.measured_at;
    assert!((left - Duration::days(2)).abs() < Duration::minutes(1), "{left}");
}

#[tokio::test]
async fn without_samples_there_is_neither_rate_nor_date() {
    let pool = database().await;
    execute(&pool, "CREATE TABLE t (id bigserial)").await;
    let with_table = report(&pool).await;
    assert_eq!(line(&with_table, "t", "id").rate_per_day, None);
    assert_eq!(line(&with_table, "t", "id").exhausted_at, None);
    execute(&pool, "DROP TABLE headroom_samples").await;
    assert_eq!(line(&report(&pool).await, "t", "id").rate_per_day, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_write_one_sample_an_hour_and_old_ones_go() {
    let pool = database().await;
    execute(
        &pool,
        "CREATE SEQUENCE s; CREATE TABLE t (a bigint DEFAULT nextval('s'), b bigint DEFAULT nextval('s'), c bigserial);
         INSERT INTO headroom_samples
         SELECT date_trunc('hour', at, 'UTC'), 's', at, 1
           FROM unnest(ARRAY[now() - interval '60 hours', now() - interval '47 hours']) AS sample (at)",
    )
    .await;
    set_default(&pool, "default_transaction_isolation", "serializable").await;
    let pool = pool.reconnected().await;
    let first = report(&pool).await;
    let (a, b, c) = tokio::join!(
        insert_samples(&pool, &first),
        insert_samples(&pool, &first),
        insert_samples(&pool, &first)
    );
    let mut new = [a, b, c].map(|result| result.expect("no conflict is an error"));
    new.sort_unstable();
    assert_eq!(new, [0, 0, 2], "one server writes both sequences, the others find them");

    let mut later = report(&pool).await;
    later.measured_at += Duration::hours(1);
    assert_eq!(insert_samples(&pool, &later).await.expect("inserted"), 2);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM headroom_samples WHERE sequence_name = 's'")
        .fetch_one(&*pool)
        .await
        .expect("counted");
    assert_eq!(kept, 3, "47 hours ago, this hour, the next");
}
