//! An import of OBO files from end to end: read all, compile all, ask for every answer that the files state, and only then
//! put the rules in force, all at once. The old ones answer until then.

use std::collections::HashSet;

use super::document::{self, Check, Document};
use super::{DOMAIN, Drawn, NO_FILE, catch_all, merge, merge_checks, rules};
use crate::db;
use crate::db::audit::Actor;
use crate::purl::checks::{self, MAX_CHECKS};
use crate::purl::domain_path::DomainPath;
use crate::purl::import::rule_files::{DomainError, Finding, Ground};
use crate::purl::model::{Domain, QueryPolicy};
use crate::purl::rule_change::{ChangeError, change_rules};
use crate::purl::ruleset::{Fault, MAX_RULES, Outcome, Program, Request, Rule};
use crate::purl::store::{check_sets, rule_sets};

/// A file, read.
#[derive(Debug, Clone)]
pub struct Source {
    /// As it is called in what is said about it.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Rules of each file, in the order of the files.
    pub files: Vec<(String, usize)>,
    /// Rules of the whole domain, those of other files included.
    pub rules: usize,
    /// Answers that the files state, all of which were right.
    pub checks: usize,
    /// What has no effect.
    pub warnings: Vec<Finding>,
    /// Whether the domain had to be made.
    pub made_domain: bool,
    /// Whether anything is now otherwise than before.
    pub changed: bool,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Files are wrong; every fault of all of them.
    #[error("{} faults; nothing was imported", .0.len())]
    Faults(Vec<Finding>),
    /// Checks of this domain or of others would be broken.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// There is no domain to import into.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

/// An import that is to be done.
pub struct Import<'a> {
    /// Where to.
    pub ground: Ground<'a>,
    /// What becomes of paths that nothing answers.
    pub catch_all: CatchAll,
}

/// What becomes of the paths of the domain that nothing answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatchAll {
    /// What became of them before.
    Keep,
    /// They lead to another server: this address with what follows the domain's slash behind it.
    To(String),
    /// They are 404.
    None,
}

/// A file with its rules.
struct Drafted {
    file: String,
    document: Document,
    rules: Vec<Drawn>,
}

impl Import<'_> {
    /// Imports files. All or nothing.
    pub async fn files(&self, sources: &[Source]) -> Result<Report, ImportError> {
        let (drafts, warnings) = self.draft(sources).map_err(ImportError::Faults)?;
        let last = self.last_rule().map_err(ImportError::Faults)?;
        let mut tx = self.ground.db.begin().await?;
        let path = DomainPath::from_stored(DOMAIN.to_owned());
        let (domain, made_domain) = self.ground.domain(&mut tx, &path).await?;
        let current = rule_sets::find_rules(&mut tx, &domain).await?;
        let mut names: HashSet<&str> = drafts.iter().map(|draft| draft.document.name.as_str()).collect();
        let mut imported: Vec<Rule> =
            drafts.iter().flat_map(|draft| draft.rules.iter().map(|drawn| drawn.rule.clone())).collect();
        if self.catch_all != CatchAll::Keep {
            names.insert(NO_FILE);
        }
        imported.extend(last);
        let merged = merge(&current, &names, imported);
        let checks = check(&drafts, &domain, &merged).map_err(ImportError::Faults)?;
        let stated = stated(&drafts, &domain).map_err(ImportError::Faults)?;
        let set = check_sets::get_checks(&mut tx, &domain).await?;
        let kept = merge_checks(&set.checks, &names, stated);
        if kept.len() > MAX_CHECKS {
            let detail = format!("would have {} checks; at most {MAX_CHECKS} are allowed", kept.len());
            return Err(ImportError::Faults(vec![Finding { file: DOMAIN.to_owned(), line: None, detail }]));
        }
        let (changed, now) = (merged != current || kept != set.checks, self.ground.clock.now());
        if kept != set.checks {
            // Judged below, together with the rules.
            let own = [domain.domain_id];
            check_sets::replace_checks(&mut tx, Actor::CommandLine, &domain, &kept, &own, now).await?;
        }
        if changed {
            change_rules(&mut tx, Actor::CommandLine, &domain, &merged, now).await?;
        }
        if self.ground.dry_run {
            tx.rollback().await.map_err(db::Error::from)?;
        } else {
            db::commit(tx).await?;
        }
        let files = drafts.into_iter().map(|draft| (draft.file, draft.rules.len())).collect();
        Ok(Report { files, rules: merged.len(), checks, warnings, made_domain, changed })
    }

    /// Reads and compiles each file by itself, so that what is wrong has a line.
    fn draft(&self, sources: &[Source]) -> Result<(Vec<Drafted>, Vec<Finding>), Vec<Finding>> {
        let (mut drafts, mut warnings, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for Source { file, text } in sources {
            let of = |line, detail| Finding { file: file.clone(), line, detail };
            let name = name_of(file);
            if !seen.insert(name.clone()) {
                faults.push(of(None, format!("another file is called {name:?}, too")));
            }
            match document::read(&name, text) {
                Err(found) => {
                    faults.extend(found.into_iter().map(|fault| of(Some(fault.line), fault.detail)));
                }
                Ok((document, odd)) => {
                    warnings.extend(odd.into_iter().map(|remark| of(Some(remark.line), remark.detail)));
                    let rules = rules(&document);
                    faults.extend(self.compile(&rules).into_iter().map(|(line, detail)| of(line, detail)));
                    drafts.push(Drafted { file: file.clone(), document, rules });
                }
            }
        }
        if faults.is_empty() { Ok((drafts, warnings)) } else { Err(faults) }
    }

    /// The catch-all, if there is to be a new one.
    fn last_rule(&self) -> Result<Option<Rule>, Vec<Finding>> {
        let CatchAll::To(target) = &self.catch_all else { return Ok(None) };
        let rule = catch_all(target);
        let faults = self.compile(&[Drawn { rule: rule.clone(), line: None }]);
        let finding = |(line, detail)| Finding { file: "the catch-all".to_owned(), line, detail };
        if faults.is_empty() { Ok(Some(rule)) } else { Err(faults.into_iter().map(finding).collect()) }
    }

    fn compile(&self, drawn: &[Drawn]) -> Vec<(Option<usize>, String)> {
        let path = DomainPath::from_stored(DOMAIN.to_owned());
        let rules = drawn.iter().map(|drawn| drawn.rule.clone()).collect();
        let faults = Program::compile(rules, &path, Some(self.ground.own)).err().unwrap_or_default();
        let line = |fault: &Fault| {
            let place = fault.pointer.split('/').nth(2)?.parse::<usize>().ok()?;
            drawn.get(place)?.line
        };
        faults.iter().map(|fault| (line(fault), fault.detail.clone())).collect()
    }
}

/// Asks for every answer that the files state. How many there are.
fn check(drafts: &[Drafted], domain: &Domain, rules: &[Rule]) -> Result<usize, Vec<Finding>> {
    let whole = |detail: String| vec![Finding { file: DOMAIN.to_owned(), line: None, detail }];
    if rules.len() > MAX_RULES {
        return Err(whole(format!("has {} rules; at most {MAX_RULES} are allowed", rules.len())));
    }
    let program = Program::compile(rules.to_vec(), &domain.path, None)
        .map_err(|faults| whole(faults.first().map_or_else(String::new, |fault| fault.detail.clone())))?;
    let (mut asked, mut faults) = (0, Vec::new());
    for draft in drafts {
        for check in &draft.document.checks {
            asked += 1;
            if let Some(detail) = wrong(&program, &draft.document.base_url, check) {
                faults.push(Finding { file: draft.file.clone(), line: Some(check.line), detail });
            }
        }
    }
    if faults.is_empty() { Ok(asked) } else { Err(faults) }
}

/// The answers that the files state, as checks that are kept with the domain.
fn stated(drafts: &[Drafted], domain: &Domain) -> Result<Vec<checks::Check>, Vec<Finding>> {
    let (mut stated, mut faults) = (Vec::new(), Vec::new());
    for Drafted { file, document, .. } in drafts {
        for check in &document.checks {
            let of = checks::Check {
                from: format!("{}{}", document.base_url, check.from),
                headers: Vec::new(),
                status: None,
                to: Some(check.to.clone()),
                origin: Some(document.name.clone()),
            };
            match checks::read(&checks::write(std::slice::from_ref(&of)), &domain.path) {
                Ok(_) => stated.push(of),
                Err(found) => faults.extend(found.into_iter().map(|fault| Finding {
                    file: file.clone(),
                    line: Some(check.line),
                    detail: fault.detail,
                })),
            }
        }
    }
    if faults.is_empty() { Ok(stated) } else { Err(faults) }
}

/// What is wrong with the answer to a check.
fn wrong(program: &Program, base_url: &str, check: &Check) -> Option<String> {
    let asked = format!("{base_url}{}", check.from);
    let (path, query) =
        asked.split_once('?').map_or((asked.as_str(), None), |(path, query)| (path, Some(query)));
    let answer = program.answer(&Request { path, query, header: &|_| Vec::new() }, QueryPolicy::Forward);
    let location = answer.and_then(Outcome::answer).and_then(|answer| answer.location);
    match location {
        Some(location) if location == check.to => None,
        Some(location) => Some(format!("{asked} answers {location}, not {}", check.to)),
        None => Some(format!("nothing answers {asked}; it should be {}", check.to)),
    }
}

/// A file's name without its path and extension.
fn name_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(name, _)| name).to_owned()
}
