//! Why a file of names was not imported, apart from what is wrong with its lines.

use std::io;

use super::columns::HeaderFault;
use crate::db;
use crate::db::quota::Exceeded;
use crate::purl::store::domains::CreateError;

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
        fault: String,
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
