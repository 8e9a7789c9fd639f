//! A keep-alive HTTP/1.1 connection that sends prepared bytes and reads answers with a known length. No pool, no
//! redirects, no TLS, no chunked bodies: each would cost processor time that belongs to the server beside it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Most header fields of an answer.
const MOST_FIELDS: usize = 48;
/// Room for an answer before the buffer grows.
const ROOM: usize = 4 * 1024;

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that belong to the answer given last.
    used: usize,
}

/// An answer, in the connection's buffer until the next one is asked for.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Status code.
    pub status: u16,
    /// Value of `Location`; empty when absent.
    pub location: &'a [u8],
    /// Body.
    pub body: &'a [u8],
    /// Whether the server will close the connection.
    pub closing: bool,
}

/// Where the parts of an answer are.
struct Layout {
    status: u16,
    location: std::ops::Range<usize>,
    head: usize,
    length: usize,
    closing: bool,
}

impl Connection {
    /// Connects to `host:port`.
    pub async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(ROOM), used: 0 })
    }

    /// Sends a whole request and reads its answer.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.drain(..self.used);
        self.used = 0;
        let layout = loop {
            if let Some(layout) = parse(&self.buffer)? {
                break layout;
            }
            self.read().await?;
        };
        let end = layout.head + layout.length;
        while self.buffer.len() < end {
            self.read().await?;
        }
        self.used = end;
        Ok(Answer {
            status: layout.status,
            location: &self.buffer[layout.location],
            body: &self.buffer[layout.head..end],
            closing: layout.closing,
        })
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The head of an answer, once it is whole.
fn parse(buffer: &[u8]) -> io::Result<Option<Layout>> {
    let invalid = |reason: &'static str| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let head = match response.parse(buffer) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(invalid("not HTTP")),
    };
    let status = response.code.unwrap_or_default();
    let (mut length, mut location, mut closing) = (None, 0..0, false);
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            length = std::str::from_utf8(field.value).ok().and_then(|text| text.parse().ok());
        } else if field.name.eq_ignore_ascii_case("location") {
            let start = field.value.as_ptr().addr() - buffer.as_ptr().addr();
            location = start..start + field.value.len();
        } else if field.name.eq_ignore_ascii_case("connection") {
            closing = field.value.eq_ignore_ascii_case(b"close");
        }
    }
    let length = match (length, status) {
        (Some(length), _) => length,
        (None, 204 | 304) => 0,
        (None, _) => return Err(invalid("an answer without a Content-Length")),
    };
    Ok(Some(Layout { status, location, head, length, closing }))
}

/// A request without a body.
pub fn get(out: &mut Vec<u8>, host: &str, path: std::fmt::Arguments<'_>) {
    write(out, format_args!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
}

/// A request with a credential and a JSON body; `more` are further header lines, each with its line end.
pub fn send(
    out: &mut Vec<u8>,
    (method, path): (&str, std::fmt::Arguments<'_>),
    (host, bearer): (&str, &str),
    more: std::fmt::Arguments<'_>,
    body: &[u8],
) {
    let length = body.len();
    write(
        out,
        format_args!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Type: application/json\r\n{more}Content-Length: {length}\r\n\r\n"
        ),
    );
    out.extend_from_slice(body);
}

/// Appends text; a vector takes everything.
pub fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = io::Write::write_fmt(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let text = b"HTTP/1.1 302 Found\r\nlocation: https://a.example/\r\nContent-Length: 2\r\n\r\nok";
        assert!(parse(&text[..40]).unwrap().is_none());
        let layout = parse(text).unwrap().unwrap();
        assert_eq!((layout.status, layout.length, layout.closing), (302, 2, false));
        assert_eq!(&text[layout.location], b"https://a.example/");
        assert_eq!(&text[layout.head..], b"ok");
    }

    #[test]
    fn an_answer_of_unknown_length_is_refused_and_no_guess_is_made() {
        assert!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        assert!(parse(b"nonsense\r\n\r\n").is_err());
        assert_eq!(
            parse(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap().unwrap().length,
            0
        );
    }

    #[test]
    fn a_request_says_how_long_its_body_is() {
        let mut out = Vec::new();
        send(&mut out, ("PUT", format_args!("/x/{}", 1)), ("h:1", "t"), format_args!("A: b\r\n"), b"{}");
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("PUT /x/1 HTTP/1.1\r\nHost: h:1\r\n"), "{text}");
        assert!(text.ends_with("A: b\r\nContent-Length: 2\r\n\r\n{}"), "{text}");
    }
}
