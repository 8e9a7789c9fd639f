//! The header of an imported CSV: which column is which member of a [`Row`].

use super::csv::Record;
use super::sheet::Row;

const COLUMNS: [&str; 8] =
    ["domain", "name", "target", "status", "kind", "valid_until", "reason", "successor"];
const REQUIRED: usize = 3;

/// Why the first line is no header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// A column that is none of ours.
    #[error(
        "unknown column {name:?} (column {position}); the columns are domain, name, target and, optional, status, kind, valid_until, reason and successor"
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
    positions: [Option<usize>; 8],
    width: usize,
}

impl Header {
    /// Reads the first line of a file. The order of the columns is free.
    pub fn parse(fields: &[String]) -> Result<Self, HeaderFault> {
        let mut positions = [None; 8];
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
        let [domain, name, target, status, kind, valid_until, reason, successor] =
            self.positions.map(|position| position.map(|position| std::mem::take(&mut fields[position])));
        let given = |cell: Option<String>| cell.filter(|text| !text.is_empty());
        Ok(Row {
            domain: domain.unwrap_or_default(),
            name: name.unwrap_or_default(),
            target: target.unwrap_or_default(),
            status: given(status),
            kind: given(kind),
            valid_until: given(valid_until),
            variants: None,
            reason: given(reason),
            successor: given(successor),
        })
    }
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
        assert_eq!(row, Row { domain: "d".into(), name: "n".into(), target: "t".into(), ..Row::default() });
        let short = header.row(Record { line: 3, fields: Ok(texts(&["t"])) });
        assert_eq!(short, Err("has 1 fields; the header has 3".into()));
    }
}
