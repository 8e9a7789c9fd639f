//! The merge of one range of staged lines in one short transaction, under the locks of its domains. Which lines belong to a
//! range, and what is told of them, is `merge`'s business.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use time::OffsetDateTime;
use tokio::try_join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::merge_statements as sql;
use super::staging::{Decided, Run, run_one};
use crate::db::quota::Exceeded;
use crate::db::tx::Tx;
use crate::db::{self, Db, notify};
use crate::purl::known;
use crate::purl::write::quota::{self, AllotError, Lack};

/// Lines behind the first number and up to the second.
pub type Range = (i64, i64);

/// Generations of domains by path.
pub type Generations = HashMap<String, i64>;

/// What became of a range.
#[derive(Debug)]
pub enum Merged {
    /// It is committed; what became of each line, in order.
    Done(Vec<Decided>),
    /// Nothing is written: the domains are no longer as they were when the lines were checked. The generations
    /// that they have now; one that is missing is no longer the tenant's.
    TreeChanged(Generations),
    /// Nothing is written: these domains must be allotted names first.
    Lacking(Vec<Lack>),
    /// Nothing is written: the quota of names is used up.
    Exceeded(Exceeded),
}

/// Merges a range under the locks of its domains, if these still have the `expected` generations. `lacked` are domains that
/// lacked names when this was tried before: now they are allotted in the same transaction. `names_quota` is the
/// configured one.
pub async fn merge(
    db: &Db,
    run: Run,
    range: Range,
    expected: &Generations,
    lacked: &[Lack],
    (names_quota, now): (i64, OffsetDateTime),
) -> Result<Merged, db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_merge").await?;
    let client = tx.client();
    client.batch_execute(sql::PLAN_ANEW).await?;
    quota::lock_all(client, lacked).await?;
    let current = lock(client, run, range).await?;
    let known = |(path, generation): (&String, &Option<i64>)| {
        generation.is_some() && generation.as_ref() == expected.get(path)
    };
    if !current.iter().all(known) {
        tx.rollback().await?;
        let there = current.into_iter().filter_map(|(path, generation)| Some((path, generation?)));
        return Ok(Merged::TreeChanged(there.collect()));
    }
    let lacks = match write(client, run, range, names_quota, now).await? {
        Ok(written) => return finish(tx, written).await,
        Err(lacks) => lacks,
    };
    // Locked is what lacked names before; should that be another tenant's now, once more.
    let has_lock = |lack: &Lack| lacked.iter().any(|before| before.tenant_id == lack.tenant_id);
    if !lacks.iter().all(has_lock) {
        tx.rollback().await?;
        return Ok(Merged::Lacking(lacks));
    }
    match quota::allot_locked(client, names_quota, &lacks).await {
        Ok(()) => {}
        Err(AllotError::Exceeded(exceeded)) => {
            tx.rollback().await?;
            return Ok(Merged::Exceeded(exceeded));
        }
        Err(AllotError::Db(error)) => return Err(error),
    }
    match write(client, run, range, names_quota, now).await? {
        Ok(written) => finish(tx, written).await,
        Err(lacks) => {
            tx.rollback().await?;
            Ok(Merged::Lacking(lacks))
        }
    }
}

/// Commits, and announces the names that were changed.
async fn finish(tx: Tx, (lines, updated): Written) -> Result<Merged, db::Error> {
    let announcements = notify::payloads(known::TOPIC, updated);
    if !announcements.is_empty() {
        // Inside: this process may end at any moment, and a chunk is no burst of commits.
        run_one(tx.client(), &notify::NOTIFY, &[&announcements]).await?;
    }
    tx.commit().await?;
    Ok(Merged::Done(lines))
}

/// Locks the domains of a range, then reads their generations, null for one that is not the tenant's.
async fn lock(
    client: &Object,
    run: Run,
    (after, through): Range,
) -> Result<HashMap<String, Option<i64>>, db::Error> {
    let (locking, generations) =
        (sql::LOCK_DOMAINS.prepare(client).await?, sql::GENERATIONS.prepare(client).await?);
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &after, &through];
    let (_, rows) = try_join!(client.execute(&locking, &values), client.query(&generations, &values))?;
    rows.iter().map(|row| Ok((row.try_get("domain_path")?, row.try_get("generation")?))).collect()
}

type Written = (Vec<Decided>, Vec<String>);

/// Writes a range, or says which domains lack names: all of a tenant's that would get any if one of them lacks, since what
/// does not ask is taken back for those that do.
async fn write(
    client: &Object,
    run: Run,
    (after, through): Range,
    names_quota: i64,
    now: OffsetDateTime,
) -> Result<Result<Written, Vec<Lack>>, db::Error> {
    let values: [&(dyn ToSql + Sync); 6] =
        [&run.tenant_id, &run.import_id, &after, &through, &now, &names_quota];
    let rows = client.query(&sql::MERGE.prepare(client).await?, &values).await?;
    let lacking = list_lacking(&rows)?;
    if !lacking.is_empty() {
        return Ok(Err(lacking));
    }
    let (mut lines, mut updated) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in &rows {
        if let Some(name_key) = row.try_get("name_key")? {
            updated.push(known::item(row.try_get("domain_id")?, name_key));
        }
        lines.push(Decided::try_from(row)?);
    }
    Ok(Ok((lines, updated)))
}

fn list_lacking(rows: &[Row]) -> Result<Vec<Lack>, db::Error> {
    let (mut all, mut lacking) = (Vec::new(), HashSet::new());
    for row in rows {
        let Some(tenant_id) = row.try_get("home")? else { break };
        all.push(Lack { tenant_id, domain_id: row.try_get("domain_id")?, names: row.try_get("names")? });
        if row.try_get("lacks")? {
            lacking.insert(tenant_id);
        }
    }
    all.retain(|lack| lacking.contains(&lack.tenant_id));
    Ok(all)
}
