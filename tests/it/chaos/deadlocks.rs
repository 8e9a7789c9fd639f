//! A deadlock among names; that of ballots is in `voting/batches.rs`.

use std::time::Duration;

use futures_util::future::{join, join_all};

use crate::purl::Registry;
use crate::support::database::TestDatabase;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deadlock_among_names_is_run_again_and_nobody_notices() {
    let registry = Registry::start().await;
    registry.mint("first", "https://e.org/").await.expect(201);
    let mut other = TestDatabase::connect(registry.app.target()).await;
    // A row of the same name that is never committed: the batch waits for it with the domain locked …
    let row = "SET deadlock_timeout = '10s'; BEGIN;
        INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
        SELECT home_tenant_id, domain_id, 'n0', 'n0', 302, 'https://other.org/', now(), now() FROM domains";
    sqlx::raw_sql(row).execute(&mut other).await.expect("a row");
    let closing_the_circle = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        // … and the other one now waits for the domain. PostgreSQL ends the batch after its second.
        sqlx::raw_sql("SELECT FROM domain_state FOR UPDATE").execute(&mut other).await.expect("locked");
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.expect("gone");
    };
    let names: Vec<_> = (0..4).map(|n| (format!("n{n}"), format!("https://e.org/{n}"))).collect();
    let minting = join_all(names.iter().map(|(name, target)| registry.mint(name, target)));
    let (answers, ()) = join(minting, closing_the_circle).await;
    for (answer, (name, target)) in answers.into_iter().zip(&names) {
        answer.expect(201);
        registry.leads(&format!("/d/{name}"), target).await;
    }
    let sql = "SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()";
    let end = std::time::Instant::now() + Duration::from_secs(10);
    // The statistics come a moment later.
    while !sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut other).await.expect("a count") {
        assert!(std::time::Instant::now() < end, "there was no deadlock");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
