//! The one database in the private cluster. What is in it is the migrations' business.

use std::path::Path;

use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use super::error::ClusterError;
use super::{DATABASE, USER};

/// Makes the database when it is missing; this also shows that the cluster answers.
pub(super) async fn ensure_database(socket_dir: &Path, port: u16) -> Result<(), ClusterError> {
    let mut config = tokio_postgres::Config::new();
    config.host_path(socket_dir).port(port).user(USER).dbname("postgres").application_name("resolute start");
    let (client, connection) = config.connect(NoTls).await?;
    let work = async move {
        let found = client.query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&DATABASE]).await?;
        if found.is_some() {
            return Ok(());
        }
        // template0, because nobody can be connected to it, which would make the copy fail.
        match client.batch_execute(&format!("CREATE DATABASE {DATABASE} TEMPLATE template0")).await {
            // Another process was quicker.
            Err(error)
                if [Some(&SqlState::DUPLICATE_DATABASE), Some(&SqlState::UNIQUE_VIOLATION)]
                    .contains(&error.code()) =>
            {
                Ok(())
            }
            result => result,
        }
    };
    let (result, _closed) = tokio::join!(work, connection);
    Ok(result?)
}
