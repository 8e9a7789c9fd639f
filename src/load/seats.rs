//! Many people want one of few seats: everybody casts for the same option, and exactly as many as it has seats get one.
//! Whoever comes too late must be told so in the right words.

use serde::Serialize;
use serde_json::{Value, json};

use super::compare::Ledger;
use super::drive::{Judgement, Work};
use super::http::Answer;
use super::seed::Hall;
use super::votes::{Receipt, Votes};

/// The race for the first option of each poll.
#[derive(Debug)]
pub struct Seats {
    /// Who casts what; halls whose polls have their first option alone.
    votes: Votes,
}

/// How a race ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// Seats there were.
    pub seats: u64,
    /// Told that there is no seat left.
    pub too_late: u64,
    /// Ballots that are stored.
    pub sold: u64,
    /// Seats that the server counts as taken.
    pub counted: u64,
}

impl Race {
    /// Whether every seat was given to somebody and none twice; nobody is told that there is none while there is one.
    pub fn is_exact(&self) -> bool {
        self.sold == self.counted
            && self.sold <= self.seats
            && (self.too_late == 0 || self.sold == self.seats)
    }
}

impl Seats {
    /// Everybody in the hall, on its polls.
    pub fn new(host: String, mut hall: Hall) -> Self {
        for (_, options) in &mut hall.polls {
            options.truncate(1);
        }
        Self { votes: Votes::all(host, vec![hall]) }
    }

    /// The settings of a poll whose first option has so many seats.
    pub fn settings(seats: u64) -> Value {
        json!({
            "title": "Load test", "ballot_kind": "single_choice", "results": "live",
            "options": [{ "title": "Seat", "seats": seats }, { "title": "No seat" }],
        })
    }

    /// What clients were told; rows are (poll, participant).
    pub fn ledger(&self, acks: &[(u64, Receipt)], unknown: &[u64]) -> Ledger<(i64, i64), Receipt> {
        let mut ledgers = self.votes.ledgers(acks, unknown).into_values();
        ledgers.next().unwrap_or_else(|| Ledger::new([], []))
    }
}

impl Work for Seats {
    type Ack = Receipt;

    fn turns(&self) -> u64 {
        self.votes.turns()
    }

    fn write(&self, turn: u64, out: &mut Vec<u8>) {
        self.votes.write(turn, out);
    }

    fn judge(&self, turn: u64, answer: &Answer<'_>) -> Judgement<Receipt> {
        let code = || serde_json::from_slice::<Value>(answer.body).ok()?["code"].as_str().map(str::to_owned);
        if answer.status == 409 && code().as_deref() == Some("option_full") {
            return Judgement::Right(None);
        }
        self.votes.judge(turn, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_is_exact_when_all_seats_and_no_more_are_sold() {
        let race = |seats, too_late, sold| Race { seats, too_late, sold, counted: sold }.is_exact();
        assert!(race(50, 10, 50) && race(50, 0, 50) && race(50, 0, 20));
        assert!(!race(50, 10, 51), "oversold");
        assert!(!race(50, 0, 51), "oversold");
        assert!(!race(50, 11, 49), "somebody was refused a seat that there was");
        assert!(!Race { seats: 50, too_late: 0, sold: 3, counted: 4 }.is_exact(), "a seat that nobody has");
    }

    #[test]
    fn a_full_option_is_a_right_answer_and_other_conflicts_are_not() {
        let hall = Hall { tenant_id: 1, voters: vec![(1, "t".into())], polls: vec![(3, vec![7, 8])] };
        let seats = Seats::new("h:1".into(), hall);
        let of = |status, code: &str| {
            let body = format!(r#"{{"code":"{code}"}}"#);
            seats.judge(0, &Answer { status, location: b"", body: body.as_bytes(), closing: false })
        };
        assert!(matches!(of(409, "option_full"), Judgement::Right(None)));
        assert!(matches!(of(409, "already_voted"), Judgement::Refused));
        assert!(matches!(of(503, "option_full"), Judgement::Refused));
        let mut request = Vec::new();
        seats.write(0, &mut request);
        assert!(String::from_utf8(request).unwrap().ends_with(r#"{"options":["7"]}"#));
    }
}
