//! An import from end to end: survey the file, stage every line, check them all, then merge chunk by chunk.
//! Nothing is merged before every line has passed, unless the good ones are wanted alone. It may be
//! interrupted anywhere: run again, it changes what is still missing and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufReader};
use std::path::Path;

use super::chunk::{self, Chunk, Generations, Merged};
use super::csv::{Reader, RecordFault};
use super::report::{Counts, Line, Outcome, Watcher};
use super::sheet::{self, HeaderFault, Places};
use super::staging::{self, Copy, FileLock, Run, StagedLine};
use super::survey::{Hashing, Survey, survey};
use crate::clock::Clock;
use crate::db::quota::{Defaults, Exceeded, Quota};
use crate::db::{self, Db};
use crate::ids::Ids;
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Policies;
use crate::purl::rules::Creator;
use crate::purl::store::domains::{self, CreateError, NewDomain};
use crate::purl::target::OwnAddress;

/// Lines that are read at a time where nothing is locked.
const PORTION: i64 = 2_000;

/// Lines that are merged at a time. Their domains are locked meanwhile, and who makes a single name in one of them waits
/// for as long.
const CHUNK: i64 = 250;

/// How often a chunk is checked again when domains change under it.
const ATTEMPTS: usize = 10;

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

/// Why a file was not imported, apart from its lines.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A pipe, a directory or the like.
    #[error("is not a regular file; imports read a file twice")]
    NotAFile,
    /// The second reading found other bytes than the first.
    #[error("the file changed while it was read; nothing of it was imported")]
    Changed,
    /// The first line is no header.
    #[error("line {line}: {fault}")]
    Header {
        /// The line.
        line: u64,
        /// Why.
        fault: HeaderFault,
    },
    /// The form of a line makes it impossible to go on reading.
    #[error("line {line}: {fault}; nothing behind it could be read")]
    Broken {
        /// The line.
        line: u64,
        /// Why.
        fault: RecordFault,
    },
    /// Another process imports the same file.
    #[error("this file is being imported by another process")]
    Busy,
    /// A domain that the file names could not be made after all.
    #[error("the domain `{path}` could not be made: {error}")]
    Domain {
        /// The domain.
        path: String,
        /// Why.
        error: CreateError,
    },
    /// Domains keep changing while the file is merged.
    #[error("the domains of this file keep changing; run the import again with --resume")]
    Unsettled,
    /// The tenant may not have so many names or domains.
    #[error("{0}; nothing of it was imported")]
    Quota(#[from] Exceeded),
    /// Others have used up the quota while the file was merged.
    #[error("{0} now; what stands above is imported, and --resume goes on once there is room")]
    QuotaMeanwhile(Exceeded),
    /// Staged lines are gone, as after a crash of the database.
    #[error("staged lines are gone; run the import again")]
    Lost,
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
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
    /// How.
    pub options: Options,
}

impl Import<'_> {
    /// Imports one file and tells `watcher` of every line, in the order of the file.
    pub async fn file(&self, path: &Path, watcher: &mut dyn Watcher) -> Result<FileReport, ImportError> {
        let survey = survey(path)?;
        let lock = FileLock::take(self.db, self.tenant_id, &survey.sha256).await?.ok_or(ImportError::Busy)?;
        let report = self.locked(path, &survey, watcher).await;
        lock.release().await?;
        report
    }

    async fn locked(
        &self,
        path: &Path,
        survey: &Survey,
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
        staging::begin(self.db, run, &source, &survey.sha256, now).await?;
        self.stage(path, survey, &places, run, watcher).await?;
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

    /// Finds out which domains of the file can be used, and which are to be made.
    async fn places(&self, texts: &BTreeSet<String>) -> Result<(Places, Vec<DomainPath>), ImportError> {
        let pool = self.db.management();
        let parsed: Vec<(&String, Result<DomainPath, String>)> =
            texts.iter().map(|text| (text, sheet::domain(text))).collect();
        let paths: Vec<&str> =
            parsed.iter().filter_map(|(_, path)| path.as_ref().ok().map(DomainPath::as_str)).collect();
        let known = domains::list_domains(pool, &paths).await?;
        let tree = domains::list_paths(pool).await?.into_iter().collect();
        let (mut places, mut new) = (Places { by_text: HashMap::new(), tree }, BTreeSet::new());
        for (text, path) in parsed {
            let place = match path {
                Err(fault) => Err(fault),
                Ok(path) => match known.iter().find(|domain| domain.path == path) {
                    Some(domain) if domain.owner_tenant_id == self.tenant_id => {
                        Ok((path, domain.case_insensitive))
                    }
                    Some(_) => Err(format!("the domain `{path}` is another tenant's")),
                    None => match domains::check_domain(pool, self.creator(), &path).await {
                        Ok(()) => {
                            places.tree.insert(path.as_str().to_owned());
                            new.insert((path.depth(), path.clone()));
                            Ok((path, false))
                        }
                        Err(CreateError::Db(error)) => return Err(error.into()),
                        Err(refusal) => Err(format!("the domain `{path}` cannot be made: {refusal}")),
                    },
                },
            };
            places.by_text.insert(text.clone(), place);
        }
        // Parents first, so that each is made below the one that is its own.
        Ok((places, new.into_iter().map(|(_, path)| path).collect()))
    }

    fn creator(&self) -> Creator<'static> {
        Creator::CommandLine { tenant_id: self.tenant_id }
    }

    async fn stage(
        &self,
        path: &Path,
        survey: &Survey,
        places: &Places,
        run: Run,
        watcher: &mut dyn Watcher,
    ) -> Result<(), ImportError> {
        let mut input = Hashing::open(path)?;
        let mut reader = Reader::new(BufReader::with_capacity(1 << 16, &mut input));
        reader.next_record()?;
        let mut copy = Copy::open(self.db, run).await?;
        let mut done = 0;
        while let Some(record) = reader.next_record()? {
            let line = i64::try_from(record.line).unwrap_or(i64::MAX);
            match survey.header.row(record) {
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
        drop(reader);
        if input.sha256() != survey.sha256 {
            return Err(ImportError::Changed);
        }
        Ok(copy.finish().await?)
    }

    /// Reports every line without merging any: `held` says whether good ones wait for the others.
    async fn tell(
        &self,
        run: Run,
        last_line: i64,
        held: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<Counts, ImportError> {
        let (mut counts, mut after) = (Counts::default(), 0);
        while after < last_line {
            let lines = staging::list_lines(self.db, run, after, PORTION).await?;
            after = lines.last().ok_or(ImportError::Lost)?.line;
            let numbers: Vec<i64> = lines.iter().map(|line| line.line).collect();
            let mut would =
                if held { HashMap::new() } else { staging::preview(self.db, run, &numbers).await? };
            for line in lines {
                let outcome = match (&line.refusal, line.duplicate_of) {
                    (Some(refusal), _) => Outcome::Refused(refusal.clone()),
                    _ if held => Outcome::Held,
                    (None, Some(_)) => Outcome::Unchanged,
                    (None, None) => would.remove(&line.line).ok_or(ImportError::Lost)?,
                };
                tell_one(&line, outcome, &mut counts, watcher);
            }
        }
        Ok(counts)
    }

    async fn make_domains(&self, paths: &[DomainPath]) -> Result<(), ImportError> {
        for path in paths {
            let new = NewDomain {
                path: path.clone(),
                tenant_id: self.tenant_id,
                case_insensitive: false,
                policies: Policies::default(),
                shadow: false,
                created_by: None,
                created_at: self.clock.now(),
            };
            let made = domains::create_domain(self.db, self.creator(), &new, &self.quotas).await;
            made.map_err(|error| ImportError::Domain { path: path.to_string(), error })?;
        }
        Ok(())
    }

    /// Merges and reports what is staged behind line `after`.
    async fn merge(
        &self,
        run: Run,
        mut after: i64,
        last_line: i64,
        records: u64,
        watcher: &mut dyn Watcher,
    ) -> Result<Counts, ImportError> {
        let mut counts = Counts::default();
        let mut tree = Tree::default();
        while after < last_line {
            let mut lines = staging::list_lines(self.db, run, after, CHUNK).await?;
            let through = lines.last().ok_or(ImportError::Lost)?.line;
            let mut outcomes = self.merge_chunk(run, (after, through), &mut lines, &mut tree).await?;
            after = through;
            for line in lines {
                let outcome = match (&line.refusal, line.duplicate_of) {
                    (Some(refusal), _) => Outcome::Refused(refusal.clone()),
                    (None, Some(_)) => Outcome::Unchanged,
                    (None, None) => outcomes.remove(&line.line).ok_or(ImportError::Lost)?,
                };
                tell_one(&line, outcome, &mut counts, watcher);
            }
            watcher.progress("merged", counts.total(), records);
        }
        staging::end(self.db, run, self.clock.now()).await?;
        Ok(counts)
    }

    async fn merge_chunk(
        &self,
        run: Run,
        (after, through): (i64, i64),
        lines: &mut [StagedLine],
        tree: &mut Tree,
    ) -> Result<HashMap<i64, Outcome>, ImportError> {
        let mut lacked = Vec::new();
        for _ in 0..ATTEMPTS {
            let good = || lines.iter().filter(|line| line.refusal.is_none() && line.duplicate_of.is_none());
            let numbers: Vec<i64> = good().map(|line| line.line).collect();
            let domains: BTreeSet<&String> = good().map(|line| &line.domain_path).collect();
            let domains: Vec<String> = domains.into_iter().cloned().collect();
            let part = Chunk { lines: &numbers, domains: &domains, lacked: &lacked, after, through };
            let quota = self.quotas.of(Quota::Names);
            let merged = chunk::merge(self.db, run, &part, &tree.generations, quota, self.clock.now());
            let current = match merged.await {
                Ok(Merged::Done(outcomes)) => return Ok(outcomes),
                Ok(Merged::TreeChanged(current)) => current,
                Ok(Merged::Lacking(lacks)) => {
                    lacked = lacks;
                    continue;
                }
                Ok(Merged::Exceeded(exceeded)) => return Err(ImportError::QuotaMeanwhile(exceeded)),
                Err(db::Error::Retryable(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            // The generations were read before the paths, so what changes after them is noticed next time.
            tree.places.tree = domains::list_paths(self.db.management()).await?.into_iter().collect();
            for line in lines.iter_mut().filter(|line| line.refusal.is_none() && line.duplicate_of.is_none())
            {
                line.refusal = tree.refusal(line, &current);
            }
            tree.generations.extend(current);
        }
        Err(ImportError::Unsettled)
    }
}

/// The tree of domains as the merge knows it.
#[derive(Default)]
struct Tree {
    places: Places,
    generations: Generations,
}

impl Tree {
    /// Why a line that passed can no longer be merged.
    fn refusal(&self, line: &StagedLine, current: &Generations) -> Option<String> {
        let domain = &line.domain_path;
        if !current.contains_key(domain) {
            return Some(format!("the domain `{domain}` is no longer this tenant's"));
        }
        let full_path = full_path(line);
        let deeper = self.places.swallower(domain, &full_path)?;
        Some(format!("requests for it reach the domain `{deeper}`; give the name there"))
    }
}

fn full_path(line: &StagedLine) -> String {
    if line.domain_path.is_empty() {
        line.name.clone()
    } else {
        format!("{}/{}", line.domain_path, line.name)
    }
}

fn tell_one(line: &StagedLine, outcome: Outcome, counts: &mut Counts, watcher: &mut dyn Watcher) {
    counts.add(&outcome);
    let number = u64::try_from(line.line).unwrap_or_default();
    watcher.line(&Line { line: number, path: full_path(line), outcome });
}
