//! What a change of rules would do, before it is done: rules that can never answer, answers that become others, paths that lead
//! round in a circle. It is asked of the requests that checks state and that the rules themselves are about; what nobody
//! asks, it cannot tell.

use std::sync::Arc;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::checks::Check;
use super::judge::{Broken, Judge};
use super::model::Domain;
use super::ruleset::{self, Action, Difference, Fault, Program, Rule, Sample};
use super::store::check_sets;
use super::target::OwnAddress;
use crate::db;

/// Most rules of which it is asked whether they lead round.
const MAX_REWRITES: usize = 200;

/// Rules that are to be put in force, compiled.
#[derive(Debug)]
pub struct Preview {
    /// The rules.
    pub rules: Vec<Rule>,
    program: Arc<Program>,
}

/// What a change would do.
#[derive(Debug, Default)]
pub struct Told {
    /// Places of rules that can never answer, each with that of one that takes what it is about.
    pub shadowed: Vec<(usize, usize)>,
    /// Places of rules that lead round in a circle, with a path that does.
    pub round: Vec<(usize, String)>,
    /// Requests that are answered otherwise.
    pub differences: Vec<Difference>,
    /// Whether there are more of them.
    pub more_differences: bool,
    /// Checks that would be broken.
    pub broken: Vec<Broken>,
}

impl Preview {
    /// Compiles rules for a domain, beside the requests; or every fault.
    pub async fn compile(
        domain: &Domain,
        rules: Vec<Rule>,
        own: OwnAddress,
    ) -> Result<Result<Self, Vec<Fault>>, db::Error> {
        let path = domain.path.clone();
        let compiling = tokio::task::spawn_blocking(move || {
            let program = Program::compile(rules.clone(), &path, Some(&own))?;
            Ok(Self { rules, program: Arc::new(program) })
        });
        compiling.await.map_err(|error| db::Error::Internal(Box::new(error)))
    }
}

/// Compares the rules in force with those that are to be: what can never answer, and what is answered otherwise.
pub async fn compare(
    connection: &mut PgConnection,
    domain: &Domain,
    current: Vec<Rule>,
    preview: &Preview,
) -> Result<Told, db::Error> {
    let stated: Vec<Check> = check_sets::list_depending(connection, domain.domain_id)
        .await?
        .into_iter()
        .flat_map(|set| set.checks)
        .collect();
    let (path, rules, after) = (domain.path.clone(), preview.rules.clone(), Arc::clone(&preview.program));
    let policy = domain.policies.query;
    let comparing = tokio::task::spawn_blocking(move || {
        let asked: Vec<Sample> = stated
            .iter()
            .map(sample)
            .chain(ruleset::samples_of(&rules, &path))
            .chain(ruleset::samples_of(&current, &path))
            .collect();
        let shadowed = ruleset::find_shadowed(&rules, &path);
        let Ok(before) = Program::compile(current, &path, None) else {
            return Told { shadowed, ..Told::default() };
        };
        let (differences, more_differences) = ruleset::differences(&before, &after, asked, policy);
        Told { shadowed, differences, more_differences, ..Told::default() }
    });
    comparing.await.map_err(|error| db::Error::Internal(Box::new(error)))
}

/// Rules that rewrite a path and lead round in a circle with it, as the transaction sees the rules of all domains.
pub async fn find_round(
    connection: &mut PgConnection,
    domain: &Domain,
    rules: &[Rule],
    now: OffsetDateTime,
) -> Result<Vec<(usize, String)>, db::Error> {
    let rewrites = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| matches!(rule.action, Action::Rewrite(_)))
        .take(MAX_REWRITES);
    let asked: Vec<(usize, Check)> = rewrites
        .flat_map(|(place, rule)| {
            ruleset::samples_of([rule], &domain.path).into_iter().map(move |sample| (place, sample))
        })
        .map(|(place, sample)| (place, check(sample)))
        .collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut judge = Judge::new(connection, now).await?;
    let mut found: Vec<(usize, String)> = Vec::new();
    for (place, check) in asked {
        if found.last().is_none_or(|(known, _)| *known != place) && judge.goes_round(&check).await? {
            found.push((place, check.from));
        }
    }
    Ok(found)
}

fn sample(check: &Check) -> Sample {
    let (path, query) = check.asked();
    Sample { path: path.to_owned(), query: query.map(str::to_owned), headers: check.headers.clone() }
}

fn check(sample: Sample) -> Check {
    let query = sample.query.map_or_else(String::new, |query| format!("?{query}"));
    Check {
        from: format!("{}{query}", sample.path),
        headers: sample.headers,
        status: None,
        to: None,
        origin: None,
    }
}
