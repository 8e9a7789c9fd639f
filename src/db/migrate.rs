//! Brings the schema up to date, or refuses one that this binary does not know. The advisory lock is tried in
//! a loop: a blocking one would hold a snapshot for which CREATE INDEX CONCURRENTLY waits for ever.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::{Connection, PgConnection, PgPool};

use super::connect::Target;
use super::error::Error;

/// Every migration, embedded.
pub static MIGRATOR: Migrator = sqlx::migrate!();

/// Key of the advisory lock under which one process migrates: "resolute" in ASCII.
const LOCK: i64 = 0x7265_736f_6c75_7465;

/// How long a process waits for another that migrates.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How a migration failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The schema has migrations that this binary does not know.
    #[error("the schema is newer than this program: it has migration(s) {0:?}; start the newer release")]
    SchemaNewer(Vec<i64>),
    /// The schema lacks migrations, and this process was told not to apply them.
    #[error("the schema lacks migration(s) {0:?}; run `resolute migrate`")]
    SchemaOlder(Vec<i64>),
    /// An applied migration's text differs from this binary's.
    #[error("migration {0} was applied with another text than this program's")]
    Altered(i64),
    /// A migration began, without a transaction, and did not finish.
    #[error(
        "migration {0} was begun and not finished; repair it by hand, then remove its row from _sqlx_migrations"
    )]
    Unfinished(i64),
    /// Another process has held the lock too long.
    #[error("another process is migrating this database and did not finish in {0:?}")]
    Busy(Duration),
    /// A migration's own error.
    #[error(transparent)]
    Failed(#[from] MigrateError),
    /// The database could not be asked.
    #[error(transparent)]
    Database(#[from] Error),
}

impl From<sqlx::Error> for MigrationError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Applies what is missing, at most one process at a time. Returns the versions applied.
pub async fn migrate(target: &Target, patience: Duration) -> Result<Vec<i64>, MigrationError> {
    let mut connection = PgConnection::connect_with(&target.sqlx()).await?;
    lock(&mut connection, patience).await?;
    let result = apply(&mut connection).await;
    let _ = sqlx::query("SELECT pg_advisory_unlock($1)").bind(LOCK).execute(&mut connection).await;
    let _ = connection.close().await;
    result
}

/// Checks that the schema is exactly this binary's, and changes nothing.
pub async fn verify(target: &Target) -> Result<(), MigrationError> {
    let mut connection = PgConnection::connect_with(&target.sqlx()).await?;
    let missing = if table_exists(&mut connection).await? {
        missing(&mut connection).await?
    } else {
        known().into_iter().collect()
    };
    let _ = connection.close().await;
    if missing.is_empty() { Ok(()) } else { Err(MigrationError::SchemaOlder(missing)) }
}

/// How many of this binary's migrations the schema lacks. More than it knows is fine: a newer release may
/// have widened the schema while this one still serves.
pub async fn missing_from(pool: &PgPool) -> Result<usize, Error> {
    let known: Vec<i64> = known().into_iter().collect();
    let applied: i64 =
        sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success AND version = ANY($1)")
            .bind(&known)
            .fetch_one(pool)
            .await?;
    Ok(known.len().saturating_sub(usize::try_from(applied).unwrap_or_default()))
}

fn known() -> BTreeSet<i64> {
    MIGRATOR.iter().map(|migration| migration.version).collect()
}

async fn lock(connection: &mut PgConnection, patience: Duration) -> Result<(), MigrationError> {
    let tries = patience.as_millis() / 200 + 1;
    for _ in 0..tries {
        let got: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(LOCK)
            .fetch_one(&mut *connection)
            .await?;
        if got {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err(MigrationError::Busy(patience))
}

/// Versions not applied yet, in order; an error if the schema is not an ancestor of this binary's.
async fn missing(connection: &mut PgConnection) -> Result<Vec<i64>, MigrationError> {
    let applied: Vec<(i64, bool, Vec<u8>)> =
        sqlx::query_as("SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version")
            .fetch_all(connection)
            .await?;
    let known = known();
    let newer: Vec<i64> =
        applied.iter().map(|row| row.0).filter(|version| !known.contains(version)).collect();
    if !newer.is_empty() {
        return Err(MigrationError::SchemaNewer(newer));
    }
    for (version, success, checksum) in &applied {
        if !success {
            return Err(MigrationError::Unfinished(*version));
        }
        if MIGRATOR.iter().any(|m| m.version == *version && m.checksum.as_ref() != checksum.as_slice()) {
            return Err(MigrationError::Altered(*version));
        }
    }
    let applied: BTreeSet<i64> = applied.into_iter().map(|row| row.0).collect();
    Ok(known.difference(&applied).copied().collect())
}

async fn table_exists(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(connection).await
}

async fn apply(connection: &mut PgConnection) -> Result<Vec<i64>, MigrationError> {
    // Asked first: on a table that exists, PostgreSQL's notice would be in the log of every start.
    if !table_exists(connection).await? {
        connection.ensure_migrations_table("_sqlx_migrations").await?;
    }
    let missing = missing(connection).await?;
    for migration in MIGRATOR.iter().filter(|migration| missing.contains(&migration.version)) {
        tracing::info!(version = migration.version, description = %migration.description, "applying a migration");
        connection.apply("_sqlx_migrations", migration).await?;
    }
    Ok(missing)
}
