//! What PostgreSQL knows of its tables may be a minute old: a tenant that it has not met has one row for all it knows,
//! and a join by nested loop reads an electorate once for each of its voters. An assembly that was imported a minute
//! ago must not meet that.

use serde_json::{Value, json};
use sqlx::{Connection as _, Row as _};

use super::Hall;
use crate::support::TestApp;
use crate::support::database::TestDatabase;

const VOTERS: usize = 3_000;

#[tokio::test]
async fn an_electorate_that_statistics_do_not_know_is_read_once_not_once_for_each_voter() {
    let app = TestApp::start().await;
    let mut connection = TestDatabase::connect(app.target()).await;
    let small = Hall::seated(&app, 6).await;
    small.poll(&["A"], json!({})).await.cast(&small.voters[0], 0).await.expect(201);
    sqlx::raw_sql("ANALYZE").execute(&mut connection).await.expect("analysed");
    let mut large = Hall::seated_in(&app, "globex", 0).await;
    for first in (0..VOTERS).step_by(500) {
        let people: Vec<Value> = (first..first + 500).map(|at| json!({"name": format!("V {at}")})).collect();
        large.seat(people).await;
    }
    let poll = large.poll(&["A"], json!({})).await;
    poll.cast(&large.voters[VOTERS - 1], 0).await.expect(201);

    // A connection that ends tells what it has read.
    app.db().close().await;
    let read = "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes
                WHERE relname IN ('participants', 'poll_electorate', 'polls', 'proxies', 'ballots')";
    let mut told = 0;
    for _ in 0..100 {
        told = sqlx::query(read).fetch_one(&mut connection).await.expect("a sum").get::<i64, _>(0);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    connection.close().await.expect("closed");
    let voters = i64::try_from(VOTERS).expect("small");
    assert!(told > voters, "the reads have been told: {told}");
    assert!(told < 40 * voters, "{told} entries for {voters} voters");
}
