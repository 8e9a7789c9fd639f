//! Resolves names, drawn evenly from all there are. Whether the server's cache helps depends on how many there are
//! beside what it remembers.

use super::drive::{Judgement, Work};
use super::http::{self, Answer};

/// Requests for names of one domain.
#[derive(Debug)]
pub struct Resolve {
    /// Where.
    pub host: String,
    /// Path of the domain.
    pub domain: String,
    /// Names 0 to this.
    pub names: u64,
    /// Most requests; the duration of a run ends it sooner.
    pub requests: u64,
}

/// The name of a number.
pub fn name_of(number: u64) -> String {
    format!("n{number}")
}

/// Where the name of a number points.
pub fn target_of(number: u64) -> String {
    format!("https://target.example.org/n{number}")
}

impl Resolve {
    /// The number that is asked for in a turn: first each name once in order, so that what fits into the cache is
    /// there, then any.
    fn drawn(&self, turn: u64) -> u64 {
        if turn < self.names && self.names <= WARM { turn } else { scatter(turn) % self.names.max(1) }
    }
}

/// Up to so many names are asked for once each before they are drawn.
const WARM: u64 = 10_000;

/// Steele, Lea and Flood's SplitMix64: a permutation of the 64-bit numbers that looks like chance.
pub fn scatter(turn: u64) -> u64 {
    let mut z = turn.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Work for Resolve {
    type Ack = ();

    fn turns(&self) -> u64 {
        self.requests
    }

    fn write(&self, turn: u64, out: &mut Vec<u8>) {
        http::get(out, &self.host, format_args!("/{}/n{}", self.domain, self.drawn(turn)));
    }

    fn judge(&self, turn: u64, answer: &Answer<'_>) -> Judgement<()> {
        if answer.status != 302 {
            return Judgement::Refused;
        }
        let mut target = [0_u8; 64];
        let room = target.len();
        let mut rest = &mut target[..];
        let number = self.drawn(turn);
        let _ = std::io::Write::write_fmt(&mut rest, format_args!("https://target.example.org/n{number}"));
        let length = room - rest.len();
        if answer.location == &target[..length] {
            Judgement::Right(None)
        } else {
            Judgement::Wrong("a redirect to somewhere else")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn few_names_are_all_asked_for_first_and_many_are_drawn_evenly() {
        let resolve = |names| Resolve { host: "h:1".into(), domain: "d".into(), names, requests: u64::MAX };
        let few = resolve(1_000);
        assert_eq!((0..1_000).map(|turn| few.drawn(turn)).collect::<HashSet<_>>().len(), 1_000);
        let many = resolve(1_000_000);
        let low = (0..10_000).filter(|turn| many.drawn(*turn) < 500_000).count();
        assert!((4_700..5_300).contains(&low), "{low}");
    }

    #[test]
    fn a_redirect_must_lead_where_the_name_points() {
        let resolve = Resolve { host: "h:1".into(), domain: "d".into(), names: 10, requests: 10 };
        let of = |status, location: &str| {
            resolve.judge(3, &Answer { status, location: location.as_bytes(), body: b"", closing: false })
        };
        assert!(matches!(of(302, &target_of(3)), Judgement::Right(None)));
        assert!(matches!(of(302, &target_of(4)), Judgement::Wrong(_)));
        assert!(matches!(of(404, ""), Judgement::Refused));
    }
}
