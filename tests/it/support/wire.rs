//! A raw HTTP/1.1 client over a socket: sends bytes as they are, one request a connection, blocking.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What came back over the wire.
#[derive(Clone, Debug)]
pub struct WireAnswer {
    /// Status code.
    pub status: u16,
    /// The head as text.
    pub head: String,
    /// The body.
    pub body: String,
}

impl WireAnswer {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// One request on a connection of its own.
pub fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<WireAnswer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text += "\r\n";
    text += body;
    stream.write_all(text.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let status =
        head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(std::io::ErrorKind::InvalidData)?;
    Ok(WireAnswer { status, head: head.to_owned(), body: body.to_owned() })
}
