//! An import from end to end: survey the file, stage every line, check them all, then merge chunk by chunk.
//! Nothing is merged before every line has passed, unless the good ones are wanted alone. It may be
//! interrupted anywhere: run again, it changes what is still missing and nothing else.

use std::collections::HashSet;
use std::io::BufReader;
use std::path::Path;

use super::error::ImportError;
use super::report::{Counts, Watcher};
use super::sheet::{self, Places};
use super::source::{Format, Rows};
use super::staging::{self, Copy, FileLock, Run};
use super::survey::{Hashing, Survey, survey};
use crate::clock::Clock;
use crate::db::Db;
use crate::db::quota::{Defaults, Exceeded, Quota};
use crate::ids::Ids;
use crate::purl::domain_path::DomainPath;
use crate::purl::store::domains;
use crate::purl::target::OwnAddress;

/// Lines between two reports of progress.
const STEP: u64 = 1_000;

/// How an import is to be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Check and report only.
    pub dry_run: bool,
    /// Finish what an interrupted run has begun to merge, without staging again.
    pub resume: bool,
    /// Merge the good lines though others are refused.
    pub partial: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileReport {
    /// Counts of the lines that this run decided.
    pub counts: Counts,
    /// The last line that an earlier, interrupted run had merged.
    pub resumed_after: Option<u64>,
}

/// Imports files for one tenant.
#[derive(Debug)]
pub struct Import<'a> {
    /// The database.
    pub db: &'a Db,
    /// The time.
    pub clock: &'a Clock,
    /// Ids of runs.
    pub ids: &'a Ids,
    /// What no target may point at.
    pub own: &'a OwnAddress,
    /// Whose names they become.
    pub tenant_id: i64,
    /// What tenants may have that have no quotas of their own.
    pub quotas: Defaults,
    /// How the files are written.
    pub format: Format,
    /// How.
    pub options: Options,
}

impl Import<'_> {
    /// Imports one file and tells `watcher` of every line, in the order of the file.
    pub async fn file(&self, path: &Path, watcher: &mut dyn Watcher) -> Result<FileReport, ImportError> {
        let tree = self.tree().await?;
        let survey = survey(path, self.format, &tree)?;
        let lock = FileLock::take(self.db, self.tenant_id, &survey.sha256).await?.ok_or(ImportError::Busy)?;
        let report = self.locked(path, &survey, &tree, watcher).await;
        lock.release().await?;
        report
    }

    /// Paths of the domains that there are, where the format needs them.
    async fn tree(&self) -> Result<HashSet<String>, ImportError> {
        if self.format != Format::PurlzXml {
            return Ok(HashSet::new());
        }
        Ok(domains::list_paths(self.db.management()).await?.into_iter().collect())
    }

    async fn locked(
        &self,
        path: &Path,
        survey: &Survey,
        tree: &HashSet<String>,
        watcher: &mut dyn Watcher,
    ) -> Result<FileReport, ImportError> {
        if self.options.resume
            && let Some(left) = staging::find_unfinished(self.db, self.tenant_id, &survey.sha256).await?
            && left.is_staged
        {
            let counts =
                self.merge(left.run, left.merged_line, left.last_line, survey.records, watcher).await?;
            let resumed_after = u64::try_from(left.merged_line).ok();
            return Ok(FileReport { counts, resumed_after });
        }
        if survey.records == 0 {
            return Ok(FileReport { counts: Counts::default(), resumed_after: None });
        }
        let now = self.clock.now();
        let run = Run { tenant_id: self.tenant_id, import_id: self.ids.uuid_v7(now) };
        let (places, new) = self.places(&survey.domains).await?;
        let source = path.file_name().unwrap_or_default().to_string_lossy();
        staging::begin(self.db, run, (self.format, &source), &survey.sha256, now).await?;
        self.stage(path, survey, (&places, tree), run, watcher).await?;
        let refused = staging::check(self.db, run).await?;
        let last_line = i64::try_from(survey.last_line).unwrap_or(i64::MAX);
        let held = refused > 0 && !self.options.partial;
        // A domain is for ever: none is made for lines that are all refused.
        let wanted = staging::list_good_domains(self.db, run).await?;
        let new: Vec<DomainPath> = new.into_iter().filter(|path| wanted.contains(path.as_str())).collect();
        if !held && let Some(exceeded) = self.find_exceeded(run, new.len()).await? {
            staging::forget(self.db, run).await?;
            return Err(exceeded.into());
        }
        let counts = if self.options.dry_run || held {
            let counts = self.tell(run, last_line, held, watcher).await?;
            staging::forget(self.db, run).await?;
            counts
        } else {
            self.make_domains(&new).await?;
            staging::begin_merge(self.db, run, last_line, self.clock.now()).await?;
            self.merge(run, 0, last_line, survey.records, watcher).await?
        };
        Ok(FileReport { counts, resumed_after: None })
    }

    /// Whether a quota of the tenant has no room for what a checked run would make. The quotas are kept by those who make
    /// it, too; this is so that nothing at all is made of a file that is too large.
    async fn find_exceeded(&self, run: Run, new_domains: usize) -> Result<Option<Exceeded>, ImportError> {
        let names = staging::find_exceeded(self.db, run, self.quotas.of(Quota::Names)).await?;
        if names.is_some() || new_domains == 0 {
            return Ok(names);
        }
        let wanted = i64::try_from(new_domains).unwrap_or(i64::MAX);
        let mut tx = self.db.begin().await?;
        Ok(domains::admit_domains(&mut tx, self.tenant_id, &self.quotas, wanted).await?.err())
    }

    async fn stage(
        &self,
        path: &Path,
        survey: &Survey,
        (places, tree): (&Places, &HashSet<String>),
        run: Run,
        watcher: &mut dyn Watcher,
    ) -> Result<(), ImportError> {
        let mut input = Hashing::open(path)?;
        let mut rows = Rows::open(self.format, BufReader::with_capacity(1 << 16, &mut input), tree)?;
        let mut copy = Copy::open(self.db, run).await?;
        let mut done = 0;
        while let Some(placed) = rows.next_row()? {
            let line = i64::try_from(placed.line).unwrap_or(i64::MAX);
            match placed.row {
                Err(refusal) => copy.refused(line, None, &refusal).await?,
                Ok(row) => match sheet::check(&row, places, self.own) {
                    Ok(checked) => copy.good(line, &checked).await?,
                    Err(refusal) => copy.refused(line, Some(&row), &refusal).await?,
                },
            }
            done += 1;
            if done % STEP == 0 {
                watcher.progress("checked", done, survey.records);
            }
        }
        drop(rows);
        if input.sha256() != survey.sha256 {
            return Err(ImportError::Changed);
        }
        Ok(copy.finish().await?)
    }
}
