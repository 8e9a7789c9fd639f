//! Everybody casts on every poll. Adjacent turns go to different polls, so that many polls are busy at once.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use super::compare::Ledger;
use super::drive::{Judgement, Work};
use super::http::{self, Answer};
use super::seed::Hall;

/// What a receipt says of a ballot's place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Place in the log.
    pub index: i64,
    /// Hash of the event.
    pub event_hash: [u8; 32],
}

/// The ballots of one or more halls.
#[derive(Debug)]
pub struct Votes {
    /// Where.
    pub host: String,
    /// Who and on what; all halls are of one size.
    pub halls: Vec<Hall>,
    /// Which of all casts are this work: those of the people who come first, or of those after them.
    pub part: Range<u64>,
}

#[derive(Deserialize)]
struct ReceiptBody<'a> {
    poll: &'a str,
    index: i64,
    event_hash: &'a str,
}

/// Who casts what where in a turn.
struct Cast<'a> {
    hall: &'a Hall,
    poll: usize,
    voter: usize,
}

impl Votes {
    /// Everybody's casts on every poll.
    pub fn all(host: String, halls: Vec<Hall>) -> Self {
        let casts = halls.iter().map(|hall| (hall.voters.len() * hall.polls.len()) as u64).sum();
        Self { host, halls, part: 0..casts }
    }

    /// Halls first, then polls, then people: casts that follow each other share as little as possible.
    fn cast(&self, number: u64) -> Cast<'_> {
        let turn = usize::try_from(number).unwrap_or(usize::MAX);
        let halls = self.halls.len().max(1);
        let hall = &self.halls[turn % halls];
        let polls = hall.polls.len().max(1);
        Cast { hall, poll: turn / halls % polls, voter: turn / halls / polls }
    }

    /// A cast's number among all, from its turn.
    pub fn number(&self, turn: u64) -> u64 {
        self.part.start + turn
    }

    /// What clients were told, for each tenant, by the numbers of the casts: rows are (poll, participant).
    pub fn ledgers(
        &self,
        acks: &[(u64, Receipt)],
        unknown: &[u64],
    ) -> HashMap<i64, Ledger<(i64, i64), Receipt>> {
        let key = |turn: u64| {
            let cast = self.cast(turn);
            (cast.hall.tenant_id, (cast.hall.polls[cast.poll].0, cast.hall.voters[cast.voter].0))
        };
        let tenant = |hall: &Hall| {
            let told = acks.iter().filter_map(|(turn, receipt)| {
                let (tenant_id, row) = key(*turn);
                (tenant_id == hall.tenant_id).then_some((row, *receipt))
            });
            let unknown = unknown.iter().filter_map(|turn| {
                let (tenant_id, row) = key(*turn);
                (tenant_id == hall.tenant_id).then_some(row)
            });
            (hall.tenant_id, Ledger::new(told, unknown))
        };
        self.halls.iter().map(tenant).collect()
    }
}

impl Work for Votes {
    type Ack = Receipt;

    fn turns(&self) -> u64 {
        self.part.end - self.part.start
    }

    fn write(&self, turn: u64, out: &mut Vec<u8>) {
        let Cast { hall, poll, voter } = self.cast(self.number(turn));
        let ((poll_id, options), (_, token)) = (&hall.polls[poll], &hall.voters[voter]);
        let choice = options[voter % options.len()];
        let mut body = [0_u8; 48];
        let room = body.len();
        let mut rest = &mut body[..];
        // Twenty digits at most.
        let _ = std::io::Write::write_fmt(&mut rest, format_args!("{{\"options\":[\"{choice}\"]}}"));
        let length = room - rest.len();
        http::send(
            out,
            ("PUT", format_args!("/api/v1/polls/{poll_id}/ballot")),
            (&self.host, token),
            format_args!("Idempotency-Key: loadtest-{turn}\r\n"),
            &body[..length],
        );
    }

    fn judge(&self, turn: u64, answer: &Answer<'_>) -> Judgement<Receipt> {
        if answer.status != 201 {
            return Judgement::Refused;
        }
        let Cast { hall, poll, .. } = self.cast(self.number(turn));
        let Ok(receipt) = serde_json::from_slice::<ReceiptBody<'_>>(answer.body) else {
            return Judgement::Wrong("a 201 without a receipt");
        };
        if receipt.poll.parse() != Ok(hall.polls[poll].0) {
            return Judgement::Wrong("a receipt of another poll");
        }
        match hash(receipt.event_hash) {
            Some(event_hash) => Judgement::Right(Some(Receipt { index: receipt.index, event_hash })),
            None => Judgement::Wrong("a receipt without a hash"),
        }
    }
}

/// 64 hexadecimal digits.
fn hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn votes(halls: i64, voters: i64, polls: i64) -> Votes {
        let hall = |tenant_id| Hall {
            tenant_id,
            voters: (0..voters).map(|n| (tenant_id * 1_000 + n, format!("t{n}"))).collect(),
            polls: (0..polls).map(|n| (tenant_id * 1_000 + n, vec![1, 2])).collect(),
        };
        Votes::all("h:1".into(), (0..halls).map(hall).collect())
    }

    #[test]
    fn everybody_casts_once_on_every_poll() {
        let votes = votes(3, 5, 7);
        let casts: HashSet<_> = (0..votes.turns())
            .map(|turn| {
                let cast = votes.cast(turn);
                (cast.hall.tenant_id, cast.poll, cast.voter)
            })
            .collect();
        assert_eq!(casts.len(), 3 * 5 * 7);
    }

    #[test]
    fn of_two_parts_each_cast_is_in_one() {
        let mut votes = votes(2, 5, 3);
        let all = votes.turns();
        let whole: Vec<_> = (0..all).map(|turn| written(&votes, turn)).collect();
        let mut parts = Vec::new();
        for part in [0..12, 12..all] {
            votes.part = part;
            parts.extend((0..votes.turns()).map(|turn| written(&votes, turn)));
        }
        // The key is the turn's; whoever casts where, and what, is not.
        assert_eq!(parts, whole);
    }

    fn written(votes: &Votes, turn: u64) -> String {
        let mut out = Vec::new();
        votes.write(turn, &mut out);
        let text = String::from_utf8(out).unwrap();
        text.lines().filter(|line| !line.starts_with("Idempotency-Key")).collect()
    }

    #[test]
    fn a_receipt_must_be_of_this_poll_and_whole() {
        let votes = votes(1, 1, 1);
        let of = |status, body: &str| {
            let body = body.as_bytes();
            votes.judge(0, &Answer { status, location: b"", body, closing: false })
        };
        let good = format!(r#"{{"poll":"0","index":4,"event_hash":"{}","more":1}}"#, "ab".repeat(32));
        let expected = Receipt { index: 4, event_hash: [0xab; 32] };
        assert!(matches!(of(201, &good), Judgement::Right(Some(receipt)) if receipt == expected));
        assert!(matches!(of(201, &good.replace("\"0\"", "\"1\"")), Judgement::Wrong(_)));
        assert!(matches!(of(201, &good.replace("ab", "a")), Judgement::Wrong(_)));
        assert!(matches!(of(201, "{}"), Judgement::Wrong(_)));
        assert!(matches!(of(409, &good), Judgement::Refused));
    }
}
