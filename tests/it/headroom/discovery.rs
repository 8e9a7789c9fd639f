//! Which columns are found, and that one that cannot be read never hides itself or the others.

use resolute::db::headroom::UnmeasuredReason::{ComputedName, Locked, PermissionDenied, UnknownSequence};
use resolute::db::headroom::{Settings, Status, measure};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnection, PgPoolOptions};

use super::database::{database, execute, line, measured, report};

#[tokio::test]
async fn every_way_to_feed_a_column_is_found() {
    let report = measured(
        "CREATE TABLE a (id bigint GENERATED ALWAYS AS IDENTITY);
         CREATE TABLE b (id bigserial);
         CREATE SEQUENCE unowned;
         CREATE TABLE c (id bigint DEFAULT nextval('unowned'));
         CREATE SEQUENCE late;
         CREATE TABLE d (id bigint DEFAULT nextval('late'::text));
         CREATE TABLE e (id bigint);
         CREATE SEQUENCE by_hand OWNED BY e.id;
         CREATE SEQUENCE alone;
         SELECT setval('alone', 77)",
    )
    .await;
    for table in ["a", "b", "c", "d", "e"] {
        assert_eq!(line(&report, table, "id").last, 0, "{table}");
    }
    assert_eq!(line(&report, "d", "id").sequence, "late");
    assert_eq!(line(&report, "e", "id").sequence, "by_hand");
    let alone = line(&report, "alone", "");
    assert_eq!((alone.last, alone.data_type.as_deref()), (77, None));
    assert_eq!(report.tables.len(), 6);
    assert_eq!((report.unmeasured.len(), report.status), (0, Status::Ok));
}

#[tokio::test]
async fn a_shared_sequence_is_judged_for_each_of_its_columns() {
    let report = measured(
        "CREATE SEQUENCE s;
         CREATE TABLE wide (id bigint DEFAULT nextval('s'));
         CREATE TABLE narrow (id integer DEFAULT nextval('s'));
         ALTER SEQUENCE s OWNED BY wide.id;
         SELECT setval('s', 2147483647 - 5)",
    )
    .await;
    assert_eq!(line(&report, "narrow", "id").remaining, 5);
    assert_eq!(line(&report, "narrow", "id").status, Status::Critical);
    assert_eq!(line(&report, "wide", "id").status, Status::Ok);
    assert_eq!(report.tables[0].table, "narrow", "least headroom first");
}

#[tokio::test]
async fn odd_names_are_read_and_told_apart() {
    let report = measured("CREATE SCHEMA \"a.b\";
         CREATE SCHEMA \"Select\";
         CREATE TABLE \"a.b\".\"c\" (id bigserial);
         CREATE TABLE \"Select\".\"it's \"\"odd\"\"; DROP TABLE x\" (\"the id\" bigint GENERATED ALWAYS AS IDENTITY);
         CREATE SEQUENCE \"Select\".\"O'd d\";
         CREATE TABLE \"Select\".late (id bigint DEFAULT nextval('\"O''d d\"'::text));
         CREATE TABLE \"Mixed Case\" (id serial)",
    )
    .await;
    assert_eq!(line(&report, "\"a.b\".c", "id").sequence, "\"a.b\".c_id_seq");
    assert_eq!(line(&report, "Select.\"it's \"\"odd\"\"; DROP TABLE x\"", "the id").last, 0);
    assert_eq!(line(&report, "Select.late", "id").sequence, "Select.O'd d");
    assert_eq!(line(&report, "Mixed Case", "id").max, 2_147_483_647);
    assert_eq!(report.unmeasured, []);
}

#[tokio::test]
async fn partitions_share_the_line_of_their_parent_unless_they_have_a_sequence_of_their_own() {
    let report = measured(
        "CREATE TABLE p (id bigserial, n bigint GENERATED ALWAYS AS IDENTITY, k int) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
         CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) PARTITION BY LIST (k);
         CREATE TABLE p2x PARTITION OF p2 FOR VALUES IN (2);
         CREATE TABLE p3 (id bigserial, n bigint NOT NULL, k int);
         ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3)",
    )
    .await;
    let found: Vec<_> = report.tables.iter().map(|e| format!("{}.{}", e.table, e.column)).collect();
    assert_eq!(found, ["p.id", "p.n", "p3.id"]);
}

#[tokio::test]
async fn temporary_tables_are_not_ours_to_judge_and_unlogged_ones_are() {
    let pool = database().await;
    let mut session = pool.acquire().await.expect("connection");
    sqlx::raw_sql("CREATE TEMPORARY TABLE gone (id serial); CREATE UNLOGGED TABLE kept (id serial)")
        .execute(&mut *session)
        .await
        .expect("created");
    let report = report(&pool).await;
    let found: Vec<_> = report.tables.iter().map(|e| e.table.as_str()).collect();
    assert_eq!(found, ["kept"]);
}

#[tokio::test]
async fn a_default_that_names_no_sequence_or_computes_it_is_reported() {
    let report = measured(
        "CREATE SEQUENCE s;
         CREATE TABLE t (a bigint DEFAULT nextval('s' || '_x'), b bigint DEFAULT nextval('missing'::text),
                         c bigint DEFAULT nextval('\"no name'::text), d bigint DEFAULT nextval('s'))",
    )
    .await;
    let found: Vec<_> = report.unmeasured.iter().map(|e| (e.column.as_str(), e.reason)).collect();
    assert_eq!(found, [("a", ComputedName), ("b", UnknownSequence), ("c", UnknownSequence)]);
    assert_eq!(line(&report, "t", "d").last, 0);
    assert_eq!(report.status, Status::Warn);
}

#[tokio::test]
async fn a_sequence_that_may_not_be_read_is_reported_and_hides_no_other() {
    let pool = database().await;
    execute(
        &pool,
        "CREATE TABLE hidden (id bigserial); CREATE TABLE seen (id bigserial);
         CREATE SCHEMA closed; CREATE TABLE closed.t (id bigserial);
         GRANT SELECT ON SEQUENCE seen_id_seq TO pg_signal_backend;
         GRANT SELECT ON headroom_samples TO pg_signal_backend",
    )
    .await;
    // A role that every server has and that may do nothing here.
    let reader = pool.target().sqlx().options([("role", "pg_signal_backend")]);
    let reader = PgPoolOptions::new().connect_with(reader).await.expect("reader connects");
    let settings = Settings { disk_limit_bytes: Some(i64::MAX), ..Settings::default() };
    let report = measure(&reader, &settings).await.expect("measured");
    let found: Vec<_> = report.unmeasured.iter().map(|e| (e.table.as_str(), e.reason)).collect();
    assert_eq!(found, [("closed.t", PermissionDenied), ("hidden", PermissionDenied)]);
    assert_eq!(line(&report, "seen", "id").last, 0);
    assert_eq!(report.status, Status::Warn);
}

#[tokio::test]
async fn a_locked_sequence_is_reported_and_does_not_hold_up_the_others() {
    let pool = database().await;
    execute(&pool, "CREATE TABLE busy (id bigserial); CREATE TABLE free (id bigserial); CREATE TABLE gone (id serial);
         CREATE TABLE parted (id bigserial, twice bigint GENERATED ALWAYS AS (k * 2) STORED, k int) PARTITION BY LIST (k);
         CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1)").await;
    let mut holder = pool.begin().await.expect("transaction");
    // As a migration does that takes its time.
    sqlx::raw_sql("LOCK TABLE busy; LOCK TABLE parted; DROP SEQUENCE busy_id_seq CASCADE; DROP TABLE gone")
        .execute(&mut *holder)
        .await
        .expect("locked");
    let report = report(&pool).await;
    let found: Vec<_> = report.unmeasured.iter().map(|e| (e.table.as_str(), e.reason)).collect();
    assert_eq!(found, [("busy", Locked), ("gone", Locked)]);
    assert_eq!(line(&report, "parted", "id").last, 0);
    assert_eq!(line(&report, "free", "id").last, 0);
    holder.rollback().await.expect("rolled back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_come_and_go_never_fail_a_measurement() {
    let pool = database().await;
    execute(&pool, "CREATE TABLE stays (id bigserial)").await;
    let options = pool.target().sqlx();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let churn = async move {
        let mut session = PgConnection::connect_with(&options).await.expect("connects");
        let mut stopped = std::pin::pin!(stopped);
        let mut rounds = 0_u32;
        while stopped.as_mut().try_recv().is_err() {
            for statement in [
                "CREATE TABLE a (id bigserial); CREATE TABLE b (id bigint GENERATED ALWAYS AS IDENTITY); \
                 CREATE SCHEMA z; CREATE TABLE z.c (id serial)",
                "DROP TABLE a, b; DROP SCHEMA z CASCADE",
            ] {
                sqlx::raw_sql(statement).execute(&mut session).await.expect("ran");
            }
            rounds += 1;
        }
        rounds
    };
    let watch = async {
        for _ in 0..150 {
            let report = report(&pool).await;
            assert_eq!(line(&report, "stays", "id").last, 0);
            assert_eq!(report.unmeasured, []);
        }
        stop.send(()).expect("churn runs");
    };
    let (rounds, ()) = tokio::join!(churn, watch);
    assert!(rounds > 10, "only {rounds} rounds");
}
