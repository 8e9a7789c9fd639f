//! Reads JSON Lines: an object on each line, with the members of [`Row`]. A line that is none is reported as such and
//! the next one is read. Blank lines and a byte order mark are passed over.

use std::io::{self, BufRead, Read};

use serde_json::{Map, Value};

use super::sheet::Row;
use super::source::Placed;

/// Longest line in bytes.
const MAX_LINE: u64 = 256 * 1024;

/// Members that say how a name is, and that exports write beside those of a row; an import passes them over.
const TOLD: [&str; 4] = ["state", "revision", "created_at", "updated_at"];

/// A reader of rows.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the start of a file.
    pub fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    /// The next line that is not blank.
    pub fn next_row(&mut self) -> io::Result<Option<Placed>> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = self.line;
            if bytes.len() as u64 == MAX_LINE && !bytes.ends_with(b"\n") {
                self.skip_line()?;
                let row = Err(format!("is longer than {MAX_LINE} bytes"));
                return Ok(Some(Placed { line, row }));
            }
            let text = if line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) } else { &bytes };
            if !text.trim_ascii().is_empty() {
                return Ok(Some(Placed { line, row: row(text) }));
            }
        }
    }

    /// Passes over the rest of a line that nobody can want.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |at| at + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

fn row(text: &[u8]) -> Result<Row, String> {
    let object: Map<String, Value> = match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err("must be an object".to_owned()),
        Err(error) if error.is_eof() => return Err("ends in the middle of its JSON".to_owned()),
        Err(error) => return Err(format!("is not JSON: column {}", error.column())),
    };
    let mut row = Row::default();
    for (member, value) in object {
        match member.as_str() {
            "domain" => row.domain = required(&member, value)?,
            "name" => row.name = required(&member, value)?,
            "target" => row.target = string(&member, value)?.unwrap_or_default(),
            "status" => row.status = number(value)?,
            "kind" => row.kind = string(&member, value)?,
            "valid_until" => row.valid_until = string(&member, value)?,
            "reason" => row.reason = string(&member, value)?,
            "successor" => row.successor = string(&member, value)?,
            "variants" => row.variants = Some(value).filter(|value| !value.is_null()),
            told if TOLD.contains(&told) => {}
            _ => return Err(format!("unknown member {member:?}")),
        }
    }
    Ok(row)
}

fn required(member: &str, value: Value) -> Result<String, String> {
    string(member, value)?.ok_or_else(|| format!("{member} must be a string"))
}

fn string(member: &str, value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(format!("{member} must be a string")),
    }
}

fn number(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err("status must be a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Vec<(u64, Result<Row, String>)> {
        let mut reader = Reader::new(text.as_ref());
        let mut rows = Vec::new();
        while let Some(placed) = reader.next_row().unwrap() {
            rows.push((placed.line, placed.row));
        }
        rows
    }

    fn refusal(line: &str) -> String {
        read(line).remove(0).1.unwrap_err()
    }

    #[test]
    fn each_line_is_a_row_and_blank_ones_are_passed_over() {
        let rows = read(
            "\u{feff}{\"domain\":\"d\",\"name\":\"n\",\"target\":\"t\",\"status\":303}\r\n \n{\"revision\":2}",
        );
        let row = Row { domain: "d".into(), name: "n".into(), target: "t".into(), ..Row::default() };
        assert_eq!(rows, [(1, Ok(Row { status: Some("303".into()), ..row })), (3, Ok(Row::default()))]);
    }

    #[test]
    fn what_is_no_row_is_told_and_the_next_line_is_read() {
        let long = format!("{{\"name\":\"{}\"}}\n{{}}", "x".repeat(300_000));
        let rows = read(long);
        assert_eq!(rows[0], (1, Err("is longer than 262144 bytes".into())));
        assert_eq!(rows[1], (2, Ok(Row::default())));
        assert_eq!(refusal("[1]"), "must be an object");
        assert_eq!(refusal("{\"name\":"), "ends in the middle of its JSON");
        assert_eq!(refusal("{\"name\" 1}"), "is not JSON: column 9");
        assert_eq!(refusal("{\"name\":1}"), "name must be a string");
        assert_eq!(refusal("{\"name\":null}"), "name must be a string");
        assert_eq!(refusal("{\"status\":\"302\"}"), "status must be a number");
        assert_eq!(refusal("{\"tarqet\":\"x\"}"), "unknown member \"tarqet\"");
        assert!(read(b"{\"name\":\"\xff\"}")[0].1.is_err());
        assert!(read("[".repeat(100_000))[0].1.is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
            let rows = read(&bytes);
            prop_assert!(rows.iter().all(|(line, _)| *line <= lines));
        }
    }
}
