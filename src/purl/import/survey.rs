//! The first reading of a file: the domains it names, how long it is and what it is known by. Rows are
//! not judged here; only a file that cannot be read to its end is refused.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::ImportError;
use super::source::{Format, Rows};

/// What the first reading of a file finds.
#[derive(Debug)]
pub struct Survey {
    /// By which an interrupted run of it is found again.
    pub sha256: [u8; 32],
    /// What its domain cells say.
    pub domains: BTreeSet<String>,
    /// Its records, the header apart.
    pub records: u64,
    /// The line on which the last one begins.
    pub last_line: u64,
}

/// Hashes what passes through.
#[derive(Debug)]
pub struct Hashing {
    file: File,
    hash: Sha256,
}

impl Hashing {
    /// Opens a regular file: anything else gives other bytes, or none, when it is read a second time.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(ImportError::NotAFile);
        }
        Ok(Self { file: File::open(path)?, hash: Sha256::new() })
    }

    /// The hash of what has been read.
    pub fn sha256(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// Reads the whole file once.
pub(super) fn survey(path: &Path, format: Format, tree: &HashSet<String>) -> Result<Survey, ImportError> {
    let mut input = Hashing::open(path)?;
    let mut rows = Rows::open(format, BufReader::with_capacity(1 << 16, &mut input), tree)?;
    let (mut domains, mut records, mut last_line) = (BTreeSet::new(), 0, 0);
    while let Some(placed) = rows.next_row()? {
        (records, last_line) = (records + 1, placed.line);
        if let Ok(row) = placed.row
            && !domains.contains(&row.domain)
        {
            domains.insert(row.domain);
        }
    }
    drop(rows);
    Ok(Survey { sha256: input.sha256(), domains, records, last_line })
}
