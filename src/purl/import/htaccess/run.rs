//! An import of a tree of `.htaccess` files: each directory by itself, whole or not at all.

use super::translate::{self, Draft, Drawn};
use super::tree::Directory;
use super::{PART, Remark, Site};
use crate::db;
use crate::db::audit::Actor;
use crate::purl::domain_path::DomainPath;
use crate::purl::import::rule_files::{DomainError, Finding, Ground};
use crate::purl::rule_change::{ChangeError, change_rules};
use crate::purl::ruleset::{MAX_RULES, Program, Rule};
use crate::purl::store::rule_sets;

/// What became of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The path of the domain; of a directory that can be none, that of the directory.
    pub path: String,
    /// The file.
    pub file: String,
    /// What has no effect.
    pub remarks: Vec<Finding>,
    /// What was imported, or every reason why nothing was.
    pub outcome: Result<Imported, Vec<Finding>>,
}

/// What was imported of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Rules of the file.
    pub rules: usize,
    /// Whether the domain had to be made.
    pub made_domain: bool,
    /// Whether anything is now otherwise than before.
    pub changed: bool,
}

/// Imports a directory; `origin` is the address of this server.
pub async fn import(ground: &Ground<'_>, origin: &str, directory: &Directory) -> Result<Report, db::Error> {
    let file = &directory.file;
    let found = |line, detail| Finding { file: file.clone(), line, detail };
    let refused = |findings| Report {
        path: directory.path.clone(),
        file: file.clone(),
        remarks: Vec::new(),
        outcome: Err(findings),
    };
    let path = match DomainPath::parse(&directory.path) {
        Ok(path) => path,
        Err(fault) => return Ok(refused(vec![found(None, fault.to_string())])),
    };
    let text = match &directory.text {
        Ok(text) => text,
        Err(detail) => return Ok(refused(vec![found(None, detail.clone())])),
    };
    let site = Site { directory: path.as_str(), origin };
    let of = |remarks: Vec<Remark>| remarks.into_iter().map(|remark| found(Some(remark.line), remark.detail));
    let Draft { rules: drawn, remarks, faults } = translate::rules(text, &site);
    let (remarks, mut faults): (_, Vec<Finding>) = (of(remarks).collect(), of(faults).collect());
    faults.extend(compile(ground, &path, &drawn).into_iter().map(|(line, detail)| found(line, detail)));
    if !faults.is_empty() {
        faults.sort_by_key(|fault| fault.line);
        return Ok(refused(faults));
    }
    match put(ground, &path, drawn).await {
        Ok(imported) => {
            Ok(Report { path: path.to_string(), file: file.clone(), remarks, outcome: Ok(imported) })
        }
        Err(
            PutError::Domain(DomainError::Db(error))
            | PutError::Change(ChangeError::Db(error))
            | PutError::Db(error),
        ) => Err(error),
        Err(error) => Ok(refused(vec![found(None, error.to_string())])),
    }
}

/// What is wrong with the rules as rules.
fn compile(ground: &Ground<'_>, path: &DomainPath, drawn: &[Drawn]) -> Vec<(Option<usize>, String)> {
    let rules = drawn.iter().map(|drawn| drawn.rule.clone()).collect();
    let faults = Program::compile(rules, path, Some(ground.own)).err().unwrap_or_default();
    let line = |pointer: &str| {
        let place = pointer.split('/').nth(2)?.parse::<usize>().ok()?;
        Some(drawn.get(place)?.line)
    };
    let mut told: Vec<_> = faults.into_iter().map(|fault| (line(&fault.pointer), fault.detail)).collect();
    // One directive can be two rules with the same fault.
    told.dedup();
    told
}

#[derive(Debug, thiserror::Error)]
enum PutError {
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error("the domain would have {0} rules; at most {MAX_RULES} are allowed")]
    TooMany(usize),
    #[error(transparent)]
    Db(#[from] db::Error),
}

/// Puts the rules of a file in force, in place of those that a file said before; others stay, and come first.
async fn put(ground: &Ground<'_>, path: &DomainPath, drawn: Vec<Drawn>) -> Result<Imported, PutError> {
    let mut tx = ground.db.begin().await?;
    let (domain, made_domain) = ground.domain(&mut tx, path).await?;
    let current = rule_sets::find_rules(&mut tx, &domain).await?;
    let is_of_file = |rule: &Rule| rule.origin.as_ref().is_some_and(|origin| origin.part == PART);
    let rules = drawn.len();
    let kept = current.iter().filter(|rule| !is_of_file(rule)).cloned();
    let merged: Vec<Rule> = kept.chain(drawn.into_iter().map(|drawn| drawn.rule)).collect();
    if merged.len() > MAX_RULES {
        return Err(PutError::TooMany(merged.len()));
    }
    let changed = merged != current;
    if changed && !ground.dry_run {
        change_rules(&mut tx, Actor::CommandLine, &domain, &merged, ground.clock.now()).await?;
    }
    if ground.dry_run {
        tx.rollback().await.map_err(db::Error::from)?;
    } else {
        db::commit(tx).await?;
    }
    Ok(Imported { rules, made_domain, changed: changed || made_domain })
}
