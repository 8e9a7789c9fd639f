//! The directory of all domains in memory: they are few, and every request needs one. Driven by requests: who
//! finds it unverified for half a second asks for what changed, the others go on until it is a second old. So
//! it needs no notification to be at most a second behind other processes, and a write of this one is seen at
//! once. With the domains come their rules, compiled. It holds no names.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::Type;

use super::model::Domain;
use super::row;
use super::rulebook::{self, Rulebook};
use super::ruleset::Program;
use crate::db::reachability::Reachability;
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};

/// Age at which one request asks whether anything changed.
const VERIFY_AFTER: Duration = Duration::from_millis(500);
/// Age at which no request goes on without having asked: what the design allows other processes' writes.
const TRUSTED: Duration = Duration::from_secs(1);

/// The version of the directory, and the domains that changed since version `$1`; one row in any case.
pub const CHANGES: Statement = Statement {
    name: "purl_directory_changes",
    sql: "/* purl_directory_changes */
SELECT v.version, d.*
FROM domain_directory v
LEFT JOIN (
    SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at AS domain_created_at,
           s.generation, s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status,
           s.cache_seconds, s.rules_revision, s.updated_at AS domain_updated_at
    FROM (SELECT * FROM domain_state WHERE directory_version > $1 OFFSET 0) AS s
    CROSS JOIN LATERAL (
        SELECT * FROM domains WHERE domain_id = s.domain_id AND home_tenant_id = s.tenant_id OFFSET 0) AS d) AS d ON true",
    types: &[Type::INT8],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&CHANGES];

/// The domains as they were at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    domains: Arc<HashMap<String, Arc<Domain>>>,
    rules: Arc<Rulebook>,
    /// Why it could not be verified when it should have been; then it is only the last that was known.
    pub unverified: Option<Arc<db::Error>>,
}

impl Snapshot {
    /// Those among these paths.
    pub fn list(&self, paths: &[&str]) -> Vec<Domain> {
        paths.iter().filter_map(|path| self.domains.get(*path)).map(|domain| Domain::clone(domain)).collect()
    }

    /// The compiled rules of a domain.
    pub fn rules(&self, domain: &Domain) -> Option<Arc<Program>> {
        rulebook::program(&self.rules, domain)
    }

    /// The longest domain among these paths, which come with the shortest first.
    pub fn longest(&self, prefixes: &[&str]) -> Option<&Arc<Domain>> {
        prefixes.iter().rev().find_map(|path| self.domains.get(*path))
    }
}

/// The directory of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Directory(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: RwLock<State>,
    /// Held by the one request that asks.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    domains: Arc<HashMap<String, Arc<Domain>>>,
    rules: Arc<Rulebook>,
    /// The version that `domains` is; none before the first answer.
    version: Option<i64>,
    /// When the last answer was asked for; none if something was written since.
    verified: Option<Instant>,
    /// Number of writes of this process.
    writes: u64,
}

impl State {
    fn age(&self) -> Duration {
        self.verified.map_or(Duration::MAX, |at| at.elapsed())
    }
}

impl Directory {
    /// The domains as they were at most a second ago, and after every write of this process; while the database
    /// is unreachable, as they last were. Fails if it is, and nothing is known yet.
    pub async fn current(&self, db: &Db, reachability: &Reachability) -> Result<Snapshot, db::Error> {
        let age = self.read().age();
        if age < VERIFY_AFTER {
            return Ok(self.snapshot(None));
        }
        // Boxed, as it is rare: what is awaited here is a part of every request.
        Box::pin(self.verified(age, db, reachability)).await
    }

    async fn verified(
        &self,
        age: Duration,
        db: &Db,
        reachability: &Reachability,
    ) -> Result<Snapshot, db::Error> {
        let turn = match self.0.asking.try_lock() {
            Ok(turn) => turn,
            Err(_) if age < TRUSTED => return Ok(self.snapshot(None)),
            // Who asks now may wait for long; the last known directory is there at once.
            Err(_) if reachability.is_lost() && self.read().version.is_some() => {
                return Ok(
                    self.snapshot(Some(db::Error::Unavailable("the directory is not verified".into())))
                );
            }
            Err(_) => self.0.asking.lock().await,
        };
        // Somebody else may have asked meanwhile.
        let asked = if self.read().age() < VERIFY_AFTER { Ok(()) } else { self.ask(db, reachability).await };
        drop(turn);
        match asked {
            Ok(()) => Ok(self.snapshot(None)),
            Err(_) if self.read().age() < TRUSTED => Ok(self.snapshot(None)),
            Err(error @ (db::Error::Unavailable(_) | db::Error::Timeout(_)))
                if self.read().version.is_some() =>
            {
                Ok(self.snapshot(Some(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// A domain was made or changed by this process: no request from now on is answered without asking.
    pub fn written(&self) {
        let mut state = self.write();
        state.writes += 1;
        state.verified = None;
    }

    /// A name was written in this domain, as the writer has read it. If that is news here, as with a domain's
    /// first name or a domain that another process has just made, the next request asks.
    pub fn wrote_in(&self, domain: &Domain) {
        let known = self.read().domains.get(domain.path.as_str()).is_some_and(|known| {
            known.has_names && known.domain_id == domain.domain_id && known.generation == domain.generation
        });
        if !known {
            self.written();
        }
    }

    async fn ask(&self, db: &Db, reachability: &Reachability) -> Result<(), db::Error> {
        loop {
            let (since, writes, begun, known) = {
                let state = self.read();
                (state.version.unwrap_or(-1), state.writes, Instant::now(), Arc::clone(&state.rules))
            };
            let (version, changed) = reachability.ask(changes(db, since)).await?;
            let loaded = reachability.ask(rulebook::load(db, &known, &changed)).await?;
            let mut state = self.write();
            if !loaded.is_empty() {
                let mut rules = Rulebook::clone(&state.rules);
                rules.extend(loaded);
                state.rules = Arc::new(rules);
            }
            if !changed.is_empty() {
                let mut domains = HashMap::clone(&state.domains);
                domains.extend(changed.into_iter().map(|domain| (domain.path.to_string(), Arc::new(domain))));
                state.domains = Arc::new(domains);
            }
            state.version = Some(version);
            // Else something was written while the question was under way, and it must be asked again.
            if state.writes == writes {
                state.verified = Some(begun);
                return Ok(());
            }
        }
    }

    fn snapshot(&self, unverified: Option<db::Error>) -> Snapshot {
        let (domains, rules) = {
            let state = self.read();
            (Arc::clone(&state.domains), Arc::clone(&state.rules))
        };
        Snapshot { domains, rules, unverified: unverified.map(Arc::new) }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn changes(db: &Db, since: i64) -> Result<(i64, Vec<Domain>), db::Error> {
    let client = db.hot().await?;
    let statement = CHANGES.prepare(&client).await?;
    let rows = flight(1, client.query(&statement, &[&since])).await?;
    let first = rows.first().ok_or_else(|| db::Error::Internal("domain_directory has no row".into()))?;
    let version = first.try_get("version")?;
    let is_domain =
        |row: &&tokio_postgres::Row| !matches!(row.try_get::<_, Option<i64>>("domain_id"), Ok(None));
    let domains = rows.iter().filter(is_domain).map(row::domain).collect::<Result<_, _>>()?;
    Ok((version, domains))
}
