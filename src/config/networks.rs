//! Lists of networks as settings have them: addresses and CIDR blocks, separated by commas. It resolves no host
//! names: whom to trust must not depend on a name server.

use std::net::IpAddr;

/// A set of addresses. IPv4 and IPv4-mapped IPv6 are the same to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// The first `bits` of `base`, both in IPv6 (IPv4 mapped into it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    base: u128,
    bits: u32,
}

/// Bits in front of an IPv4 address that is mapped into IPv6.
const MAPPED_BITS: u32 = 96;

impl Networks {
    /// Reads `10.0.0.0/8, fd00::/8, 192.0.2.1`; empty text is no network. The error names the entry that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let parse = |entry: &str| Network::parse(entry).ok_or_else(|| entry.to_owned());
        entries.map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the address is in one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let number = number(address);
        self.0.iter().any(|network| network.mask(number) == network.base)
    }

    /// Whether there is any address that is not in them, as far as a single entry tells.
    pub fn has_everybody(&self) -> bool {
        // `0.0.0.0/0` is every client of an IPv4 listener.
        self.0.iter().any(|network| {
            network.bits == 0 || (network.bits == MAPPED_BITS && network.base == number([0, 0, 0, 0].into()))
        })
    }
}

impl Network {
    /// None unless the entry is an address or a block without bits behind its prefix.
    fn parse(entry: &str) -> Option<Self> {
        let (address, bits) = match entry.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (entry, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (before, most) = if address.is_ipv4() { (MAPPED_BITS, 32) } else { (0, 128) };
        let bits = match bits {
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().ok()?,
            Some(_) => return None,
            None => most,
        };
        let network = Self { base: number(address), bits: before + bits };
        (bits <= most && network.mask(network.base) == network.base).then_some(network)
    }

    fn mask(self, number: u128) -> u128 {
        match u128::MAX.checked_shl(128 - self.bits) {
            Some(mask) => number & mask,
            None => 0,
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(networks: &str, address: &str) -> bool {
        Networks::parse(networks).expect("networks").contains(address.parse().expect("an address"))
    }

    #[test]
    fn blocks_and_single_addresses_contain_what_their_prefix_says() {
        let networks = "10.0.0.0/8, fd00::/8,192.0.2.1";
        for inside in ["10.255.0.1", "fdab::1", "192.0.2.1", "::ffff:10.1.2.3"] {
            assert!(contains(networks, inside), "{inside}");
        }
        for outside in ["11.0.0.1", "fe80::1", "192.0.2.2", "::10.1.2.3"] {
            assert!(!contains(networks, outside), "{outside}");
        }
        assert!(!contains("", "127.0.0.1"));
        assert!(contains("::/0", "1.2.3.4") && contains("0.0.0.0/0", "1.2.3.4"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
    }

    #[test]
    fn what_is_no_block_is_named() {
        for bad in
            ["10.0.0.0/33", "10.0.0.1/8", "proxy.example.org", "fd00::/129", "10.0.0.0/+8", "10/8", "::1/"]
        {
            assert_eq!(Networks::parse(&format!("127.0.0.1, {bad}")), Err(bad.to_owned()));
        }
    }

    #[test]
    fn a_list_that_trusts_everybody_is_told_from_one_that_does_not() {
        for (list, everybody) in [("::/0", true), ("0.0.0.0/0", true), ("10.0.0.0/8", false), ("", false)] {
            assert_eq!(Networks::parse(list).expect("networks").has_everybody(), everybody, "{list}");
        }
    }
}
