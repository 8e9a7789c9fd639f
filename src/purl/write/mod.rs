//! Writes names: one transaction in two flights, under the domain's lock, for any number of items with a
//! verdict for each. The lock is a statement of its own, and everything that depends on earlier holders is
//! read by the next one. It does not validate names or targets, which come as checked types, and it does
//! not decide who may write.

pub mod quota;
mod recorded;
mod statements;

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use futures_util::future::join3;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

pub use recorded::{Recorded, Seal};
use recorded::{Recording, find_answer, store_answer};
use statements::{INSERT_PURLS, LOCK_DOMAIN, MARK_HAS_NAMES, SKIPPED, UPDATE_PURLS};

use super::known;
use super::model::{Domain, Purl, Status, TOMBSTONE};
use super::name::Name;
use super::row;
use super::target::Target;
use crate::db::idempotency::Stored;
use crate::db::statement::{Statement, flight};
use crate::db::tx::Tx;
use crate::db::{self, BEGIN, Db, notify};

type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Every hot statement here, for the census.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    statements::STATEMENTS.iter().chain(quota::STATEMENTS).copied()
}

/// A name to be made.
#[derive(Debug, Clone)]
pub struct NewPurl {
    /// The name.
    pub name: Name,
    /// How it answers.
    pub status: Status,
    /// Whether it answers for everything below it.
    pub is_partial: bool,
    /// Where it points; only "temporarily gone" may do without.
    pub target: Option<Target>,
    /// When it expires.
    pub valid_until: Option<OffsetDateTime>,
}

/// What became of a [`NewPurl`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateVerdict {
    /// It was made.
    Created(Purl),
    /// The name exists, perhaps as a tombstone.
    Taken {
        /// Whether it is a tombstone.
        withdrawn: bool,
    },
}

/// What became of a whole creation.
#[derive(Debug)]
pub enum Creation {
    /// One verdict for each item, in order.
    Judged(Vec<CreateVerdict>),
    /// Nothing was done: the domain must be allotted names first, see [`quota::allot`].
    Lacking(quota::Lack),
    /// Nothing was done: the recorded key has an answer from before.
    Answered(Stored),
}

/// A change of a name that exists.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its key.
    pub name_key: String,
    /// The revision that the caller has seen; none: whichever is current.
    pub expected: Option<i64>,
    /// What it becomes.
    pub to: NewState,
}

/// What a name becomes.
#[derive(Debug, Clone)]
pub enum NewState {
    /// A name in force.
    Live {
        /// How it answers.
        status: Status,
        /// Whether it answers for everything below it.
        is_partial: bool,
        /// Where it points; only "temporarily gone" may do without.
        target: Option<Target>,
        /// When it expires.
        valid_until: Option<OffsetDateTime>,
    },
    /// A tombstone.
    Withdrawn {
        /// Why.
        reason: Option<String>,
        /// What to use instead.
        successor: Option<Target>,
    },
}

/// What became of a [`Change`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// It was written; this is the new state.
    Changed(Purl),
    /// The name is like that already; nothing was written.
    Unchanged,
    /// Another revision than the expected one is current.
    Stale {
        /// The current revision.
        current: i64,
    },
    /// It is a tombstone.
    Withdrawn,
    /// There is no such name.
    Absent,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The domain changed after the items were checked against it: check again.
    #[error("the domain has changed meanwhile")]
    DomainChanged,
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl From<tokio_postgres::Error> for WriteError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Db(error.into())
    }
}

/// Makes names in a domain, as it was read when they were checked. Verdicts come in the order of `items`; of
/// two items with one key the first counts. With a recorded key, in the same flights: whoever works under it is
/// waited for, an answer that is there ends it, and what is made is stored with its answer. `names_quota` is the
/// configured one, 0: none.
pub async fn create(
    db: &Db,
    domain: &Domain,
    author: (Uuid, OffsetDateTime),
    items: &[NewPurl],
    names_quota: i64,
    once: Option<Recorded<'_>>,
) -> Result<Creation, WriteError> {
    let (by, at) = author;
    let keys: Vec<String> = items.iter().map(|item| item.name.key(domain.case_insensitive)).collect();
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    let statuses: Vec<i16> = items.iter().map(|item| smallint(item.status.code())).collect();
    let partial: Vec<bool> = items.iter().map(|item| item.is_partial).collect();
    let targets: Vec<Option<&str>> =
        items.iter().map(|item| item.target.as_ref().map(Target::as_str)).collect();
    let hosts: Vec<Option<&str>> = items.iter().map(|item| item.target.as_ref().map(Target::host)).collect();
    let until: Vec<Option<OffsetDateTime>> = items.iter().map(|item| item.valid_until).collect();

    let client = db.hot().await?;
    let lock = LOCK_DOMAIN.prepare(&client).await?;
    let insert = INSERT_PURLS.prepare(&client).await?;
    let mark = MARK_HAS_NAMES.prepare(&client).await?;
    let skipped = SKIPPED.prepare(&client).await?;
    let recording = match &once {
        Some(once) => Some(Recording::prepare(&client, once.key).await?),
        None => None,
    };
    let tx = Tx::new(client, "purl_create");
    let client = tx.client();
    let (tenant, id) = (&domain.home_tenant_id, &domain.domain_id);
    let key: [Parameter<'_>; 2] = [tenant, id];
    let columns: [Parameter<'_>; 13] = [
        tenant,
        id,
        &domain.generation,
        &at,
        &by,
        &keys,
        &names,
        &statuses,
        &partial,
        &targets,
        &hosts,
        &until,
        &names_quota,
    ];
    let statements = if recording.is_some() { 5 } else { 3 };
    let (begun, answered, locked, inserted) = flight(statements, async {
        tokio::join!(
            client.batch_execute(BEGIN),
            find_answer(client, recording.as_ref()),
            client.query(&lock, &key),
            client.query(&insert, &columns),
        )
    })
    .await;
    begun?;
    if let Some(stored) = answered? {
        tx.rollback().await?;
        return Ok(Creation::Answered(stored));
    }
    locked?;
    let rows = inserted?;
    check_guard(&rows)?;
    if let Some(names) = quota::lacking(&rows)? {
        tx.rollback().await?;
        return Ok(Creation::Lacking(quota::Lack { tenant_id: *tenant, domain_id: *id, names }));
    }
    let mut created = HashMap::with_capacity(items.len());
    for found in &rows {
        if found.try_get::<_, Option<i64>>("purl_id")?.is_some() {
            let purl = row::purl(found)?;
            created.insert(purl.name_key.clone(), purl);
        }
    }
    let taken: Vec<&str> =
        keys.iter().map(String::as_str).filter(|key| !created.contains_key(*key)).collect();
    let answer = once.zip(keys.first().and_then(|key| created.get(key)));
    let answer = answer.map(|(once, purl)| (once.seal)(once.key, purl)).transpose()?;
    let stored = recording.as_ref().zip(answer.as_deref());
    // Rare: the first name of a domain, a name that exists, an Idempotency-Key. Else the second flight is COMMIT alone.
    let withdrawn = if taken.is_empty() && domain.has_names && stored.is_none() {
        tx.commit().await?;
        HashSet::new()
    } else {
        let taken: [Parameter<'_>; 3] = [tenant, id, &taken];
        let last = async |client: &Object| {
            let (marked, existing, stored) = flight(
                4,
                join3(
                    client.execute(&mark, &key),
                    client.query(&skipped, &taken),
                    store_answer(client, stored, at),
                ),
            )
            .await;
            marked?;
            stored?;
            Ok(existing?)
        };
        withdrawn_keys(&tx.commit_after(last).await?)?
    };

    let verdicts = keys.iter().map(|key| match created.remove(key) {
        Some(purl) => CreateVerdict::Created(purl),
        None => CreateVerdict::Taken { withdrawn: withdrawn.contains(key) },
    });
    Ok(Creation::Judged(verdicts.collect()))
}

/// Changes names of a domain, each only from the revision that its author has seen, if any. Verdicts come in the
/// order of `changes`, whose keys must differ.
pub async fn change(
    db: &Db,
    domain: &Domain,
    author: (Uuid, OffsetDateTime),
    changes: &[Change],
) -> Result<Vec<ChangeVerdict>, WriteError> {
    let (by, at) = author;
    let columns = ChangeColumns::of(changes);
    let client = db.hot().await?;
    let lock = LOCK_DOMAIN.prepare(&client).await?;
    let update = UPDATE_PURLS.prepare(&client).await?;
    let tx = Tx::new(client, "purl_change");
    let client = tx.client();
    let (tenant, id) = (&domain.home_tenant_id, &domain.domain_id);
    let key: [Parameter<'_>; 2] = [tenant, id];
    let columns: [Parameter<'_>; 14] = [
        tenant,
        id,
        &domain.generation,
        &at,
        &by,
        &columns.keys,
        &columns.expected,
        &columns.statuses,
        &columns.partial,
        &columns.targets,
        &columns.hosts,
        &columns.until,
        &columns.reasons,
        &columns.successors,
    ];
    let (begun, locked, updated) = flight(3, async {
        tokio::join!(client.batch_execute(BEGIN), client.query(&lock, &key), client.query(&update, &columns),)
    })
    .await;
    begun?;
    locked?;
    let rows = updated?;
    check_guard(&rows)?;
    let mut verdicts = HashMap::with_capacity(rows.len());
    for found in &rows {
        let key: String = found.try_get("item_key")?;
        verdicts.insert(key, found);
    }
    let verdicts: Vec<ChangeVerdict> = changes
        .iter()
        .map(|change| verdict(change, verdicts.get(&change.name_key)))
        .collect::<Result<_, WriteError>>()?;
    let withdrawn = withdrawals(domain, &verdicts);
    if withdrawn.is_empty() {
        tx.commit().await?;
    } else {
        let notify = notify::NOTIFY.prepare(client).await?;
        tx.commit_after(async |client: &Object| {
            flight(2, client.execute(&notify, &[&withdrawn])).await?;
            Ok(())
        })
        .await?;
    }
    Ok(verdicts)
}

/// The announcement of what was withdrawn. It goes with the transaction, unlike that of other changes: other
/// processes must know within a second even if this one ends before it could tell them, and withdrawals come
/// one at a time, not in bursts that NOTIFY would serialise.
fn withdrawals(domain: &Domain, verdicts: &[ChangeVerdict]) -> Vec<String> {
    let items = verdicts.iter().filter_map(|verdict| match verdict {
        ChangeVerdict::Changed(purl) if purl.status == TOMBSTONE => {
            Some(known::item(domain.domain_id, &purl.name_key))
        }
        _ => None,
    });
    notify::payloads(known::TOPIC, items)
}

/// The arrays of a change, one a column.
#[derive(Default)]
struct ChangeColumns<'a> {
    keys: Vec<&'a str>,
    expected: Vec<Option<i64>>,
    statuses: Vec<i16>,
    partial: Vec<bool>,
    targets: Vec<Option<&'a str>>,
    hosts: Vec<Option<&'a str>>,
    until: Vec<Option<OffsetDateTime>>,
    reasons: Vec<Option<&'a str>>,
    successors: Vec<Option<&'a str>>,
}

impl<'a> ChangeColumns<'a> {
    fn of(changes: &'a [Change]) -> Self {
        let mut columns = Self::default();
        for change in changes {
            columns.keys.push(&change.name_key);
            columns.expected.push(change.expected);
            let (code, is_partial, target, until, reason, successor) = match &change.to {
                NewState::Live { status, is_partial, target, valid_until } => {
                    (status.code(), *is_partial, target.as_ref(), *valid_until, None, None)
                }
                NewState::Withdrawn { reason, successor } => {
                    (TOMBSTONE, false, None, None, reason.as_deref(), successor.as_ref())
                }
            };
            columns.statuses.push(smallint(code));
            columns.partial.push(is_partial);
            columns.targets.push(target.map(Target::as_str));
            columns.hosts.push(target.map(Target::host));
            columns.until.push(until);
            columns.reasons.push(reason);
            columns.successors.push(successor.map(Target::as_str));
        }
        columns
    }
}

/// Every row of a guarded statement says whether the guard held; no row at all means that the domain is gone.
fn check_guard(rows: &[Row]) -> Result<(), WriteError> {
    let Some(first) = rows.first() else { return Err(WriteError::DomainChanged) };
    if first.try_get("holds")? { Ok(()) } else { Err(WriteError::DomainChanged) }
}

fn withdrawn_keys(rows: &[Row]) -> Result<HashSet<String>, WriteError> {
    let mut keys = HashSet::new();
    for found in rows {
        if found.try_get::<_, i16>("status")? == smallint(TOMBSTONE) {
            keys.insert(found.try_get("name_key")?);
        }
    }
    Ok(keys)
}

fn verdict(change: &Change, found: Option<&&Row>) -> Result<ChangeVerdict, WriteError> {
    let Some(found) = found else { return Ok(ChangeVerdict::Absent) };
    if found.try_get::<_, Option<i64>>("purl_id")?.is_some() {
        return Ok(ChangeVerdict::Changed(row::purl(found)?));
    }
    let Some(current) = found.try_get::<_, Option<i64>>("found_revision")? else {
        return Ok(ChangeVerdict::Absent);
    };
    let status: i16 = found.try_get("found_status")?;
    Ok(if change.expected.is_some_and(|expected| expected != current) {
        ChangeVerdict::Stale { current }
    } else if status == smallint(TOMBSTONE) {
        ChangeVerdict::Withdrawn
    } else {
        ChangeVerdict::Unchanged
    })
}

/// HTTP status codes fit.
fn smallint(code: u16) -> i16 {
    i16::try_from(code).unwrap_or(i16::MAX)
}
