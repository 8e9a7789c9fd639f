//! The text of an XML file on its way to the parser: turned into UTF-8, its lines counted, and no tag of it endless.

use std::io::{self, BufRead, Read};

/// Longest tag, comment or text in bytes: what is longer is no list of names, and would have to be kept in memory.
const LONGEST: usize = 64 * 1024;

/// UTF-8 as it is read from a file in UTF-8, US-ASCII or ISO 8859-1, of which the XML declaration tells which.
#[derive(Debug)]
pub struct Text<R> {
    input: R,
    is_latin: bool,
    converted: Vec<u8>,
    taken: usize,
    line: u64,
    since_mark: usize,
}

impl<R: BufRead> Text<R> {
    /// Looks at the beginning of a file. An encoding that is none of the three is an error that names it.
    pub fn new(mut input: R) -> io::Result<Self> {
        let start = input.fill_buf()?;
        let invalid = |detail: String| io::Error::new(io::ErrorKind::InvalidData, detail);
        if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
            return Err(invalid("is UTF-16; convert it to UTF-8".to_owned()));
        }
        let marked = start.starts_with(b"\xef\xbb\xbf");
        let is_latin = match encoding(&start[if marked { 3 } else { 0 }..]) {
            None => false,
            Some(name) if ["utf-8", "us-ascii"].contains(&name.as_str()) => false,
            Some(name) if ["iso-8859-1", "latin1"].contains(&name.as_str()) => !marked,
            Some(name) => return Err(invalid(format!("is encoded as {name:?}; convert it to UTF-8"))),
        };
        if marked {
            input.consume(3);
        }
        Ok(Self { input, is_latin, converted: Vec::new(), taken: 0, line: 1, since_mark: 0 })
    }

    /// The line that is read now, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Something new begins: it may be as long as anything.
    pub fn mark(&mut self) {
        self.since_mark = 0;
    }
}

/// What the declaration says, in lower case.
fn encoding(start: &[u8]) -> Option<String> {
    let start = &start[..start.len().min(256)];
    let declaration = start.strip_prefix(b"<?xml")?;
    let end = declaration.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    Some(value[1..].split(quote).next()?.to_ascii_lowercase())
}

impl<R: BufRead> BufRead for Text<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since_mark > LONGEST {
            let detail = format!("a tag, comment or text is longer than {LONGEST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
        }
        // No more at a time than may be read, so that the limit holds however large the buffer is.
        if !self.is_latin {
            let buffer = self.input.fill_buf()?;
            return Ok(&buffer[..buffer.len().min(LONGEST)]);
        }
        if self.taken == self.converted.len() {
            self.converted.clear();
            self.taken = 0;
            let buffer = self.input.fill_buf()?;
            let used = buffer.len().min(LONGEST / 2);
            for byte in &buffer[..used] {
                match byte {
                    0..0x80 => self.converted.push(*byte),
                    // U+0080 to U+00FF, in two bytes.
                    _ => self.converted.extend([0xc0 | (byte >> 6), 0x80 | (byte & 0x3f)]),
                }
            }
            self.input.consume(used);
        }
        Ok(&self.converted[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.since_mark += amount;
        let newlines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
        if self.is_latin {
            let end = self.converted.len().min(self.taken + amount);
            self.line += newlines(&self.converted[self.taken..end]);
            self.taken = end;
            return;
        }
        // What was shown by the last `fill_buf` is there without reading.
        if let Ok(buffer) = self.input.fill_buf() {
            self.line += newlines(&buffer[..amount.min(buffer.len())]);
        }
        self.input.consume(amount);
    }
}

impl<R: BufRead> Read for Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let mut text = Text::new(bytes).map_err(|error| error.to_string())?;
        let mut all = String::new();
        text.read_to_string(&mut all).map_err(|error| error.to_string())?;
        Ok(all)
    }

    #[test]
    fn the_declaration_decides_what_the_bytes_are() {
        assert_eq!(read(b"\xef\xbb\xbf<a>\xc3\xa9"), Ok("<a>é".into()));
        let latin = b"<?xml version='1.0' encoding = 'ISO-8859-1'?>\xe9\xff";
        assert_eq!(read(latin), Ok("<?xml version='1.0' encoding = 'ISO-8859-1'?>éÿ".into()));
        let refused = read(b"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?>");
        assert_eq!(refused, Err("is encoded as \"shift_jis\"; convert it to UTF-8".into()));
        assert!(read(b"\xff\xfe<\0").is_err());
        assert_eq!(read(b""), Ok(String::new()));
    }

    #[test]
    fn what_never_ends_is_not_read_to_its_end() {
        let long = vec![b'x'; 10 * LONGEST];
        assert!(read(&long).is_err());
    }
}
