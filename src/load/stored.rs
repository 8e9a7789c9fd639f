//! Holds what is stored against what clients were told. Reads the tables of a run's own tenants, row by row.

use std::collections::HashMap;
use std::pin::pin;

use anyhow::{Context, anyhow};
use deadpool_postgres::{Object, Transaction};
use futures_util::{StreamExt, TryStreamExt};
use tokio_postgres::Row;

use super::compare::{Integrity, Ledger};
use super::votes::Receipt;

/// Ballots of a tenant: receipt against row, and each poll's log without a hole or a place taken twice.
pub async fn check_ballots(
    client: &mut Object,
    tenant_id: i64,
    mut ledger: Ledger<(i64, i64), Receipt>,
) -> anyhow::Result<Integrity> {
    let transaction = reading(client).await?;
    let mut rows = pin!(
        transaction
            .query_raw(
                "SELECT poll_id, participant_id, event_index, event_hash FROM ballots WHERE tenant_id = $1",
                [tenant_id]
            )
            .await?
            .err_into::<anyhow::Error>()
    );
    let mut logs: HashMap<i64, Log> = HashMap::new();
    while let Some(row) = rows.next().await {
        let (key, receipt) = ballot(&row?)?;
        ledger.row(&key, &receipt);
        logs.entry(key.0).or_default().add(receipt.index);
    }
    let mut integrity = ledger.close();
    integrity.log_faults = logs.values_mut().map(Log::faults).sum();
    Ok(integrity)
}

/// Seats of a tenant's polls that the server counts as taken.
pub async fn count_seats(client: &Object, tenant_id: i64) -> anyhow::Result<u64> {
    let sum = "SELECT coalesce(sum(taken), 0)::bigint FROM poll_seats WHERE tenant_id = $1";
    let taken: i64 = client.query_one(sum, &[&tenant_id]).await?.try_get(0)?;
    Ok(u64::try_from(taken)?)
}

/// Names of a tenant: what the body asked for against the row. Where names were `existing` before anything was asked
/// for, those are passed over: they have no x.
pub async fn check_names(
    client: &mut Object,
    tenant_id: i64,
    existing: u64,
    mut ledger: Ledger<(i64, String), String>,
) -> anyhow::Result<Integrity> {
    let transaction = reading(client).await?;
    let mut rows = pin!(
        transaction
            .query_raw(
                "SELECT domain_id, name, target FROM purls WHERE tenant_id = $1 AND ($2::bigint = 0 OR strpos(name, 'x') > 0)",
                [tenant_id, i64::try_from(existing)?]
            )
            .await?
    );
    while let Some(row) = rows.next().await {
        let row = row?;
        ledger.row(&(row.try_get(0)?, row.try_get(1)?), &row.try_get(2)?);
    }
    Ok(ledger.close())
}

/// A transaction whose statement may take as long as the rows are many.
async fn reading(client: &mut Object) -> anyhow::Result<Transaction<'_>> {
    let transaction = client.build_transaction().read_only(true).start().await?;
    transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
    Ok(transaction)
}

fn ballot(row: &Row) -> anyhow::Result<((i64, i64), Receipt)> {
    let hash: Vec<u8> = row.try_get(3)?;
    let event_hash = hash.try_into().map_err(|_| anyhow!("an event hash of another length"))?;
    let receipt = Receipt { index: row.try_get(2).context("event_index")?, event_hash };
    Ok(((row.try_get(0)?, row.try_get(1)?), receipt))
}

/// The places of one poll's ballots; the opening has place 0.
#[derive(Default)]
struct Log(Vec<i64>);

impl Log {
    fn add(&mut self, index: i64) {
        self.0.push(index);
    }

    /// Places missing or taken twice between 1 and the last.
    fn faults(&mut self) -> u64 {
        self.0.sort_unstable();
        let rows = self.0.len() as u64;
        let last = self.0.last().copied().and_then(|last| u64::try_from(last).ok()).unwrap_or_default();
        self.0.dedup();
        let twice = rows - self.0.len() as u64;
        twice + last.abs_diff(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_every_place_once() {
        assert_eq!(Log(vec![3, 1, 2]).faults(), 0);
        assert_eq!(Log(vec![]).faults(), 0);
        assert_eq!(Log(vec![1, 3]).faults(), 1);
        assert_eq!(Log(vec![1, 2, 2]).faults(), 1);
    }
}
