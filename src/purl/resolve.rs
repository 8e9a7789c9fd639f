//! Finds what answers a request: the domain in memory, and those of its names that could match, from memory or
//! in one probe of the database. Which of them answers is decided by `rules::choose`. While the database is
//! unreachable it goes on with what it last knew, and never takes what it does not know for absent.

use std::sync::Arc;

use time::OffsetDateTime;
use tokio_postgres::types::Type;

use super::announce::Announcer;
use super::directory::Directory;
use super::known::Known;
use super::lookup::Lookups;
use super::model::{Domain, Purl};
use super::raw_path::RawPath;
use super::row;
use super::ruleset::Program;
use crate::config;
use crate::db::cache::Lookup;
use crate::db::notify::Hearing;
use crate::db::reachability::Reachability;
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};

/// How often rules may have a request begin again, as with Apache.
pub const JUMPS: usize = 10;

/// The domains among some paths, the longest last. `OFFSET 0` has each looked up by its key, whatever the statistics say.
pub const DIRECTORY: Statement = Statement {
    name: "purl_directory",
    sql: "/* purl_directory */
SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at AS domain_created_at,
       s.generation, s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status, s.cache_seconds,
       s.rules_revision, s.updated_at AS domain_updated_at
FROM (SELECT DISTINCT path FROM unnest($1) AS i (path)) AS i
CROSS JOIN LATERAL (SELECT * FROM domains WHERE path = i.path OFFSET 0) AS d
CROSS JOIN LATERAL (
    SELECT * FROM domain_state WHERE tenant_id = d.home_tenant_id AND domain_id = d.domain_id OFFSET 0) AS s
ORDER BY octet_length(d.path)",
    types: &[Type::TEXT_ARRAY],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&DIRECTORY];

/// The domain that a request reaches, with those of its names that could answer.
#[derive(Debug)]
pub struct Found {
    /// The longest domain whose path is a prefix of the request.
    pub domain: Arc<Domain>,
    /// Names with one of the candidate keys.
    pub names: Vec<Arc<Purl>>,
    /// The domain's rules, which answer where none of the names does.
    pub rules: Option<Arc<Program>>,
    /// Why some of this could not be verified. If none of the names answers, that is the answer: not 404.
    pub unverified: Option<Arc<db::Error>>,
}

/// Resolution of this process, with what it remembers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Resolver {
    db: Db,
    lookups: Lookups,
    known: Arc<Known>,
    reachability: Arc<Reachability>,
    /// The domains; to be told of every write to them.
    pub directory: Directory,
    /// To be told of every write to a name.
    pub announcer: Announcer,
}

impl Resolver {
    /// A resolver that remembers nothing yet.
    pub fn new(db: Db, lookups: Lookups, settings: &config::Cache, hearing: Hearing) -> Self {
        let known = Arc::new(Known::new(settings, hearing));
        Self {
            db,
            lookups,
            announcer: Announcer::new(Arc::clone(&known)),
            known,
            reachability: Arc::default(),
            directory: Directory::default(),
        }
    }

    /// Look-ups under way.
    pub fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// What this process remembers of names.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The domains among these paths as they were at most a second ago, the longest last; `None` while that cannot be
    /// verified.
    pub async fn domains(&self, paths: &[&str]) -> Option<Vec<Domain>> {
        let directory = self.directory.current(&self.db, &self.reachability).await.ok()?;
        directory.unverified.is_none().then(|| directory.list(paths))
    }

    /// Looks a request up; `None` where no domain covers it.
    pub async fn find(
        &self,
        request: &RawPath<'_>,
        now: OffsetDateTime,
    ) -> Result<Option<Found>, Arc<db::Error>> {
        let directory = self.directory.current(&self.db, &self.reachability).await?;
        let unverified = directory.unverified.clone();
        let Some(domain) = directory.longest(&request.domain_prefixes()).cloned() else {
            return unverified.map_or(Ok(None), Err);
        };
        let rules = directory.rules(&domain);
        if !domain.has_names {
            return Ok(Some(Found { domain, names: Vec::new(), rules, unverified }));
        }
        let own = if domain.path.is_root() { 0 } else { domain.path.as_str().len() + 1 };
        let key = |path: &str| path.get(own..).filter(|name| !name.is_empty()).map(|name| domain.fold(name));
        let exact = request.exact().and_then(key);
        let recall = |key: &str| self.known.find(domain.domain_id, key, now);
        // The common case: whatever else could match, the exact name comes first.
        if let Some(Lookup::Fresh(Some(purl))) = exact.as_deref().map(recall) {
            return Ok(Some(Found { domain, names: vec![purl], rules, unverified }));
        }
        let candidates: Vec<String> = request.name_candidates().iter().filter_map(|path| key(path)).collect();
        let (mut names, mut missing) = (Vec::new(), Vec::new());
        for key in &candidates {
            match recall(key) {
                Lookup::Fresh(found) => names.extend(found),
                old => missing.push((key.as_str(), old)),
            }
        }
        if missing.is_empty() {
            return Ok(Some(Found { domain, names, rules, unverified }));
        }
        let keys: Vec<&str> = missing.iter().map(|(key, _)| *key).collect();
        match Box::pin(self.reachability.ask(self.probe(&domain, &keys))).await {
            Ok(read) => {
                names.extend(read);
                Ok(Some(Found { domain, names, rules, unverified }))
            }
            Err(error @ (db::Error::Unavailable(_) | db::Error::Timeout(_))) => {
                remembered((domain, rules), names, exact.as_deref(), missing, error)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads names, and remembers what was found and what was not.
    async fn probe(&self, domain: &Domain, keys: &[&str]) -> Result<Vec<Arc<Purl>>, db::Error> {
        // Before the read, so that a write that overlaps it is not remembered as it was.
        let tickets: Vec<_> = keys.iter().map(|key| self.known.tickets(domain.domain_id, key)).collect();
        let wanted = keys.iter().map(|key| (*key).to_owned()).collect();
        let read = self.lookups.list(domain, wanted).await?;
        for (key, tickets) in keys.iter().zip(&tickets) {
            let found = read.iter().find(|purl| purl.name_key == *key);
            self.known.remember(domain.domain_id, key, found, tickets);
        }
        Ok(read)
    }
}

/// The answer without the database. The exact name comes first, so it is enough; a prefix answers only if
/// everything that would come before it is known.
fn remembered(
    (domain, rules): (Arc<Domain>, Option<Arc<Program>>),
    mut names: Vec<Arc<Purl>>,
    exact: Option<&str>,
    missing: Vec<(&str, Lookup<Option<Arc<Purl>>>)>,
    error: db::Error,
) -> Result<Option<Found>, Arc<db::Error>> {
    let error = Arc::new(error);
    let mut complete = true;
    for (key, old) in missing {
        match old {
            Lookup::Stale(Some(purl)) if exact == Some(key) => {
                return Ok(Some(Found { domain, names: vec![purl], rules, unverified: Some(error) }));
            }
            Lookup::Stale(found) | Lookup::Fresh(found) => names.extend(found),
            Lookup::Absent => complete = false,
        }
    }
    if !complete {
        return Err(error);
    }
    Ok(Some(Found { domain, names, rules, unverified: Some(error) }))
}

/// The registered domains among these paths, the longest last.
pub async fn list_domains(db: &Db, paths: &[&str]) -> Result<Vec<Domain>, db::Error> {
    let client = db.hot().await?;
    let statement = DIRECTORY.prepare(&client).await?;
    let rows = flight(1, client.query(&statement, &[&paths])).await?;
    rows.iter().map(row::domain).collect()
}
