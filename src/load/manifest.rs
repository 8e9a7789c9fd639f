//! What a run made, in a file that is written before anything is made, so that a run that was killed can be cleaned up
//! after.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// What the slugs of all load tests begin with.
pub const MARK: &str = "loadtest-";

/// A run and its tenants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Id of the run.
    pub run: String,
    /// Database and host, without a password.
    pub database: String,
    /// Tenants; ids are known once they are made.
    pub tenants: Vec<Tenant>,
    /// Names that were inserted into the first domain of the first tenant, to be resolved.
    pub names: u64,
}

/// A tenant of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its slug, marked.
    pub slug: String,
    /// Its id.
    pub tenant_id: Option<i64>,
    /// Paths of its domains.
    pub domains: Vec<String>,
}

impl Manifest {
    /// Of a run that is about to make `tenants`, each with `domains`.
    pub fn plan(run: &str, database: String, tenants: usize, domains: usize) -> Self {
        let slug = |n: usize| if tenants == 1 { format!("{MARK}{run}") } else { format!("{MARK}{run}-{n}") };
        let path = |slug: &str, n: usize| if domains == 1 { slug.to_owned() } else { format!("{slug}.{n}") };
        let tenants = (0..tenants).map(|n| {
            let slug = slug(n);
            Tenant { domains: (0..domains).map(|n| path(&slug, n)).collect(), slug, tenant_id: None }
        });
        Self { run: run.to_owned(), database, tenants: tenants.collect(), names: 0 }
    }

    /// Reads one, and refuses what no run writes.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let manifest: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} is no manifest of a load test", path.display()))?;
        for tenant in &manifest.tenants {
            ensure!(
                is_marked(&tenant.slug, &manifest.run),
                "`{}` has no mark of run {}: nothing is removed",
                tenant.slug,
                manifest.run
            );
        }
        Ok(manifest)
    }

    /// Writes it whole: a reader sees the state before or the one after.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        }
        let partial = path.with_extension("partial");
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&partial, text + "\n")
            .and_then(|()| fs::rename(&partial, path))
            .with_context(|| path.display().to_string())
    }
}

/// Whether a slug is one that this run gives.
fn is_marked(slug: &str, run: &str) -> bool {
    let rest = slug.strip_prefix(MARK).and_then(|rest| rest.strip_prefix(run));
    run.len() >= 8 && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/manifest.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (tenants, domains) in [(1, 1), (3, 2), (1, 0)] {
            let manifest = Manifest::plan("0123456789ab", "u@h:1/d".into(), tenants, domains);
            let (_dir, path) = file("");
            manifest.write(&path).unwrap();
            assert_eq!(Manifest::read(&path).unwrap(), manifest);
        }
    }

    #[test]
    fn a_tenant_without_the_mark_of_the_run_is_refused() {
        for slug in
            ["acme", "loadtest-", "loadtest-0123456789abc", "loadtest-other000", "xloadtest-0123456789ab"]
        {
            let mut manifest = Manifest::plan("0123456789ab", String::new(), 1, 1);
            manifest.tenants[0].slug = slug.into();
            let (_dir, path) = file(&serde_json::to_string(&manifest).unwrap());
            assert!(Manifest::read(&path).is_err(), "{slug}");
        }
        let (_dir, path) = file(
            r#"{"run":"","database":"","names":0,"tenants":[{"slug":"loadtest-","tenant_id":1,"domains":[]}]}"#,
        );
        assert!(Manifest::read(&path).is_err());
    }
}
