//! Writes names: one transaction in two flights, under the domain's lock, for any number of items with a
//! verdict for each. The lock is a statement of its own, and everything that depends on earlier holders is
//! read by the next one. It does not validate names or targets, which come as checked types, and it does
//! not decide who may write.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Object;
use futures_util::future::join;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::model::{Domain, Purl, Status, TOMBSTONE};
use super::name::Name;
use super::row;
use super::target::Target;
use crate::db::statement::{Statement, flight};
use crate::db::tx::Tx;
use crate::db::{self, BEGIN, Db};

/// Takes the domain's lock. `$1` tenant, `$2` domain.
pub const LOCK_DOMAIN: Statement = Statement {
    name: "purl_lock_domain",
    sql: "/* purl_lock_domain */ SELECT FROM domain_state WHERE tenant_id = $1 AND domain_id = $2 FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

/// Inserts names that are free, provided that the domain is still as it was when they were checked.
///
/// `$1` tenant, `$2` domain, `$3` its generation, `$4` now, `$5` who; `$6…$12` one array a column. One row
/// comes back for each name inserted, and at least one in any case, which says whether the guard held.
pub const INSERT_PURLS: Statement = Statement {
    name: "purl_insert",
    sql: "/* purl_insert */
WITH guard AS MATERIALIZED (
    SELECT generation = $3 AS holds FROM domain_state WHERE tenant_id = $1 AND domain_id = $2),
inserted AS (
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, is_partial, target, target_host,
                       valid_until, created_at, created_by, updated_at, updated_by)
    SELECT $1, $2, i.name_key, i.name, i.status, i.is_partial, i.target, i.target_host, i.valid_until, $4, $5, $4, $5
    FROM unnest($6::text[], $7::text[], $8::smallint[], $9::boolean[], $10::text[], $11::text[], $12::timestamptz[])
        AS i (name_key, name, status, is_partial, target, target_host, valid_until)
    WHERE (SELECT holds FROM guard)
    ON CONFLICT DO NOTHING
    RETURNING purl_id, name_key, name, revision, status, is_partial, target, valid_until, tombstone_reason,
              successor, created_at, updated_at)
SELECT g.holds, i.* FROM guard g LEFT JOIN inserted i ON true",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TIMESTAMPTZ,
        Type::UUID,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT2_ARRAY,
        Type::BOOL_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
    ],
};

/// Notes the first name of a domain, so that it is probed from now on. Does not raise the generation: a
/// domain known to have no names ages out of memory like a negative answer.
pub const MARK_HAS_NAMES: Statement = Statement {
    name: "purl_mark_has_names",
    sql: "/* purl_mark_has_names */
UPDATE domain_state SET has_names = true WHERE tenant_id = $1 AND domain_id = $2 AND NOT has_names",
    types: &[Type::INT8, Type::INT8],
};

/// The status of names that were skipped because they exist. `$3` their keys.
pub const SKIPPED: Statement = Statement {
    name: "purl_skipped",
    sql: "/* purl_skipped */
SELECT name_key, status FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = ANY ($3)",
    types: &[Type::INT8, Type::INT8, Type::TEXT_ARRAY],
};

/// Replaces the state of names, after copying the superseded one. Tombstones stay, and a new one keeps what
/// it last was; a row that would not change is left alone; times never run backwards whatever the clocks of two processes say.
///
/// Parameters as in [`INSERT_PURLS`], with the expected revisions as `$7` and a tombstone's reason and
/// successor at the end. One row for each item: what was found, and what was written.
pub const UPDATE_PURLS: Statement = Statement {
    name: "purl_update",
    sql: "/* purl_update */
WITH guard AS MATERIALIZED (
    SELECT generation = $3 AS holds FROM domain_state WHERE tenant_id = $1 AND domain_id = $2),
item AS MATERIALIZED (
    SELECT * FROM unnest($6::text[], $7::bigint[], $8::smallint[], $9::boolean[], $10::text[], $11::text[],
                         $12::timestamptz[], $13::text[], $14::text[])
        AS i (name_key, expected, status, is_partial, target, target_host, valid_until, reason, successor)),
superseded AS (
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, is_partial, target, valid_until,
                                tombstone_reason, successor, written_at, written_by, superseded_at)
    SELECT p.tenant_id, p.domain_id, p.name_key, p.revision, p.status, p.is_partial, p.target, p.valid_until,
           p.tombstone_reason, p.successor, p.updated_at, p.updated_by, greatest($4, p.updated_at)
    FROM item i
    JOIN purls p ON p.tenant_id = $1 AND p.domain_id = $2 AND p.name_key = i.name_key
    WHERE (SELECT holds FROM guard) AND p.revision = i.expected AND p.status <> 410
      AND (p.status, p.is_partial, p.target, p.valid_until)
          IS DISTINCT FROM (i.status, i.is_partial, i.target, i.valid_until)
    RETURNING name_key, superseded_at),
written AS (
    UPDATE purls p
    SET revision = p.revision + 1, status = i.status,
        is_partial = CASE WHEN i.status = 410 THEN p.is_partial ELSE i.is_partial END,
        target = CASE WHEN i.status = 410 THEN p.target ELSE i.target END,
        target_host = CASE WHEN i.status = 410 THEN p.target_host ELSE i.target_host END,
        valid_until = CASE WHEN i.status = 410 THEN p.valid_until ELSE i.valid_until END,
        tombstone_reason = i.reason, successor = i.successor, updated_at = s.superseded_at, updated_by = $5
    FROM item i JOIN superseded s ON s.name_key = i.name_key
    WHERE p.tenant_id = $1 AND p.domain_id = $2 AND p.name_key = i.name_key
    RETURNING p.purl_id, p.name_key, p.name, p.revision, p.status, p.is_partial, p.target, p.valid_until,
              p.tombstone_reason, p.successor, p.created_at, p.updated_at)
SELECT g.holds, i.name_key AS item_key, f.revision AS found_revision, f.status AS found_status, w.*
FROM guard g
CROSS JOIN item i
LEFT JOIN purls f ON f.tenant_id = $1 AND f.domain_id = $2 AND f.name_key = i.name_key
LEFT JOIN written w ON w.name_key = i.name_key",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TIMESTAMPTZ,
        Type::UUID,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::BOOL_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
    ],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] =
    &[&LOCK_DOMAIN, &INSERT_PURLS, &MARK_HAS_NAMES, &SKIPPED, &UPDATE_PURLS];

type Parameter<'a> = &'a (dyn ToSql + Sync);

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

/// A change of a name that exists.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its key.
    pub name_key: String,
    /// The revision that the caller has seen.
    pub expected: i64,
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
/// two items with one key the first counts.
pub async fn create(
    db: &Db,
    domain: &Domain,
    author: (Uuid, OffsetDateTime),
    items: &[NewPurl],
) -> Result<Vec<CreateVerdict>, WriteError> {
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
    let tx = Tx::new(client, "purl_create");
    let client = tx.client();
    let (tenant, id) = (&domain.home_tenant_id, &domain.domain_id);
    let key: [Parameter<'_>; 2] = [tenant, id];
    let columns: [Parameter<'_>; 12] = [
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
    ];
    let (begun, locked, inserted) = flight(3, async {
        tokio::join!(client.batch_execute(BEGIN), client.query(&lock, &key), client.query(&insert, &columns),)
    })
    .await;
    begun?;
    locked?;
    let rows = inserted?;
    check_guard(&rows)?;
    let mut created = HashMap::with_capacity(items.len());
    for found in &rows {
        if found.try_get::<_, Option<i64>>("purl_id")?.is_some() {
            let purl = row::purl(found)?;
            created.insert(purl.name_key.clone(), purl);
        }
    }
    let taken: Vec<&str> =
        keys.iter().map(String::as_str).filter(|key| !created.contains_key(*key)).collect();
    // Rare: the first name of a domain, or a name that exists. Else the second flight is COMMIT alone.
    let withdrawn = if taken.is_empty() && domain.has_names {
        tx.commit().await?;
        HashSet::new()
    } else {
        let taken: [Parameter<'_>; 3] = [tenant, id, &taken];
        let last = async |client: &Object| {
            let (marked, existing) =
                flight(3, join(client.execute(&mark, &key), client.query(&skipped, &taken))).await;
            marked?;
            Ok(existing?)
        };
        withdrawn_keys(&tx.commit_after(last).await?)?
    };

    Ok(keys
        .iter()
        .map(|key| match created.remove(key) {
            Some(purl) => CreateVerdict::Created(purl),
            None => CreateVerdict::Taken { withdrawn: withdrawn.contains(key) },
        })
        .collect())
}

/// Changes names of a domain, each only from the revision that its author has seen. Verdicts come in the
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
    let verdicts = changes.iter().map(|change| verdict(change, verdicts.get(&change.name_key))).collect();
    tx.commit().await?;
    verdicts
}

/// The arrays of a change, one a column.
#[derive(Default)]
struct ChangeColumns<'a> {
    keys: Vec<&'a str>,
    expected: Vec<i64>,
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
    Ok(if current != change.expected {
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
