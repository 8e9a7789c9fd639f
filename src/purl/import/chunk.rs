//! The merge of one chunk of staged lines in one short transaction, under the locks of its domains. Which lines belong to a
//! chunk, and what is told of them, is `run`'s business.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::report::Outcome;
use super::staging::{Run, WITHDRAWN, run_one};
use super::statements as sql;
use crate::db::quota::Exceeded;
use crate::db::tx::Tx;
use crate::db::{self, Db, notify};
use crate::purl::known;
use crate::purl::write::quota::{self, AllotError, Lack};

/// Lines to be merged together.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// Those to be merged.
    pub lines: &'a [i64],
    /// Paths of their domains.
    pub domains: &'a [String],
    /// Domains that lacked names when this was tried before: now they are allotted in the same transaction.
    pub lacked: &'a [Lack],
    /// The last line that was done before.
    pub after: i64,
    /// The last line that is done with this chunk, merged or only reported.
    pub through: i64,
}

/// Generations of domains by path.
pub type Generations = HashMap<String, i64>;

/// What became of a chunk.
#[derive(Debug)]
pub enum Merged {
    /// It is committed; what became of each line.
    Done(HashMap<i64, Outcome>),
    /// Nothing is written: the domains are no longer as they were when the lines were checked. The generations
    /// that they have now; one that is missing is no longer the tenant's.
    TreeChanged(Generations),
    /// Nothing is written: these domains must be allotted names first.
    Lacking(Vec<Lack>),
    /// Nothing is written: the quota of names is used up.
    Exceeded(Exceeded),
}

/// Merges a chunk under the locks of its domains, if these still have the `expected` generations. `names_quota` is the
/// configured one.
pub async fn merge(
    db: &Db,
    run: Run,
    chunk: &Chunk<'_>,
    expected: &Generations,
    names_quota: i64,
    now: OffsetDateTime,
) -> Result<Merged, db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_merge").await?;
    let client = tx.client();
    client.batch_execute(sql::PLAN_ANEW).await?;
    quota::lock_all(client, chunk.lacked).await?;
    run_one(client, &sql::LOCK_DOMAINS, &[&chunk.domains]).await?;
    let generations = sql::GENERATIONS.prepare(client).await?;
    let mut current = HashMap::new();
    for row in client.query(&generations, &[&chunk.domains, &run.tenant_id]).await? {
        current.insert(row.try_get::<_, String>("path")?, row.try_get::<_, i64>("generation")?);
    }
    let known =
        |path: &String| current.get(path).is_some_and(|generation| expected.get(path) == Some(generation));
    if !chunk.domains.iter().all(known) {
        tx.rollback().await?;
        return Ok(Merged::TreeChanged(current));
    }
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &chunk.lines, &now];
    let mut outcomes = HashMap::with_capacity(chunk.lines.len());
    let mut updated = Vec::new();
    for row in client.query(&sql::MERGE_EXISTING.prepare(client).await?, &values).await? {
        let outcome = match row.try_get("outcome")? {
            "updated" => {
                updated.push(known::item(row.try_get("domain_id")?, row.try_get("name_key")?));
                Outcome::Updated
            }
            "unchanged" => Outcome::Unchanged,
            _ => Outcome::Refused(WITHDRAWN.to_owned()),
        };
        outcomes.insert(row.try_get("line")?, outcome);
    }
    let new: Vec<i64> = chunk.lines.iter().copied().filter(|line| !outcomes.contains_key(line)).collect();
    if !new.is_empty() {
        let lacks = list_lacking(client, run, &new, names_quota).await?;
        // Locked is what lacked names before; should that be another tenant's now, once more.
        let locked = |lack: &Lack| chunk.lacked.iter().any(|before| before.tenant_id == lack.tenant_id);
        if !lacks.iter().all(locked) {
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
        let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &new, &now];
        let rows = client.query(&sql::MERGE_NEW.prepare(client).await?, &values).await?;
        outcomes.extend(list_created(&rows)?.into_iter().map(|line| (line, Outcome::Created)));
    }
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &chunk.through, &chunk.after];
    run_one(client, &sql::FORGET_LINES, &values).await?;
    let announcements = notify::payloads(known::TOPIC, updated);
    if !announcements.is_empty() {
        // Inside: this process may end at any moment, and a chunk is no burst of commits.
        run_one(client, &notify::NOTIFY, &[&announcements]).await?;
    }
    tx.commit().await?;
    Ok(Merged::Done(outcomes))
}

/// The lines whose names were made: rows with a line say what it names, those without say what was made. Matched here,
/// because the planner takes either for one row and would compare each with each.
fn list_created(rows: &[Row]) -> Result<Vec<i64>, tokio_postgres::Error> {
    let (mut lines, mut made) = (Vec::with_capacity(rows.len()), HashSet::new());
    for row in rows {
        let name: (i64, i64, &str) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        match row.try_get::<_, Option<i64>>(0)? {
            Some(line) => lines.push((line, name)),
            None => {
                made.insert(name);
            }
        }
    }
    Ok(lines.into_iter().filter(|(_, name)| made.contains(name)).map(|(line, _)| line).collect())
}

/// What must be allotted, to domains that are locked, before the names of these lines can be made: nothing if no domain
/// lacks room. If one does, all of its tenant's among them must ask, also those that have enough: what does not ask is
/// taken back for those that do.
async fn list_lacking(
    client: &Object,
    run: Run,
    new: &[i64],
    names_quota: i64,
) -> Result<Vec<Lack>, db::Error> {
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &new, &names_quota];
    let rows = client.query(&quota::LACKING.prepare(client).await?, &values).await?;
    let (mut all, mut lacking) = (Vec::with_capacity(rows.len()), HashSet::new());
    for row in &rows {
        let (tenant_id, domain_id) = (row.try_get("tenant_id")?, row.try_get("domain_id")?);
        all.push(Lack { tenant_id, domain_id, names: row.try_get("names")? });
        if row.try_get("lacks")? {
            lacking.insert(tenant_id);
        }
    }
    all.retain(|lack| lacking.contains(&lack.tenant_id));
    Ok(all)
}
