//! Who PostgreSQL runs as. It refuses root, so a server that runs as root gives its cluster to the owner of
//! the data, or else to the system accounts `resolute` or `postgres`. No account is made here: that is the
//! administrator's decision, and the error says how.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::ClusterError;

/// Accounts tried for new data, best first: one of our own is not shared with the machine's other clusters.
const ACCOUNTS: [&str; 2] = ["resolute", "postgres"];

/// The user and group that the cluster's processes and files belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub uid: u32,
    pub gid: u32,
    /// We are root and must become somebody else.
    pub switches: bool,
}

impl Account {
    /// The account for the data in `home`, or for new data when there are none.
    pub fn choose(existing_data: Option<&Path>) -> Result<Self, ClusterError> {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        if !uid.is_root() {
            return Ok(Self { uid: uid.as_raw(), gid: gid.as_raw(), switches: false });
        }
        if let Some(data) = existing_data {
            let owner = data.metadata().map_err(ClusterError::io("read the owner", data))?;
            if owner.uid() != 0 {
                return Ok(Self { uid: owner.uid(), gid: owner.gid(), switches: true });
            }
        }
        ACCOUNTS.iter().find_map(|name| find_account(name)).ok_or_else(|| ClusterError::NoAccount {
            command: "useradd --system --user-group --shell /usr/sbin/nologin resolute".to_owned(),
        })
    }

    /// A command that runs as this account, away from the terminal's process group (Ctrl-C is for the
    /// server, which stops the cluster after itself) and in a directory that everybody may enter.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Variables that would override the arguments or translate the messages we show and read.
        for variable in ["PGDATA", "PGPORT", "PGDATESTYLE", "PGTZ", "PGOPTIONS", "LANGUAGE"] {
            command.env_remove(variable);
        }
        command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null()).process_group(0);
        if self.switches {
            // The standard library drops the supplementary groups of root along with the user id.
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Whether this account may enter the directory. Tried, not computed: access lists, mounts and security
    /// modules also have a say.
    pub fn may_enter(&self, dir: &Path) -> bool {
        if !self.switches {
            return true;
        }
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-c", "cd -- \"$1\"", "sh"]).arg(dir).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Gives a file or directory that we made to this account.
    pub fn give(&self, path: &Path) -> Result<(), ClusterError> {
        if self.switches {
            std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
                .map_err(ClusterError::io("change the owner", path))?;
        }
        Ok(())
    }
}

/// Asks `id`, which knows accounts of every source (files, directories over the network).
fn find_account(name: &str) -> Option<Account> {
    let number = |option: &str| -> Option<u32> {
        let output = Command::new("id").args([option, name]).stderr(Stdio::null()).output().ok()?;
        std::str::from_utf8(&output.stdout).ok()?.trim().parse().ok()
    };
    let account = Account { uid: number("-u")?, gid: number("-g")?, switches: true };
    (account.uid != 0).then_some(account)
}
