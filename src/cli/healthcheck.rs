//! `resolute healthcheck`: asks the server of this machine for its readiness, for containers, whose images have no
//! other HTTP client. It reads `server.listen` as `serve` does, but not the flags that a server was started with,
//! and touches no database: the server's own answer is the answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};

use super::{Outcome, print_line};
use crate::config::Config;

/// Longest time for everything; readiness itself waits at most a second for the database.
const PATIENCE: Duration = Duration::from_secs(3);

/// The answer is a few hundred bytes; whatever sends more is not this server.
const LONGEST_ANSWER: u64 = 16_384;

pub async fn run(config: &Config) -> Outcome {
    let address = lookup_host(config.server.listen.as_str())
        .await
        .ok()
        .and_then(|mut found| found.next())
        .map(reachable)
        .with_context(|| format!("server.listen = {}: no address", config.server.listen))?;
    let answer = match tokio::time::timeout(PATIENCE, ask(address)).await {
        Ok(answer) => answer.with_context(|| format!("{address}: not a server that answers"))?,
        Err(_) => bail!("{address}: no answer within {} s", PATIENCE.as_secs()),
    };
    let (status, body) = parse(&answer).with_context(|| format!("{address}: the answer is not HTTP"))?;
    print_line(body)?;
    Ok(if status == 200 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a listener on all addresses is reached from the same machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// HTTP/1.0: the answer is neither chunked nor followed by another.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET /health/ready HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Status and body of an answer.
fn parse(answer: &str) -> Option<(u16, &str)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_all_addresses_is_asked_at_the_loopback_and_any_other_at_its_own() {
        for (listen, asked) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("127.0.0.1:80", "127.0.0.1:80"),
        ] {
            let listen = listen.parse().expect("an address");
            assert_eq!(reachable(listen).to_string(), asked);
        }
    }

    #[test]
    fn status_and_body_are_read_and_anything_else_is_no_answer() {
        assert_eq!(parse("HTTP/1.0 200 OK\r\na: b\r\n\r\n{}"), Some((200, "{}")));
        assert_eq!(parse("HTTP/1.1 503 Service Unavailable\r\n\r\nno\r\n\r\n"), Some((503, "no\r\n\r\n")));
        for other in
            ["", "HTTP/1.0 200 OK\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }
}
