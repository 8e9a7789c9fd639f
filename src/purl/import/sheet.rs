//! What the columns of an imported file mean, and whether a row of it is a valid name. Pure: which domains
//! there are is passed in.

use std::collections::{HashMap, HashSet};

use super::csv::Record;
use crate::purl::domain_path::{self, DomainPath};
use crate::purl::model::Status;
use crate::purl::name::Name;
use crate::purl::target::{OwnAddress, Target};

const COLUMNS: [&str; 4] = ["domain", "name", "target", "status"];
const REQUIRED: usize = 3;

/// Why the first line is no header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// A column that is none of ours.
    #[error(
        "unknown column {name:?} (column {position}); the columns are domain, name, target and, optional, status"
    )]
    Unknown {
        /// As written.
        name: String,
        /// From 1.
        position: usize,
    },
    /// A column that must be there.
    #[error("the column {0:?} is missing; the first line must name domain, name and target")]
    Missing(&'static str),
    /// A column twice.
    #[error("the column {0:?} is there twice")]
    Twice(&'static str),
}

/// Where each column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    positions: [Option<usize>; 4],
    width: usize,
}

impl Header {
    /// Reads the first line of a file. The order of the columns is free.
    pub fn parse(fields: &[String]) -> Result<Self, HeaderFault> {
        let mut positions = [None; 4];
        for (position, name) in fields.iter().enumerate() {
            let Some(column) = COLUMNS.iter().position(|column| column == name) else {
                return Err(HeaderFault::Unknown { name: name.clone(), position: position + 1 });
            };
            if positions[column].replace(position).is_some() {
                return Err(HeaderFault::Twice(COLUMNS[column]));
            }
        }
        match positions[..REQUIRED].iter().position(Option::is_none) {
            Some(column) => Err(HeaderFault::Missing(COLUMNS[column])),
            None => Ok(Self { positions, width: fields.len() }),
        }
    }

    /// The cells of a record, or what is wrong with its form.
    pub fn row(&self, record: Record) -> Result<Row, String> {
        let mut fields = record.fields.map_err(|fault| fault.to_string())?;
        if fields.len() != self.width {
            return Err(format!("has {} fields; the header has {}", fields.len(), self.width));
        }
        let [domain, name, target, status] =
            self.positions.map(|position| position.map(|position| std::mem::take(&mut fields[position])));
        Ok(Row {
            domain: domain.unwrap_or_default(),
            name: name.unwrap_or_default(),
            target: target.unwrap_or_default(),
            status: status.filter(|status| !status.is_empty()),
        })
    }
}

/// The cells of a row, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Path of the domain; `/` is the root domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// The target.
    pub target: String,
    /// The status; none where the cell is empty or the column absent.
    pub status: Option<String>,
}

/// Reads the cell of a domain. An empty one is a mistake more often than the root domain, which is `/`.
pub fn domain(text: &str) -> Result<DomainPath, String> {
    if text.is_empty() {
        return Err("the domain is empty; the root domain is written /".to_owned());
    }
    DomainPath::parse(text).map_err(|fault| fault.to_string())
}

/// The domains of a file as far as they can be used, and the tree in which they stand.
#[derive(Debug, Default)]
pub struct Places {
    /// For each domain cell: the path and whether it ignores case, or why it cannot be used.
    pub by_text: HashMap<String, Result<(DomainPath, bool), String>>,
    /// Paths of all domains, those that the file will make included.
    pub tree: HashSet<String>,
}

impl Places {
    /// The deeper domain that would answer for a name in its own domain's place.
    pub fn swallower<'a>(&self, domain: &str, full_path: &'a str) -> Option<&'a str> {
        let deepest =
            domain_path::candidates(full_path).into_iter().rev().find(|path| self.tree.contains(*path))?;
        (deepest.len() > domain.len()).then_some(deepest)
    }
}

/// A row that can be staged.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Its domain.
    pub domain: DomainPath,
    /// Its name.
    pub name: Name,
    /// What the name is unique by.
    pub name_key: String,
    /// Where it points.
    pub target: Target,
    /// How it answers; none: the domain's default, or as it is.
    pub status: Option<Status>,
}

/// Checks a row, or says what is wrong with it.
pub fn check(row: &Row, places: &Places, own: &OwnAddress) -> Result<Checked, String> {
    let unknown = || Err("the domain was not there when the file was read first".to_owned());
    let (domain, case_insensitive) = places.by_text.get(&row.domain).cloned().unwrap_or_else(unknown)?;
    let name = Name::parse_in(&row.name, &domain).map_err(|fault| fault.to_string())?;
    let target = Target::parse(&row.target, own).map_err(|fault| fault.to_string())?;
    let status = row.status.as_deref().map(status).transpose()?;
    if let Some(deeper) = places.swallower(domain.as_str(), &domain.join(name.as_str())) {
        return Err(format!("requests for it reach the domain `{deeper}`; give the name there"));
    }
    Ok(Checked { name_key: name.key(case_insensitive), domain, name, target, status })
}

fn status(text: &str) -> Result<Status, String> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("the status {text:?} is no number"))?;
    Status::parse(number).map_err(|error| format!("the status {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_misspelt_header_names_the_column() {
        let fault = Header::parse(&texts(&["domain", "name", "tarqet"])).unwrap_err();
        assert_eq!(fault, HeaderFault::Unknown { name: "tarqet".into(), position: 3 });
        assert_eq!(Header::parse(&texts(&["domain", "name"])), Err(HeaderFault::Missing("target")));
        let twice = Header::parse(&texts(&["domain", "name", "target", "name"]));
        assert_eq!(twice, Err(HeaderFault::Twice("name")));
    }

    #[test]
    fn columns_may_stand_in_any_order_and_status_may_be_absent() {
        let header = Header::parse(&texts(&["target", "domain", "name"])).unwrap();
        let row = header.row(Record { line: 2, fields: Ok(texts(&["t", "d", "n"])) }).unwrap();
        assert_eq!(row, Row { domain: "d".into(), name: "n".into(), target: "t".into(), status: None });
        let short = header.row(Record { line: 3, fields: Ok(texts(&["t"])) });
        assert_eq!(short, Err("has 1 fields; the header has 3".into()));
    }

    #[test]
    fn every_cell_is_checked() {
        let mut places = Places::default();
        for path in ["d", "d/deep"] {
            places.tree.insert(path.into());
        }
        places.by_text.insert("d".into(), Ok((DomainPath::parse("d").unwrap(), true)));
        places.by_text.insert("x".into(), Err("not yours".into()));
        let row = |domain: &str, name: &str, target: &str, status: Option<&str>| {
            let row = Row {
                domain: domain.into(),
                name: name.into(),
                target: target.into(),
                status: status.map(Into::into),
            };
            check(&row, &places, &OwnAddress::new("https://own.example"))
        };
        assert_eq!(row("d", "Name", "https://e.org/", Some("303")).unwrap().name_key, "name");
        assert_eq!(row("x", "n", "https://e.org/", None).unwrap_err(), "not yours");
        assert!(row("d", "", "https://e.org/", None).unwrap_err().contains("empty"));
        assert!(row("d", "n", "javascript:x", None).unwrap_err().contains("scheme"));
        assert!(row("d", "n", "https://own.example/x", None).unwrap_err().contains("this server"));
        assert!(row("d", "n", "https://e.org/", Some("200")).unwrap_err().contains("301"));
        assert!(row("d", "n", "https://e.org/", Some("x")).unwrap_err().contains("no number"));
        assert!(row("d", "deep/n", "https://e.org/", None).unwrap_err().contains("`d/deep`"));
        assert!(row("d", "deeper", "https://e.org/", None).is_ok());
        assert_eq!(domain("").unwrap_err(), "the domain is empty; the root domain is written /");
        assert!(domain("/").unwrap().is_root());
    }
}
