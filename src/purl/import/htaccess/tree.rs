//! Finds the files of a tree. Links are not followed, so that a tree cannot lead out of itself, and what begins with a dot
//! holds no directories of it.

use std::fs;
use std::io;
use std::path::Path;

use super::FILE;

/// Longest file that is read, in bytes: a hundred times the longest of w3id.org.
const MAX_BYTES: u64 = 16 << 20;

/// A directory that has a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Its path below the top of the tree, with slashes between its segments; empty for the top itself.
    pub path: String,
    /// The file, as it is called in what is said about it.
    pub file: String,
    /// What is in it, or why that is not known.
    pub text: Result<String, String>,
}

/// The directories of a tree in order of path, a directory before those in it. Fails where a directory cannot be listed.
pub fn read(top: &Path) -> io::Result<Vec<Directory>> {
    let mut found = Vec::new();
    walk(top, "", &mut found)?;
    Ok(found)
}

fn walk(directory: &Path, path: &str, found: &mut Vec<Directory>) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in &entries {
        if entry.file_name() == FILE {
            let file = entry.path();
            found.push(Directory {
                path: path.to_owned(),
                file: file.display().to_string(),
                text: text(&file, entry.file_type()?.is_file()),
            });
        }
    }
    for entry in entries {
        let name = entry.file_name();
        if entry.file_type()?.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
            // A name that is no text is no path of a domain; the replacement characters say so when it is parsed.
            let name = name.to_string_lossy();
            let below = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
            walk(&entry.path(), &below, found)?;
        }
    }
    Ok(())
}

fn text(file: &Path, is_file: bool) -> Result<String, String> {
    if !is_file {
        return Err("is no regular file".to_owned());
    }
    let length = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if length > MAX_BYTES {
        return Err(format!("has {length} bytes; at most {MAX_BYTES} are read"));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = String::from_utf8_lossy(good).matches('\n').count() + 1;
        format!("is no UTF-8 text, from line {line} on")
    })
}
