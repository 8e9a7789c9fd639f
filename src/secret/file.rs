//! Where the master secret comes from: the configuration, else its file, else it is made and kept in that file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::derive::MasterSecret;
use crate::config;
use crate::ids::Ids;

/// Why there is no master secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The configured text has another form.
    #[error("security.master_secret: expected 64 hexadecimal digits")]
    Setting,
    /// The file's text has another form.
    #[error("the master secret in {0} is damaged: expected 64 hexadecimal digits")]
    Damaged(PathBuf),
    /// The file cannot be read.
    #[error("the master secret in {0} cannot be read: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// The file cannot be made.
    #[error(
        "a master secret cannot be kept in {0}: {1}; make 64 hexadecimal digits (openssl rand -hex 32), keep them apart \
         from the database, and set them as RESOLUTE__SECURITY__MASTER_SECRET"
    )]
    NotKept(PathBuf, std::io::Error),
}

/// The configured secret, else that of the file, else a fresh one that the file keeps (mode 600).
pub fn load(security: &config::Security, ids: &Ids) -> Result<MasterSecret, SecretError> {
    if !security.master_secret.is_empty() {
        return MasterSecret::parse(&security.master_secret).ok_or(SecretError::Setting);
    }
    let path = &security.master_secret_file;
    match std::fs::read_to_string(path) {
        Ok(text) => MasterSecret::parse(&text).ok_or_else(|| SecretError::Damaged(path.clone())),
        Err(error) if error.kind() == ErrorKind::NotFound => make(path, ids),
        Err(error) => Err(SecretError::Unreadable(path.clone(), error)),
    }
}

/// Written beside and linked into place, so that the file is whole or absent, and the first of two processes wins.
fn make(path: &Path, ids: &Ids) -> Result<MasterSecret, SecretError> {
    let secret = MasterSecret::new(ids.bytes());
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let kept = write(&beside, &secret).and_then(|()| std::fs::hard_link(&beside, path));
    let _ = std::fs::remove_file(&beside);
    match kept {
        Ok(()) => {
            tracing::warn!(file = %path.display(), "a master secret was made: back this file up, apart from the database");
            Ok(secret)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text =
                std::fs::read_to_string(path).map_err(|error| SecretError::Unreadable(path.into(), error))?;
            MasterSecret::parse(&text).ok_or_else(|| SecretError::Damaged(path.into()))
        }
        Err(error) => Err(SecretError::NotKept(path.into(), error)),
    }
}

fn write(path: &Path, secret: &MasterSecret) -> std::io::Result<()> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{}", secret.reveal())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn security(secret: &str, file: &Path) -> config::Security {
        config::Security { master_secret: secret.to_owned(), master_secret_file: file.to_path_buf() }
    }

    #[test]
    fn a_made_secret_is_found_again_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("below").join("secret");
        let made = load(&security("", &file), &Ids::seeded(1)).expect("made");
        let found = load(&security("", &file), &Ids::seeded(2)).expect("found");
        assert_eq!(made.reveal(), found.reveal());
        assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(file.parent().expect("below")).expect("a directory").count(), 1);
    }

    #[test]
    fn the_setting_beats_the_file_and_damage_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("secret");
        std::fs::write(&file, "short").expect("a file");
        assert!(matches!(load(&security("", &file), &Ids::seeded(1)), Err(SecretError::Damaged(_))));
        assert_eq!(
            load(&security(&"ab".repeat(32), &file), &Ids::seeded(1)).expect("set").reveal(),
            "ab".repeat(32)
        );
        assert!(matches!(load(&security("xyz", &file), &Ids::seeded(1)), Err(SecretError::Setting)));
        let nowhere = file.join("below-a-file");
        assert!(load(&security("", &nowhere), &Ids::seeded(1)).is_err());
    }
}
