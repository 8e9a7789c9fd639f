//! Writes names. What waits for one domain is written in one transaction, under the domain's lock, with a verdict for
//! each item: `create` makes names, `change` changes them, `quota` sees that a tenant has no more than it may. It
//! does not validate names or targets, which come as checked types, and it does not decide who may write.

mod change;
mod create;
pub mod quota;
mod statements;

use time::OffsetDateTime;
use time::macros::datetime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

pub use change::{Change, ChangeVerdict, Changing, NewState};
pub use create::{CreateVerdict, Creating, Creation, NewPurl, Recorded, Seal};

use super::model::Domain;
use crate::db::batch::{Batcher, Bounds, Stats, Turns};
use crate::db::statement::Statement;
use crate::db::{self, Db};
use crate::ids::Ids;
use crate::lifecycle::Tasks;

type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Every hot statement here, for the census.
pub fn statements() -> impl Iterator<Item = &'static Statement> {
    statements::STATEMENTS.iter().chain(quota::STATEMENTS).copied()
}

/// The lock row: home tenant and domain.
pub type DomainKey = (i64, i64);

/// Names on their way into the database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Writer {
    creating: Batcher<Creating>,
    changing: Batcher<Changing>,
}

impl Writer {
    /// Empty queues. `names_quota` is the configured one; 0: none.
    pub fn new(db: &Db, ids: &Ids, tasks: &Tasks, turns: &Turns, bounds: Bounds, names_quota: i64) -> Self {
        let (db, ids, tasks, turns) = (|| db.clone(), || ids.clone(), || tasks.clone(), || turns.clone());
        let creating = Creating::new(db(), names_quota);
        Self {
            creating: Batcher::new(creating, db(), ids(), tasks(), turns(), bounds),
            changing: Batcher::new(Changing, db(), ids(), tasks(), turns(), bounds),
        }
    }

    /// Makes a name in a domain, as that was read when the name was checked.
    pub async fn create(&self, domain: &Domain, creation: Creation) -> Result<CreateVerdict, db::Error> {
        self.creating.submit(&key(domain), creation).await
    }

    /// Changes a name of a domain, as that was read when the change was checked.
    pub async fn change(&self, domain: &Domain, change: Change) -> Result<ChangeVerdict, db::Error> {
        self.changing.submit(&key(domain), change).await
    }

    /// What waits and what was done, for people.
    pub fn stats(&self, tenant_id: Option<i64>) -> [Stats; 2] {
        [self.creating.stats(tenant_id), self.changing.stats(tenant_id)]
    }

    /// Sets the gauges.
    pub fn export(&self) {
        self.creating.export();
        self.changing.export();
    }
}

fn key(domain: &Domain) -> DomainKey {
    (domain.home_tenant_id, domain.domain_id)
}

/// Whether the domain was as its items took it to be: every row of a guarded statement says so, and no row at all means
/// that it is gone.
fn holds(rows: &[Row]) -> Result<bool, tokio_postgres::Error> {
    rows.first().map_or(Ok(false), |first| first.try_get("holds"))
}

/// HTTP status codes fit.
fn smallint(code: u16) -> i16 {
    i16::try_from(code).unwrap_or(i16::MAX)
}

/// An instant as PostgreSQL keeps it: whole microseconds from its epoch.
fn as_stored(at: OffsetDateTime) -> OffsetDateTime {
    const EPOCH: OffsetDateTime = datetime!(2000-01-01 00:00 UTC);
    let micros = i64::try_from((at - EPOCH).whole_microseconds()).unwrap_or(i64::MAX);
    EPOCH.checked_add(time::Duration::microseconds(micros)).unwrap_or(at)
}
