//! Whose request it is, as far as an address tells: the peer of the connection or, behind proxies that are
//! trusted, whom they name in `X-Forwarded-For`. `Forwarded` (RFC 7239) is not read: a proxy that writes only
//! one of the two passes the other on as its client wrote it, and nearly all write `X-Forwarded-For`.

use std::net::{IpAddr, SocketAddr};

use http::{Extensions, HeaderMap, HeaderName};

use super::arrival::Arrival;
use crate::config::Networks;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address; None for a request that came over no connection.
pub fn address(extensions: &Extensions, headers: &HeaderMap, trusted: &Networks) -> Option<IpAddr> {
    let peer = Arrival::find(extensions)?.peer?;
    Some(beyond(peer.ip().to_canonical(), headers, trusted))
}

/// Goes back from the peer as long as the hop is trusted: a trusted hop's word for the one before it counts, nobody
/// else's does. A word that is no address ends the way at the hop that passed it on.
fn beyond(peer: IpAddr, headers: &HeaderMap, trusted: &Networks) -> IpAddr {
    let lines = headers.get_all(&X_FORWARDED_FOR).iter().rev();
    let mut words = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    let mut hop = peer;
    while trusted.contains(hop) {
        match words.next().and_then(|word| parse(word.trim())) {
            Some(before) => hop = before,
            None => break,
        }
    }
    hop
}

/// An address as proxies write it: some add the port.
fn parse(word: &str) -> Option<IpAddr> {
    let address = word.parse().or_else(|_| word.parse().map(|with_port: SocketAddr| with_port.ip()));
    Some(address.ok()?.to_canonical())
}

/// All addresses that one client can easily have: an IPv4 address, or a /64 of IPv6, which is what a single
/// connection to the internet gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block(u128);

impl Block {
    /// The block of this address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.to_ipv6_mapped().to_bits()),
            IpAddr::V6(address) => Self(address.to_bits() >> 64 << 64),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client(peer: &str, forwarded: &[&'static str]) -> String {
        let trusted = Networks::parse("127.0.0.0/8, 10.0.0.0/8").expect("networks");
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(&X_FORWARDED_FOR, HeaderValue::from_static(line));
        }
        let mut extensions = Extensions::new();
        extensions.insert(Arrival { peer: Some(peer.parse().expect("a peer")), ..Arrival::default() });
        address(&extensions, &headers, &trusted).expect("a peer").to_string()
    }

    #[test]
    fn an_untrusted_peer_is_believed_nothing() {
        assert_eq!(client("203.0.113.9:1", &["198.51.100.1"]), "203.0.113.9");
    }

    #[test]
    fn the_nearest_address_that_is_no_trusted_proxy_is_the_client() {
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1"]), "198.51.100.1");
        // What the client claims stands on the left of what the proxy saw.
        assert_eq!(client("127.0.0.1:1", &["1.1.1.1, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1:1", &["1.1.1.1", "198.51.100.1,10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("[::ffff:127.0.0.1]:1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1:5555"]), "198.51.100.1");
    }

    #[test]
    fn without_a_word_that_is_an_address_it_is_the_last_hop_that_is_known() {
        assert_eq!(client("127.0.0.1:1", &[]), "127.0.0.1");
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1, unknown"]), "127.0.0.1");
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1, bad, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client("127.0.0.1:1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1,"]), "127.0.0.1");
    }

    #[test]
    fn addresses_of_one_64_are_one_block_and_ipv4_addresses_are_their_own() {
        let block = |text: &str| Block::of(text.parse().expect("an address"));
        assert_eq!(block("2001:db8::1"), block("2001:db8::ffff:1"));
        assert_ne!(block("2001:db8::1"), block("2001:db8:0:1::1"));
        assert_ne!(block("192.0.2.1"), block("192.0.2.2"));
        assert_eq!(block("192.0.2.1"), block("::ffff:192.0.2.1"));
    }
}
