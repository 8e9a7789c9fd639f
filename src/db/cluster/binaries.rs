//! Finds PostgreSQL's server binaries, which distributions like to keep out of PATH, and says how to install
//! them when there are none. It does not install anything: `scripts/install-postgres` does, when asked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Settings;
use super::error::ClusterError;

/// The oldest major version whose features the schema and the write path rely on.
pub const MINIMUM_MAJOR: u32 = 15;

/// Where packages put server binaries: a directory, a prefix of its entries, and the rest of the path.
const USUAL: [(&str, &str, &str); 6] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/local", "pgsql", "bin"),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/usr/libexec", "postgresql", ""),
];

/// One installation of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    pub dir: PathBuf,
    pub major: u32,
}

impl Binaries {
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// The binaries for existing data (same major version), or the newest for new data.
pub(super) fn get_binaries(
    settings: &Settings,
    data: Option<(&Path, u32)>,
) -> Result<Binaries, ClusterError> {
    let found = match &settings.binaries_dir {
        Some(dir) => {
            vec![probe(dir).map_err(|reason| ClusterError::UnusableBinaries { dir: dir.clone(), reason })?]
        }
        None => list_installed(settings.path.as_deref()),
    };
    let described = describe(&found);
    let (usable, old): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.major >= MINIMUM_MAJOR);
    if let Some((data_dir, major)) = data
        && !usable.is_empty()
    {
        return usable.into_iter().find(|one| one.major == major).ok_or_else(|| {
            ClusterError::VersionMismatch { data_dir: data_dir.to_path_buf(), data: major, found: described }
        });
    }
    usable.into_iter().max_by_key(|one| one.major).ok_or_else(|| ClusterError::NoBinaries {
        minimum: MINIMUM_MAJOR,
        older: if old.is_empty() { String::new() } else { format!(" (too old: {})", describe(&old)) },
        command: install_command(settings.path.as_deref(), rustix::process::geteuid().is_root()),
    })
}

fn describe(found: &[Binaries]) -> String {
    let one = |binaries: &Binaries| format!("{} ({})", binaries.major, binaries.dir.display());
    found.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Every installation, in the order of preference among equals: PATH, pg_config, the usual directories.
fn list_installed(path: Option<&OsStr>) -> Vec<Binaries> {
    let mut dirs: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    dirs.extend(find_in_path(path, "pg_config").and_then(|program| bindir(&program)));
    for (parent, prefix, rest) in USUAL {
        let Ok(entries) = Path::new(parent).read_dir() else { continue };
        let matching = entries
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)));
        dirs.extend(matching.map(|entry| entry.path().join(rest)));
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for dir in dirs {
        // A link in PATH leads to the installation itself, where initdb lies beside postgres.
        let Ok(server) = dir.join("postgres").canonicalize() else { continue };
        let Some(dir) = server.parent() else { continue };
        if seen.insert(dir.to_path_buf()) {
            found.extend(probe(dir));
        }
    }
    found
}

/// The installation in a directory, or what it lacks.
fn probe(dir: &Path) -> Result<Binaries, String> {
    for name in ["postgres", "initdb"] {
        if !dir.join(name).is_file() {
            return Err(format!("holds no `{name}`"));
        }
    }
    let output = Command::new(dir.join("postgres"))
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`postgres --version` does not run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let major = parse_version(&text).ok_or_else(|| format!("`postgres --version` says {:?}", text.trim()))?;
    Ok(Binaries { dir: dir.to_path_buf(), major })
}

/// The major version in `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`, `… 18beta1`.
fn parse_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL) ")?.1;
    let end = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version.get(..end)?.parse().ok()
}

fn find_in_path(path: Option<&OsStr>, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn bindir(pg_config: &Path) -> Option<PathBuf> {
    let output = Command::new(pg_config).arg("--bindir").stdin(Stdio::null()).output().ok()?;
    Some(PathBuf::from(std::str::from_utf8(&output.stdout).ok()?.trim()))
}

/// The command that installs PostgreSQL with the package manager of this machine.
fn install_command(path: Option<&OsStr>, root: bool) -> String {
    let has = |program: &str| find_in_path(path, program).is_some();
    let sudo = if root || !has("sudo") { "" } else { "sudo " };
    let command = if has("apt-get") {
        format!("{sudo}apt-get update && {sudo}apt-get install -y postgresql")
    } else if has("dnf") {
        // Red Hat 9 defaults to 13 and has newer versions as module streams; Fedora knows no modules.
        format!("{sudo}dnf module enable -y postgresql:16; {sudo}dnf install -y postgresql-server")
    } else if has("brew") {
        return "brew install postgresql@17".to_owned();
    } else {
        return "your package manager (the package with the PostgreSQL server)".to_owned();
    };
    if root || has("sudo") { command } else { format!("su -c '{command}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_releases_betas_and_packages_are_read() {
        let cases = [
            ("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n", Some(15)),
            ("postgres (PostgreSQL) 18beta1\n", Some(18)),
            ("postgres (PostgreSQL) 9.6.24\n", Some(9)),
            ("postgres (EnterpriseDB) x\n", None),
            ("", None),
        ];
        for (text, major) in cases {
            assert_eq!(parse_version(text), major, "{text:?}");
        }
    }

    #[test]
    fn the_install_command_fits_the_machine_and_the_user() {
        let machine = tempfile::tempdir().expect("temporary directory");
        let path = Some(machine.path().as_os_str());
        let add = |program: &str| std::fs::write(machine.path().join(program), "").expect("write");
        assert!(install_command(path, true).starts_with("your package manager"));
        add("brew");
        assert_eq!(install_command(path, false), "brew install postgresql@17");
        add("dnf");
        assert!(install_command(path, true).ends_with("; dnf install -y postgresql-server"));
        add("apt-get");
        assert_eq!(install_command(path, true), "apt-get update && apt-get install -y postgresql");
        assert_eq!(install_command(path, false), "su -c 'apt-get update && apt-get install -y postgresql'");
        add("sudo");
        assert_eq!(install_command(path, false), "sudo apt-get update && sudo apt-get install -y postgresql");
    }
}
