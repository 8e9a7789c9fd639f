//! What a request would be answered by the state that a transaction sees, before it is committed: so a change is judged by the
//! answers that are stated of it. It answers as resolution does (`rules`, `ruleset`, `location`), reads names as they are stored,
//! and notes which domains an answer went through.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::checks::{Check, Given};
use super::location;
use super::model::{Domain, State};
use super::negotiation;
use super::raw_path::RawPath;
use super::resolve::JUMPS;
use super::rules;
use super::ruleset::{Outcome, Program, Request};
use super::store::{check_sets, domains, names, rule_sets};
use crate::db;

/// What is answered where rules lead from path to path without an end.
const GOES_ROUND: u16 = 508;
/// What is answered where nothing else is.
const UNKNOWN: Given = Given { status: 404, location: None };

/// A check that is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Path of the domain whose check it is.
    pub domain: String,
    /// The check.
    pub check: Check,
    /// What is, or would be, answered.
    pub given: Given,
}

/// Answers requests from inside a transaction.
pub struct Judge<'c> {
    connection: &'c mut PgConnection,
    now: OffsetDateTime,
    domains: HashMap<String, Arc<Domain>>,
    programs: HashMap<i64, Option<Arc<Program>>>,
}

impl<'c> Judge<'c> {
    /// Sees what the transaction of the connection sees now.
    pub async fn new(connection: &'c mut PgConnection, now: OffsetDateTime) -> Result<Self, db::Error> {
        let domains = domains::list_all(connection).await?;
        let domains = domains.into_iter().map(|domain| (domain.path.to_string(), Arc::new(domain))).collect();
        Ok(Self { connection, now, domains, programs: HashMap::new() })
    }

    /// Asks every check that depends on a domain; those that are not kept. What the others depend on is noted anew.
    pub async fn judge(&mut self, domain_id: i64) -> Result<Vec<Broken>, db::Error> {
        let mut broken = Vec::new();
        for set in check_sets::list_depending(self.connection, domain_id).await? {
            let (found, depends_on) = self.ask(&set.path.to_string(), &set.checks).await?;
            broken.extend(found);
            let depends_on: Vec<i64> =
                depends_on.into_iter().chain([set.domain_id]).collect::<BTreeSet<_>>().into_iter().collect();
            if depends_on != set.depends_on {
                check_sets::update_dependencies(self.connection, &set, &depends_on).await?;
            }
        }
        Ok(broken)
    }

    /// Asks the checks of the domain at a path: those that are not kept, and every domain that an answer went through.
    pub async fn ask(
        &mut self,
        domain: &str,
        checks: &[Check],
    ) -> Result<(Vec<Broken>, BTreeSet<i64>), db::Error> {
        let (mut broken, mut through) = (Vec::new(), BTreeSet::new());
        for check in checks {
            let given = self.answer(check, &mut through).await?;
            if !check.is_kept(&given) {
                broken.push(Broken { domain: domain.to_owned(), check: check.clone(), given });
            }
        }
        Ok((broken, through))
    }

    /// Whether rules lead a check's request round until they may no more.
    pub async fn goes_round(&mut self, check: &Check) -> Result<bool, db::Error> {
        Ok(self.answer(check, &mut BTreeSet::new()).await?.status == GOES_ROUND)
    }

    /// What a check's request is answered.
    async fn answer(&mut self, check: &Check, through: &mut BTreeSet<i64>) -> Result<Given, db::Error> {
        let (path, query) = check.asked();
        let (mut path, mut query) = (path.to_owned(), query.map(str::to_owned));
        for _ in 0..=JUMPS {
            let raw = RawPath::parse(&path);
            let prefixes = raw.domain_prefixes();
            let Some(domain) = prefixes.iter().rev().find_map(|path| self.domains.get(*path)).cloned() else {
                return Ok(UNKNOWN);
            };
            through.insert(domain.domain_id);
            if let Some(given) = self.by_name(&domain, &raw, query.as_deref(), check).await? {
                return Ok(given);
            }
            let Some(program) = self.program(&domain).await? else { return Ok(UNKNOWN) };
            let header = |name: &str| check.header(name).as_bytes().to_vec();
            let request = Request { path: &path, query: query.as_deref(), header: &header };
            match program.answer(&request, domain.policies.query) {
                Some(Outcome::Answered(answer)) => {
                    return Ok(Given { status: answer.status, location: answer.location });
                }
                Some(Outcome::Again(again)) => (path, query) = (again.path, again.query),
                None => return Ok(UNKNOWN),
            }
        }
        Ok(Given { status: GOES_ROUND, location: None })
    }

    async fn by_name(
        &mut self,
        domain: &Domain,
        path: &RawPath<'_>,
        query: Option<&str>,
        check: &Check,
    ) -> Result<Option<Given>, db::Error> {
        if !domain.has_names {
            return Ok(None);
        }
        let own = if domain.path.is_root() { 0 } else { domain.path.as_str().len() + 1 };
        let key =
            |path: &String| path.get(own..).filter(|name| !name.is_empty()).map(|name| domain.fold(name));
        let keys: Vec<String> = path.name_candidates().iter().filter_map(key).collect();
        let found = names::list_purls(self.connection, domain, &keys).await?;
        let Some(matched) = rules::choose(path, domain, &found, self.now) else { return Ok(None) };
        let purl = matched.purl();
        Ok(Some(match purl.state(self.now) {
            State::Live => {
                let sent = |name| Some(check.header(name));
                let target = purl.target.as_deref();
                let variant =
                    negotiation::choose(&purl.variants, target, sent("accept"), sent("accept-language"));
                let location = location::of_match(&matched, variant, query, domain.policies.query);
                Given { status: purl.status, location }
            }
            State::TemporarilyGone => Given { status: 404, location: None },
            State::Expired | State::Withdrawn => Given { status: 410, location: None },
        }))
    }

    async fn program(&mut self, domain: &Domain) -> Result<Option<Arc<Program>>, db::Error> {
        if let Some(known) = self.programs.get(&domain.domain_id) {
            return Ok(known.clone());
        }
        let rules = rule_sets::find_rules(self.connection, domain).await?;
        // What does not compile here is not in force anywhere either.
        let path = domain.path.clone();
        let compiling = tokio::task::spawn_blocking(move || Program::compile(rules, &path, None).ok());
        let program = compiling.await.map_err(|error| db::Error::Internal(Box::new(error)))?.map(Arc::new);
        self.programs.insert(domain.domain_id, program.clone());
        Ok(program)
    }
}
