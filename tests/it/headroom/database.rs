//! A database per test, with what headroom needs of the schema, and short ways to look into a report.

use resolute::db::headroom::{Report, Settings, TableHeadroom, measure};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};

/// The cluster that `DATABASE_URL` names.
#[expect(clippy::disallowed_methods, reason = "tests outside the server have no configuration to ask")]
pub fn cluster() -> PgConnectOptions {
    std::env::var("DATABASE_URL")
        .unwrap_or_else(|_| "postgres://postgres@127.0.0.1:55471/postgres".to_owned())
        .parse()
        .expect("DATABASE_URL is an address")
}

/// A new database of this name with the table of samples.
pub async fn database(name: &str) -> PgPool {
    let admin = PgPoolOptions::new().connect_with(cluster()).await.expect("PostgreSQL is reachable");
    let name = format!("headroom_{name}");
    execute(&admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    execute(&admin, &format!("CREATE DATABASE {name}")).await;
    let pool = PgPoolOptions::new().connect_with(cluster().database(&name)).await.expect("new database");
    execute(&pool, include_str!("../../../migrations/0003_headroom.sql")).await;
    pool
}

pub async fn execute(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

pub async fn report(pool: &PgPool) -> Report {
    measure(pool, &Settings::default()).await.expect("measured")
}

/// The one line of a column (`""` for a sequence that feeds none).
pub fn line<'a>(report: &'a Report, table: &str, column: &str) -> &'a TableHeadroom {
    let found: Vec<_> = report.tables.iter().filter(|e| e.table == table && e.column == column).collect();
    assert_eq!(found.len(), 1, "{table}.{column} in {:#?}", report.tables);
    found[0]
}

/// Runs statements on a new database and measures it.
pub async fn measured(name: &str, sql: &str) -> Report {
    let pool = database(name).await;
    execute(&pool, sql).await;
    report(&pool).await
}
