//! A database per test, with what headroom needs of the schema, and short ways to look into a report.

use std::ops::Deref;

use resolute::db::Target;
use resolute::db::headroom::{Report, Settings, TableHeadroom, measure};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::support::database::TestDatabase;

/// A pool over a database that is dropped with it.
pub struct Scratch {
    pool: PgPool,
    database: TestDatabase,
}

impl Deref for Scratch {
    type Target = PgPool;

    fn deref(&self) -> &PgPool {
        &self.pool
    }
}

impl Scratch {
    /// The same database through connections that know its present defaults.
    pub async fn reconnected(self) -> Self {
        self.pool.close().await;
        let pool = PgPoolOptions::new().connect_with(self.target().sqlx()).await.expect("same database");
        Self { pool, database: self.database }
    }

    /// Where the database is.
    pub fn target(&self) -> &Target {
        self.database.target()
    }
}

/// A new database with nothing but the table of samples, so that each test sees only the tables it made.
pub async fn database() -> Scratch {
    let database = TestDatabase::create_empty().await;
    let pool = PgPoolOptions::new().connect_with(database.target().sqlx()).await.expect("new database");
    execute(&pool, include_str!("../../../migrations/0003_headroom.sql")).await;
    Scratch { pool, database }
}

pub async fn execute(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Makes a setting the database's default, for connections made from now on.
pub async fn set_default(pool: &PgPool, setting: &str, value: &str) {
    let alter =
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET SETTING = VALUE', current_database()); END $$";
    execute(pool, &alter.replace("SETTING", setting).replace("VALUE", value)).await;
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
pub async fn measured(sql: &str) -> Report {
    let pool = database().await;
    execute(&pool, sql).await;
    report(&pool).await
}
