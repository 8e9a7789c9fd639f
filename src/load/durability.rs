//! The settings on which "acknowledged" rests, read live from the database, as the server's own connections have them.

use anyhow::Context;
use deadpool_postgres::Object;
use serde::{Deserialize, Serialize};

/// Settings of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// Whether what is written is forced to disk.
    pub fsync: String,
    /// Whether COMMIT waits for that.
    pub synchronous_commit: String,
    /// Whether a torn page can be mended.
    pub full_page_writes: String,
    /// Version of the server.
    pub server_version: String,
}

impl Durability {
    /// Reads them. The pools set `synchronous_commit` for their sessions; this session is one of theirs.
    pub async fn read(client: &Object) -> anyhow::Result<Self> {
        let row = client
            .query_one(
                "SELECT current_setting('fsync'), current_setting('synchronous_commit'),
                        current_setting('full_page_writes'), current_setting('server_version')",
                &[],
            )
            .await
            .context("settings of PostgreSQL")?;
        Ok(Self {
            fsync: row.try_get(0)?,
            synchronous_commit: row.try_get(1)?,
            full_page_writes: row.try_get(2)?,
            server_version: row.try_get(3)?,
        })
    }

    /// Whether an acknowledged commit survives a crash of the machine.
    pub fn is_durable(&self) -> bool {
        self.fsync == "on" && self.full_page_writes == "on" && self.synchronous_commit != "off"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_off_is_not_durable() {
        let of = |fsync: &str, commit: &str, pages: &str| Durability {
            fsync: fsync.into(),
            synchronous_commit: commit.into(),
            full_page_writes: pages.into(),
            server_version: String::new(),
        };
        assert!(of("on", "on", "on").is_durable());
        assert!(of("on", "remote_apply", "on").is_durable());
        for not in [of("off", "on", "on"), of("on", "off", "on"), of("on", "on", "off")] {
            assert!(!not.is_durable(), "{not:?}");
        }
    }
}
