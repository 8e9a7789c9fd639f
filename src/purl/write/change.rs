//! Changes the names of one domain that wait, each only from the revision that its author has seen, if any.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use deadpool_postgres::Object;
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use super::statements::{LOCK_DOMAIN, UPDATE_PURLS};
use super::{DomainKey, Parameter, holds, smallint};
use crate::db::batch::Work;
use crate::db::statement::flight;
use crate::db::tx::Tx;
use crate::db::{self, BEGIN, notify};
use crate::purl::known;
use crate::purl::model::{Kind, Purl, Status, TOMBSTONE, Variant};
use crate::purl::row;
use crate::purl::target::Target;
use crate::purl::variant;

/// A change of a name that exists, checked against its domain.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its key.
    pub name_key: String,
    /// The revision that the caller has seen; none: whichever is current.
    pub expected: Option<i64>,
    /// What it becomes.
    pub to: NewState,
    /// Whether it may be a tombstone, which is then one no longer.
    pub restores: bool,
    /// The domain's generation that it was checked at.
    pub generation: i64,
    /// Who changes it.
    pub by: Uuid,
    /// When.
    pub at: OffsetDateTime,
}

/// What a name becomes.
#[derive(Debug, Clone)]
pub enum NewState {
    /// A name in force.
    Live {
        /// How it answers.
        status: Status,
        /// Whether it answers for everything below it.
        kind: Kind,
        /// Where it points; only "temporarily gone" may do without.
        target: Option<Target>,
        /// Other targets.
        variants: Vec<Variant>,
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
    /// Nothing was done: the domain changed after the change was checked against it. Check again.
    DomainChanged,
}

/// Changes as the work of a [`Batcher`](db::batch::Batcher).
#[derive(Debug)]
pub struct Changing;

impl Work for Changing {
    type Key = DomainKey;
    type Item = Change;
    type Verdict = ChangeVerdict;

    const NAME: &'static str = "changes";

    fn tenant(key: &DomainKey) -> i64 {
        key.0
    }

    fn bytes(change: &Change) -> usize {
        let length = |target: &Option<Target>| target.as_ref().map_or(0, |target| target.as_str().len());
        let state = match &change.to {
            NewState::Live { target, variants, .. } => length(target) + variant::bytes(variants),
            NewState::Withdrawn { reason, successor } => {
                reason.as_ref().map_or(0, String::len) + length(successor)
            }
        };
        size_of::<Change>() + change.name_key.len() + state
    }

    fn operations(change: &Change) -> Option<[u64; 2]> {
        let mut name = DefaultHasher::new();
        change.name_key.hash(&mut name);
        Some([name.finish(); 2])
    }

    async fn run(
        &self,
        client: Object,
        keys: &[DomainKey],
        changes: &[Change],
    ) -> Result<Vec<ChangeVerdict>, db::Error> {
        let Some(key) = keys.first() else { return Ok(Vec::new()) };
        let generation = changes.iter().map(|change| change.generation).max().unwrap_or_default();
        let current = || changes.iter().filter(|change| change.generation == generation);
        let columns = Columns::of(current());
        let lock = LOCK_DOMAIN.prepare(&client).await?;
        let update = UPDATE_PURLS.prepare(&client).await?;
        let notify = notify::NOTIFY.prepare(&client).await?;
        let tx = Tx::new(client, "purl_change");
        let client = tx.client();
        let domain: [Parameter<'_>; 2] = [&key.0, &key.1];
        let parameters = columns.parameters(key, &generation);
        let (begun, locked, updated) = flight(3, async {
            tokio::join!(
                client.batch_execute(BEGIN),
                client.query(&lock, &domain),
                client.query(&update, &parameters),
            )
        })
        .await;
        begun?;
        locked?;
        let rows = updated?;
        if !holds(&rows)? {
            tx.rollback().await?;
            return Ok(vec![ChangeVerdict::DomainChanged; changes.len()]);
        }
        let mut by_key: HashMap<&str, &Row> = HashMap::with_capacity(rows.len());
        for found in &rows {
            by_key.insert(found.try_get("item_key")?, found);
        }
        let of = |change: &Change| {
            if change.generation != generation {
                return Ok(ChangeVerdict::DomainChanged);
            }
            verdict(change, by_key.get(change.name_key.as_str()).copied())
        };
        let verdicts: Vec<ChangeVerdict> = changes.iter().map(of).collect::<Result<_, db::Error>>()?;
        let withdrawn = withdrawals(key.1, &verdicts);
        if withdrawn.is_empty() {
            flight(1, tx.commit()).await?;
        } else {
            let last = async |client: &Object| Ok(client.execute(&notify, &[&withdrawn]).await?);
            flight(2, tx.commit_after(last)).await?;
        }
        Ok(verdicts)
    }
}

/// The announcement of what was withdrawn. It goes with the transaction, unlike that of other changes: other
/// processes must know within a second even if this one ends before it could tell them, and withdrawals come
/// one at a time, not in bursts that NOTIFY would serialise.
fn withdrawals(domain_id: i64, verdicts: &[ChangeVerdict]) -> Vec<String> {
    let items = verdicts.iter().filter_map(|verdict| match verdict {
        ChangeVerdict::Changed(purl) if purl.status == TOMBSTONE => {
            Some(known::item(domain_id, &purl.name_key))
        }
        _ => None,
    });
    notify::payloads(known::TOPIC, items)
}

fn verdict(change: &Change, found: Option<&Row>) -> Result<ChangeVerdict, db::Error> {
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

/// The arrays of a change, one a column.
#[derive(Default)]
struct Columns<'a> {
    keys: Vec<&'a str>,
    expected: Vec<Option<i64>>,
    statuses: Vec<i16>,
    kinds: Vec<Option<&'static str>>,
    targets: Vec<Option<&'a str>>,
    hosts: Vec<Option<&'a str>>,
    until: Vec<Option<OffsetDateTime>>,
    reasons: Vec<Option<&'a str>>,
    successors: Vec<Option<&'a str>>,
    at: Vec<OffsetDateTime>,
    by: Vec<Uuid>,
    restores: Vec<bool>,
    variants: Vec<Option<Value>>,
}

impl<'a> Columns<'a> {
    fn of(changes: impl Iterator<Item = &'a Change>) -> Self {
        let mut columns = Self::default();
        for change in changes {
            columns.keys.push(&change.name_key);
            columns.expected.push(change.expected);
            let (code, kind, target, variants, until, reason, successor) = match &change.to {
                NewState::Live { status, kind, target, variants, valid_until } => (
                    status.code(),
                    kind.stored(),
                    target.as_ref(),
                    variant::stored(variants),
                    *valid_until,
                    None,
                    None,
                ),
                NewState::Withdrawn { reason, successor } => {
                    (TOMBSTONE, None, None, None, None, reason.as_deref(), successor.as_ref())
                }
            };
            columns.statuses.push(smallint(code));
            columns.kinds.push(kind);
            columns.targets.push(target.map(Target::as_str));
            columns.hosts.push(target.map(Target::host));
            columns.until.push(until);
            columns.reasons.push(reason);
            columns.successors.push(successor.map(Target::as_str));
            columns.at.push(change.at);
            columns.by.push(change.by);
            columns.restores.push(change.restores);
            columns.variants.push(variants);
        }
        columns
    }

    fn parameters<'b>(
        &'b self,
        (tenant_id, domain_id): &'b DomainKey,
        generation: &'b i64,
    ) -> [Parameter<'b>; 16] {
        [
            tenant_id,
            domain_id,
            generation,
            &self.keys,
            &self.expected,
            &self.statuses,
            &self.kinds,
            &self.targets,
            &self.hosts,
            &self.until,
            &self.reasons,
            &self.successors,
            &self.at,
            &self.by,
            &self.restores,
            &self.variants,
        ]
    }
}
