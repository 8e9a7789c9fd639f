//! The walk over the staged lines of a file, range by range: what would become of them, or their merge.

use super::chunk::{self, Generations, Merged, Range};
use super::error::ImportError;
use super::report::{Counts, Line, Outcome, Watcher};
use super::run::Import;
use super::sheet::Places;
use super::staging::{self, Decided, Run, StagedLine};
use crate::db;
use crate::db::quota::Quota;
use crate::purl::store::domains;

/// Lines that are read at a time where nothing is locked.
const PORTION: i64 = 10_000;

/// Lines that are merged at a time. Their domains are locked meanwhile, and who makes a single name in one of them waits
/// for as long: about 20 ms.
const CHUNK: i64 = 1_000;

/// How often a chunk is checked again when domains change under it.
const ATTEMPTS: usize = 10;

impl Import<'_> {
    /// Reports every line without merging any: `held` says whether good ones wait for the others.
    pub(super) async fn tell(
        &self,
        run: Run,
        last_line: i64,
        held: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<Counts, ImportError> {
        let (mut counts, mut after) = (Counts::default(), 0);
        while after < last_line {
            let through = last_line.min(after + PORTION);
            for mut decided in staging::preview(self.db, run, (after, through)).await? {
                if held && !matches!(decided.outcome, Outcome::Refused(_)) {
                    decided.outcome = Outcome::Held;
                }
                tell_one(decided, &mut counts, watcher);
            }
            after = through;
        }
        Ok(counts)
    }

    /// Merges and reports what is staged behind line `after`, up to the last of `records` lines.
    pub(super) async fn merge(
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
            let through = last_line.min(after + CHUNK);
            for decided in self.merge_chunk(run, (after, through), &mut tree).await? {
                tell_one(decided, &mut counts, watcher);
            }
            after = through;
            watcher.progress("merged", counts.total(), records);
        }
        staging::end(self.db, run, self.clock.now()).await?;
        Ok(counts)
    }

    async fn merge_chunk(
        &self,
        run: Run,
        range: Range,
        tree: &mut Tree,
    ) -> Result<Vec<Decided>, ImportError> {
        let mut lacked = Vec::new();
        let quota = self.quotas.of(Quota::Names);
        for _ in 0..ATTEMPTS {
            let by = (quota, self.clock.now());
            let current = match chunk::merge(self.db, run, range, &tree.generations, &lacked, by).await {
                Ok(Merged::Done(lines)) => return Ok(lines),
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
            let lines = staging::list_good_lines(self.db, run, range).await?;
            let refusal = |line: &StagedLine| Some((line.line, tree.refusal(line, &current)?));
            let refusals: Vec<(i64, String)> = lines.iter().filter_map(refusal).collect();
            if !refusals.is_empty() {
                staging::refuse(self.db, run, &refusals).await?;
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
        let full_path = full_path(domain, &line.name);
        let deeper = self.places.swallower(domain, &full_path)?;
        Some(format!("requests for it reach the domain `{deeper}`; give the name there"))
    }
}

fn full_path(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}/{name}") }
}

fn tell_one(decided: Decided, counts: &mut Counts, watcher: &mut dyn Watcher) {
    counts.add(&decided.outcome);
    let line = u64::try_from(decided.line).unwrap_or_default();
    let path = full_path(&decided.domain_path, &decided.name);
    watcher.line(&Line { line, path, outcome: decided.outcome });
}
