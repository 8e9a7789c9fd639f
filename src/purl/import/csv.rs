//! Reads CSV (RFC 4180) line by line, so that every fault has its line: a quote that is never closed, text
//! behind a closing quote, bytes that are no UTF-8. A byte order mark, CRLF and blank lines are accepted. It
//! knows nothing of what the fields mean.

use std::io::{self, BufRead};

/// Longest record in bytes; a quote that nobody closes is found here, not at the end of the file.
const MAX_RECORD: usize = 64 * 1024;

/// One record: the line it begins on, and its fields or what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Line of the file, from 1.
    pub line: u64,
    /// The fields, unquoted, or why they cannot be read.
    pub fields: Result<Vec<String>, RecordFault>,
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// Some bytes are no UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// A quote inside a field that does not begin with one.
    #[error("field {0} has a quote inside but does not begin with one")]
    StrayQuote(usize),
    /// Something between a closing quote and the next comma.
    #[error("field {0} goes on behind its closing quote")]
    AfterQuote(usize),
    /// The file ends, or the record grows too long, inside a quoted field. The rest cannot be read.
    #[error("field {0} begins with a quote that is never closed")]
    Unterminated(usize),
}

/// A reader of records.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: u64,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the start of a file.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, ended: false }
    }

    /// The next record that is not a blank line.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        let mut bytes = Vec::new();
        while !self.ended {
            bytes.clear();
            if !self.read_line(&mut bytes)? {
                break;
            }
            let line = self.line;
            if line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            if without_end(&bytes).is_empty() {
                continue;
            }
            let fields = loop {
                match split(without_end(&bytes)) {
                    Err(RecordFault::Unterminated(field)) => {
                        if bytes.len() > MAX_RECORD || !self.read_line(&mut bytes)? {
                            self.ended = true;
                            break Err(RecordFault::Unterminated(field));
                        }
                    }
                    done => break done,
                }
            };
            return Ok(Some(Record { line, fields }));
        }
        Ok(None)
    }

    fn read_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let read = self.input.read_until(b'\n', bytes)?;
        self.line += u64::from(read > 0);
        Ok(read > 0)
    }
}

fn without_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Splits a record. Quotes and commas are ASCII, so bytes can be looked at before they are known to be text.
fn split(record: &[u8]) -> Result<Vec<String>, RecordFault> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let number = fields.len() + 1;
        let (field, after) = if let Some(quoted) = rest.strip_prefix(b"\"") {
            unquote(quoted, number)?
        } else {
            let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
            if rest[..end].contains(&b'"') {
                return Err(RecordFault::StrayQuote(number));
            }
            (rest[..end].to_vec(), &rest[end..])
        };
        fields.push(String::from_utf8(field).map_err(|_| RecordFault::NotUtf8)?);
        match after.split_first() {
            None => return Ok(fields),
            Some((b',', next)) => rest = next,
            Some(_) => return Err(RecordFault::AfterQuote(number)),
        }
    }
}

/// The text of a quoted field, and what follows its closing quote.
fn unquote(quoted: &[u8], number: usize) -> Result<(Vec<u8>, &[u8]), RecordFault> {
    let mut field = Vec::new();
    let mut rest = quoted;
    loop {
        let at = rest.iter().position(|byte| *byte == b'"').ok_or(RecordFault::Unterminated(number))?;
        field.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix(b"\"") {
            Some(after) => {
                field.push(b'"');
                rest = after;
            }
            None => return Ok((field, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Vec<(u64, Result<Vec<String>, RecordFault>)> {
        let mut reader = Reader::new(text);
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            records.push((record.line, record.fields));
        }
        records
    }

    fn fields(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn byte_order_mark_crlf_blank_lines_and_a_missing_last_line_end_are_accepted() {
        let records = read(b"\xef\xbb\xbfa,b\r\n\r\n\nc,\r\n\"d\"\"e\",\"f,\ng\"\nh,i");
        assert_eq!(
            records,
            [
                (1, Ok(fields(&["a", "b"]))),
                (4, Ok(fields(&["c", ""]))),
                (5, Ok(fields(&["d\"e", "f,\ng"]))),
                (7, Ok(fields(&["h", "i"]))),
            ]
        );
    }

    #[test]
    fn faults_name_the_line_on_which_the_record_begins() {
        let records = read(b"a,b\nx\"y,z\n\"q\"r,s\n\xff,t\nu,\"v\nw,x\n");
        assert_eq!(
            records,
            [
                (1, Ok(fields(&["a", "b"]))),
                (2, Err(RecordFault::StrayQuote(1))),
                (3, Err(RecordFault::AfterQuote(1))),
                (4, Err(RecordFault::NotUtf8)),
                (5, Err(RecordFault::Unterminated(2))),
            ]
        );
    }

    #[test]
    fn an_open_quote_does_not_swallow_a_long_file() {
        let text = format!("\"a\n{}", "x,y\n".repeat(100_000));
        let mut input = text.as_bytes();
        let mut reader = Reader::new(&mut input);
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(record.fields, Err(RecordFault::Unterminated(1)));
        assert!(input.len() > 300_000);
    }

    proptest! {
        #[test]
        fn what_is_quoted_is_read_back(rows in prop::collection::vec(prop::collection::vec("[a-c\",\r\né]{0,6}", 2..4), 1..5)) {
            let text: String = rows
                .iter()
                .map(|row| row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect::<Vec<_>>().join(",") + "\r\n")
                .collect();
            let read: Vec<Vec<String>> = read(text.as_bytes()).into_iter().map(|(_, fields)| fields.unwrap()).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
