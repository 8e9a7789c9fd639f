//! The rows of a file, whatever its format: each with the line it begins on, and what is wrong with its form if anything is.

use std::collections::HashSet;
use std::io::BufRead;

use super::columns::Header;
use super::error::ImportError;
use super::sheet::Row;
use super::{csv, jsonl, purlz};

/// How a file of names is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180, with a header.
    Csv,
    /// An object on each line.
    Jsonl,
    /// Batch XML of PURLz.
    PurlzXml,
}

impl Format {
    /// The word at the command line and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::PurlzXml => "purlz-xml",
        }
    }
}

/// A row, or why it is none.
#[derive(Debug)]
pub struct Placed {
    /// Line of the file that it begins on, from 1.
    pub line: u64,
    /// The row.
    pub row: Result<Row, String>,
}

/// Reads one file.
pub enum Rows<'a, R> {
    /// CSV behind its header.
    Csv(csv::Reader<R>, Header),
    /// JSON Lines.
    Jsonl(jsonl::Reader<R>),
    /// XML.
    PurlzXml(Box<purlz::Reader<'a, R>>),
}

impl<'a, R: BufRead> Rows<'a, R> {
    /// Begins to read; a header that cannot be used ends it. `tree` are the paths of the domains that there are, for a format that
    /// does not say which part of a path is the domain.
    pub fn open(format: Format, input: R, tree: &'a HashSet<String>) -> Result<Self, ImportError> {
        Ok(match format {
            Format::PurlzXml => Self::PurlzXml(Box::new(purlz::Reader::new(input, tree)?)),
            Format::Jsonl => Self::Jsonl(jsonl::Reader::new(input)),
            Format::Csv => {
                let mut reader = csv::Reader::new(input);
                let first = reader.next_record()?;
                let line = first.as_ref().map_or(1, |first| first.line);
                let fields = match first.map(|first| first.fields) {
                    Some(Ok(fields)) => fields,
                    Some(Err(fault)) => return Err(ImportError::Broken { line, fault: fault.to_string() }),
                    None => Vec::new(),
                };
                let header = Header::parse(&fields).map_err(|fault| ImportError::Header { line, fault })?;
                Self::Csv(reader, header)
            }
        })
    }

    /// The next row; none at the end of the file.
    pub fn next_row(&mut self) -> Result<Option<Placed>, ImportError> {
        match self {
            Self::Csv(reader, header) => {
                let Some(record) = reader.next_record()? else { return Ok(None) };
                let line = record.line;
                if let Err(fault @ csv::RecordFault::Unterminated(_)) = record.fields {
                    return Err(ImportError::Broken { line, fault: fault.to_string() });
                }
                Ok(Some(Placed { line, row: header.row(record) }))
            }
            Self::Jsonl(reader) => Ok(reader.next_row()?),
            Self::PurlzXml(reader) => reader.next_row(),
        }
    }
}
