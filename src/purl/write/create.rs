//! Makes the names of one domain that wait. A creation may come with an Idempotency-Key: its statements ride in the
//! same flights, and there are none when no key was sent. What an answer is, and how it is sealed, the caller says.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use deadpool_postgres::Object;
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

use super::quota::{self, AllotError, Lack};
use super::statements::{INSERT_PURLS, LOCK_DOMAIN, MARK_HAS_NAMES, SKIPPED};
use super::{DomainKey, Parameter, as_stored, holds, smallint};
use crate::db::batch::Work;
use crate::db::idempotency::batch::{Answer, Keys};
use crate::db::idempotency::{Key, Stored};
use crate::db::statement::flight;
use crate::db::tx::Tx;
use crate::db::{self, BEGIN, Db};
use crate::purl::model::{Kind, Purl, Status, TOMBSTONE, Variant};
use crate::purl::name::Name;
use crate::purl::target::Target;
use crate::purl::variant;

/// How often a batch is tried that lacked room under the quota.
const TRIES: usize = 3;

/// A name to be made.
#[derive(Debug, Clone)]
pub struct NewPurl {
    /// The name.
    pub name: Name,
    /// How it answers.
    pub status: Status,
    /// Whether it answers for everything below it.
    pub kind: Kind,
    /// Where it points; only "temporarily gone" may do without.
    pub target: Option<Target>,
    /// Other targets.
    pub variants: Vec<Variant>,
    /// When it expires.
    pub valid_until: Option<OffsetDateTime>,
}

/// Makes the answer to a key's request and seals it; an error takes the whole batch back.
pub type Seal = dyn Fn(&Key, &Purl) -> Result<Vec<u8>, db::Error> + Send + Sync;

/// An Idempotency-Key, and what is to be stored under it as the answer once the name is made.
pub struct Recorded {
    /// The key.
    pub key: Key,
    /// Makes and seals the answer.
    pub seal: Box<Seal>,
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").finish_non_exhaustive()
    }
}

/// A name to be made, checked against its domain.
#[derive(Debug)]
pub struct Creation {
    /// The name.
    pub new: NewPurl,
    /// Its matching form in the domain.
    pub name_key: String,
    /// The domain's generation that it was checked at.
    pub generation: i64,
    /// Whether the domain was known to have names.
    pub has_names: bool,
    /// Who makes it.
    pub by: Uuid,
    /// When.
    pub at: OffsetDateTime,
    /// The Idempotency-Key that it came with.
    pub once: Option<Recorded>,
}

/// What became of a [`Creation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateVerdict {
    /// It was made.
    Created(Purl),
    /// The name exists, perhaps as a tombstone.
    Taken {
        /// Whether it is a tombstone.
        withdrawn: bool,
    },
    /// Nothing was done: the key has an answer from before.
    Answered(Stored),
    /// Nothing was done: the domain must be allotted names first, see [`quota::allot`].
    Lacking(Lack),
    /// Nothing was done: the domain changed after the name was checked against it. Check again.
    DomainChanged,
}

/// Creations as the work of a [`Batcher`](db::batch::Batcher).
#[derive(Debug)]
pub struct Creating {
    db: Db,
    names_quota: i64,
}

impl Creating {
    /// Under the configured quota of names; 0: none.
    pub(super) fn new(db: Db, names_quota: i64) -> Self {
        Self { db, names_quota }
    }
}

impl Work for Creating {
    type Key = DomainKey;
    type Item = Creation;
    type Verdict = CreateVerdict;

    const NAME: &'static str = "names";

    fn tenant(key: &DomainKey) -> i64 {
        key.0
    }

    fn bytes(creation: &Creation) -> usize {
        let Creation { new, name_key, once, .. } = creation;
        let target = new.target.as_ref().map_or(0, |target| target.as_str().len());
        let once = once.as_ref().map_or(0, |once| once.key.key.len() + 64);
        size_of::<Creation>()
            + new.name.as_str().len()
            + name_key.len()
            + target
            + variant::bytes(&new.variants)
            + once
    }

    fn operations(creation: &Creation) -> Option<[u64; 2]> {
        let mut name = DefaultHasher::new();
        creation.name_key.hash(&mut name);
        let name = name.finish();
        Some([name, creation.once.as_ref().map_or(name, |once| once.key.lock().cast_unsigned())])
    }

    async fn run(
        &self,
        client: Object,
        keys: &[DomainKey],
        items: &[Creation],
    ) -> Result<Vec<CreateVerdict>, db::Error> {
        let Some(key) = keys.first() else { return Ok(Vec::new()) };
        let (mut client, mut room) = (client, true);
        for _ in 0..TRIES {
            let names = match create_batch(client, *key, items, self.names_quota).await? {
                Created::Judged(verdicts) => return Ok(verdicts),
                Created::Lacking(names) => names,
            };
            let lack = Lack { tenant_id: key.0, domain_id: key.1, names };
            match quota::allot(&self.db, self.names_quota, &[lack]).await {
                Ok(()) => client = self.db.hot().await?,
                Err(AllotError::Exceeded(exceeded)) => {
                    room = exceeded.used < exceeded.limit;
                    break;
                }
                Err(AllotError::Db(error)) => return Err(error),
            }
        }
        // There may be room for some of them. Were each to ask for itself, all would be allotted what they lack and
        // come back together, to lack again: so fewer are tried, and some are made.
        if room && items.len() > 1 {
            return Err(db::Error::NoRoomTogether);
        }
        let lack = Lack { tenant_id: key.0, domain_id: key.1, names: 1 };
        Ok(vec![CreateVerdict::Lacking(lack); items.len()])
    }
}

enum Created {
    Judged(Vec<CreateVerdict>),
    /// So many names have no room.
    Lacking(i64),
}

/// Makes names in one transaction. Of two items with one key the first counts; those checked at an earlier generation
/// of the domain than others are to be checked again.
async fn create_batch(
    client: Object,
    key: DomainKey,
    items: &[Creation],
    names_quota: i64,
) -> Result<Created, db::Error> {
    let generation = items.iter().map(|item| item.generation).max().unwrap_or_default();
    let current: Vec<&Creation> = items.iter().filter(|item| item.generation == generation).collect();
    let columns = Columns::of(&current);
    let lock = LOCK_DOMAIN.prepare(&client).await?;
    let insert = INSERT_PURLS.prepare(&client).await?;
    let mark = MARK_HAS_NAMES.prepare(&client).await?;
    let skipped = SKIPPED.prepare(&client).await?;
    let keys = current.iter().map(|item| item.once.as_ref().map(|once| &once.key));
    let keys = Keys::prepare(&client, keys).await?;

    let tx = Tx::new(client, "purl_create");
    let client = tx.client();
    let domain: [Parameter<'_>; 2] = [&key.0, &key.1];
    let parameters = columns.parameters(&key, &generation, &names_quota);
    let (begun, answered, locked, inserted) = flight(3 + keys.statements(), async {
        tokio::join!(
            client.batch_execute(BEGIN),
            keys.find(client),
            client.query(&lock, &domain),
            client.query(&insert, &parameters),
        )
    })
    .await;
    begun?;
    let mut answered = answered?;
    locked?;
    let rows = inserted?;
    if !holds(&rows)? {
        tx.rollback().await?;
        return Ok(Created::Judged(vec![CreateVerdict::DomainChanged; items.len()]));
    }
    if let Some(names) = quota::lacking(&rows)? {
        tx.rollback().await?;
        return Ok(Created::Lacking(names));
    }

    let mut ids = ids_of(&rows)?;
    let mut verdicts = Vec::with_capacity(current.len());
    let mut answers = Vec::new();
    for (place, item) in current.iter().enumerate() {
        let verdict = match (answered.remove(&place), ids.remove(&item.name_key)) {
            (Some(stored), _) => CreateVerdict::Answered(stored),
            (None, None) => CreateVerdict::Taken { withdrawn: false },
            (None, Some(purl_id)) => {
                let purl = item.made(purl_id);
                if let Some(Recorded { key, seal }) = &item.once {
                    answers.push(Answer { key, answer: seal(key, &purl)?, at: item.at });
                }
                CreateVerdict::Created(purl)
            }
        };
        verdicts.push(verdict);
    }
    let taken = |(item, verdict): (&&Creation, &CreateVerdict)| {
        matches!(verdict, CreateVerdict::Taken { .. }).then(|| item.name_key.clone())
    };
    let taken: Vec<String> = current.iter().zip(&verdicts).filter_map(taken).collect();
    let first = current.iter().any(|item| !item.has_names);
    // Rare: the first name of a domain, a name that exists, an Idempotency-Key. Else the second flight is COMMIT alone.
    if taken.is_empty() && !first && answers.is_empty() {
        flight(1, tx.commit()).await?;
    } else {
        let last = async |client: &Object| {
            let existing: [Parameter<'_>; 3] = [&key.0, &key.1, &taken];
            let (marked, existing, stored) = tokio::join!(
                client.execute(&mark, &domain),
                client.query(&skipped, &existing),
                keys.store(client, &answers),
            );
            marked?;
            stored?;
            Ok(existing?)
        };
        let withdrawn = withdrawn_keys(&flight(4, tx.commit_after(last)).await?)?;
        for (item, verdict) in current.iter().zip(&mut verdicts) {
            if matches!(verdict, CreateVerdict::Taken { .. }) {
                *verdict = CreateVerdict::Taken { withdrawn: withdrawn.contains(&item.name_key) };
            }
        }
    }
    let mut verdicts = verdicts.into_iter();
    let of = |item: &Creation| {
        let current = (item.generation == generation).then(|| verdicts.next()).flatten();
        current.unwrap_or(CreateVerdict::DomainChanged)
    };
    Ok(Created::Judged(items.iter().map(of).collect()))
}

impl Creation {
    /// The name as its row has it.
    fn made(&self, purl_id: i64) -> Purl {
        let (NewPurl { name, status, kind, target, variants, valid_until }, at) =
            (&self.new, as_stored(self.at));
        Purl {
            purl_id,
            name_key: self.name_key.clone(),
            name: name.as_str().to_owned(),
            revision: 1,
            status: status.code(),
            kind: *kind,
            target: target.as_ref().map(|target| target.as_str().to_owned()),
            variants: variants.as_slice().into(),
            valid_until: valid_until.map(as_stored),
            tombstone_reason: None,
            successor: None,
            created_at: at,
            updated_at: at,
        }
    }
}

/// The ids of the names that were made. RETURNING's order means nothing.
fn ids_of(rows: &[Row]) -> Result<HashMap<String, i64>, db::Error> {
    let mut ids = HashMap::with_capacity(rows.len());
    for row in rows {
        if let Some(purl_id) = row.try_get("purl_id")? {
            ids.insert(row.try_get("name_key")?, purl_id);
        }
    }
    Ok(ids)
}

fn withdrawn_keys(rows: &[Row]) -> Result<HashSet<String>, db::Error> {
    let mut keys = HashSet::new();
    for row in rows {
        if row.try_get::<_, i16>("status")? == smallint(TOMBSTONE) {
            keys.insert(row.try_get("name_key")?);
        }
    }
    Ok(keys)
}

/// The arrays of a creation, one a column.
#[derive(Default)]
struct Columns<'a> {
    keys: Vec<&'a str>,
    names: Vec<&'a str>,
    statuses: Vec<i16>,
    kinds: Vec<Option<&'static str>>,
    targets: Vec<Option<&'a str>>,
    hosts: Vec<Option<&'a str>>,
    until: Vec<Option<OffsetDateTime>>,
    at: Vec<OffsetDateTime>,
    by: Vec<Uuid>,
    once_tenants: Vec<Option<i64>>,
    once_callers: Vec<Option<Uuid>>,
    once_keys: Vec<Option<&'a str>>,
    variants: Vec<Option<Value>>,
}

impl<'a> Columns<'a> {
    fn of(items: &[&'a Creation]) -> Self {
        let mut columns = Self::default();
        for item in items {
            let (new, once) = (&item.new, item.once.as_ref().map(|once| &once.key));
            columns.keys.push(&item.name_key);
            columns.names.push(new.name.as_str());
            columns.statuses.push(smallint(new.status.code()));
            columns.kinds.push(new.kind.stored());
            columns.targets.push(new.target.as_ref().map(Target::as_str));
            columns.hosts.push(new.target.as_ref().map(Target::host));
            columns.until.push(new.valid_until);
            columns.at.push(item.at);
            columns.by.push(item.by);
            columns.once_tenants.push(once.map(|key| key.tenant_id));
            columns.once_callers.push(once.map(|key| key.api_key_id));
            columns.once_keys.push(once.map(|key| key.key.as_str()));
            columns.variants.push(variant::stored(&new.variants));
        }
        columns
    }

    fn parameters<'b>(
        &'b self,
        (tenant_id, domain_id): &'b DomainKey,
        generation: &'b i64,
        names_quota: &'b i64,
    ) -> [Parameter<'b>; 17] {
        [
            tenant_id,
            domain_id,
            generation,
            &self.keys,
            &self.names,
            &self.statuses,
            &self.kinds,
            &self.targets,
            &self.hosts,
            &self.until,
            &self.at,
            &self.by,
            &self.once_tenants,
            &self.once_callers,
            &self.once_keys,
            names_quota,
            &self.variants,
        ]
    }
}
