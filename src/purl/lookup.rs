//! Reads names by their keys. What is asked for while a look-up is under way goes into the next one, together: a
//! statement for a hundred names costs the database little more than one for a single name. Nothing is remembered
//! here (`known`) and nothing decided (`resolve`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::types::Type;

use super::model::{Domain, Purl};
use super::row;
use super::write::DomainKey;
use crate::db::batch::{Batcher, Bounds, Stats, Turns, Work};
use crate::db::reachability::PATIENCE;
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};
use crate::ids::Ids;
use crate::lifecycle::Tasks;

/// Look-ups that are under way at once.
const LANES: usize = 4;

/// Names with these keys. `$1` home tenants, `$2` domains, `$3` keys. `OFFSET 0` keeps it a look-up in the primary key
/// for each, whatever the planner believes.
pub const PROBE: Statement = Statement {
    name: "purl_probe",
    sql: "/* purl_probe */
SELECT i.place, p.*
FROM unnest($1, $2, $3) WITH ORDINALITY AS i (tenant_id, domain_id, name_key, place)
CROSS JOIN LATERAL (
    SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
           created_at, updated_at
    FROM purls WHERE tenant_id = i.tenant_id AND domain_id = i.domain_id AND name_key = i.name_key OFFSET 0) AS p",
    types: &[Type::INT8_ARRAY, Type::INT8_ARRAY, Type::TEXT_ARRAY],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&PROBE];

/// Reads names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lookups {
    batcher: Batcher<Probing>,
    next: Arc<AtomicUsize>,
}

/// Keys of names of one domain.
#[derive(Debug)]
struct Wanted {
    domain: DomainKey,
    keys: Vec<String>,
}

#[derive(Debug)]
struct Probing;

impl Lookups {
    /// Nothing under way.
    pub fn new(db: &Db, ids: &Ids, tasks: &Tasks, bounds: Bounds) -> Self {
        // Turns of their own: who reads does not wait behind writes.
        let turns = Turns::new(LANES, LANES);
        let batcher = Batcher::new(Probing, db.clone(), ids.clone(), tasks.clone(), turns, bounds);
        Self { batcher, next: Arc::default() }
    }

    /// Those of these names that there are.
    pub async fn list(&self, domain: &Domain, keys: Vec<String>) -> Result<Vec<Arc<Purl>>, db::Error> {
        let lane = self.next.fetch_add(1, Ordering::Relaxed) % LANES;
        let domain = (domain.home_tenant_id, domain.domain_id);
        self.batcher.submit(&lane, Wanted { domain, keys }).await
    }

    /// What waits and what was done, for people.
    pub fn stats(&self) -> Stats {
        self.batcher.stats(None)
    }

    /// Sets the gauges.
    pub fn export(&self) {
        self.batcher.export();
    }
}

impl Work for Probing {
    type Key = usize;
    type Item = Wanted;
    type Verdict = Vec<Arc<Purl>>;

    const NAME: &'static str = "lookups";

    /// Of nobody: what is public has no tenant to be fair to.
    fn tenant(_: &usize) -> i64 {
        0
    }

    fn bytes(wanted: &Wanted) -> usize {
        size_of::<Wanted>() + wanted.keys.iter().map(|key| size_of::<String>() + key.len()).sum::<usize>()
    }

    fn operations(_: &Wanted) -> Option<[u64; 2]> {
        None
    }

    async fn run(
        &self,
        client: Object,
        _: &[usize],
        items: &[Wanted],
    ) -> Result<Vec<Vec<Arc<Purl>>>, db::Error> {
        // Many may want the same name at the moment at which it is forgotten.
        let mut askers: HashMap<(DomainKey, &str), Vec<usize>> = HashMap::with_capacity(items.len());
        for (place, item) in items.iter().enumerate() {
            for key in &item.keys {
                askers.entry((item.domain, key)).or_default().push(place);
            }
        }
        let (wanted, askers): (Vec<_>, Vec<_>) = askers.into_iter().unzip();
        let tenants: Vec<i64> = wanted.iter().map(|((tenant_id, _), _)| *tenant_id).collect();
        let domains: Vec<i64> = wanted.iter().map(|((_, domain_id), _)| *domain_id).collect();
        let keys: Vec<&str> = wanted.iter().map(|(_, key)| *key).collect();
        let asking = async {
            let statement = PROBE.prepare(&client).await?;
            Ok::<_, db::Error>(flight(1, client.query(&statement, &[&tenants, &domains, &keys])).await?)
        };
        let rows = match tokio::time::timeout(PATIENCE, asking).await {
            Ok(answer) => answer?,
            Err(silence) => {
                // Nobody waits for it any more, and on a connection that is dead the next ones would wait as long.
                drop(Object::take(client));
                return Err(db::Error::Timeout(Box::new(silence)));
            }
        };
        let mut found = vec![Vec::new(); items.len()];
        for row in &rows {
            let purl = Arc::new(row::purl(row)?);
            let place: i64 = row.try_get("place")?;
            for asker in
                usize::try_from(place - 1).ok().and_then(|place| askers.get(place)).into_iter().flatten()
            {
                found[*asker].push(Arc::clone(&purl));
            }
        }
        Ok(found)
    }
}
