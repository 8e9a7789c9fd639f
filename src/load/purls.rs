//! Makes names, spread over the domains of one tenant. No Idempotency-Key is sent: it would store a second row.

use super::Ground;
use super::compare::Ledger;
use super::drive::{Judgement, Work};
use super::http::{self, Answer};
use super::resolve::{name_of, scatter, target_of};

/// The creations of a run.
#[derive(Debug)]
pub struct Purls {
    /// Where.
    pub host: String,
    /// In whose domains.
    pub ground: Ground,
    /// How many.
    pub names: u64,
    /// Names 0 to this are there already; new ones come between them.
    pub existing: u64,
}

impl Purls {
    fn domain(&self, turn: u64) -> &(i64, String) {
        let domains = &self.ground.domains;
        &domains[usize::try_from(turn % domains.len() as u64).unwrap_or_default()]
    }

    /// The name of a turn: beside any of those that exist, as where names are words, not next to the one before.
    fn name(&self, turn: u64) -> String {
        match self.existing {
            0 => name_of(turn),
            existing => format!("{}x{turn}", name_of(scatter(turn) % existing)),
        }
    }

    /// What clients were told: rows are (domain, name) with their target.
    pub fn ledger(&self, acks: &[(u64, ())], unknown: &[u64]) -> Ledger<(i64, String), String> {
        let key = |turn: u64| (self.domain(turn).0, self.name(turn));
        Ledger::new(
            acks.iter().map(|(turn, ())| (key(*turn), target_of(*turn))),
            unknown.iter().map(|turn| key(*turn)),
        )
    }
}

impl Work for Purls {
    type Ack = ();

    fn turns(&self) -> u64 {
        self.names
    }

    fn write(&self, turn: u64, out: &mut Vec<u8>) {
        let (_, domain) = self.domain(turn);
        let mut body = [0_u8; 256];
        let room = body.len();
        let mut rest = &mut body[..];
        let name = self.name(turn);
        // A path of at most 63 + 5 bytes and three times a number: it fits.
        let _ = std::io::Write::write_fmt(
            &mut rest,
            format_args!(
                r#"{{"domain":"{domain}","name":"{name}","target":"https://target.example.org/n{turn}"}}"#
            ),
        );
        let length = room - rest.len();
        http::send(
            out,
            ("POST", format_args!("/api/v1/purls")),
            (&self.host, &self.ground.key),
            format_args!(""),
            &body[..length],
        );
    }

    fn judge(&self, turn: u64, answer: &Answer<'_>) -> Judgement<()> {
        if answer.status != 201 {
            return Judgement::Refused;
        }
        let name = format!("\"name\":\"{}\"", self.name(turn));
        if answer.body.windows(name.len()).any(|part| part == name.as_bytes()) {
            Judgement::Right(Some(()))
        } else {
            Judgement::Wrong("a 201 of another name")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purls(domains: i64) -> Purls {
        let domains = (0..domains).map(|n| (n, format!("loadtest-x/{n}"))).collect();
        let ground = Ground { tenant_id: 1, slug: "loadtest-x".into(), key: "k".into(), domains };
        Purls { host: "h:1".into(), ground, names: 10, existing: 0 }
    }

    #[test]
    fn a_request_has_a_body_that_is_json_and_names_the_domain_of_its_turn() {
        let mut out = Vec::new();
        purls(2).write(7, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["domain"], "loadtest-x/1");
        assert_eq!((&body["name"], &body["target"]), (&name_of(7).into(), &target_of(7).into()));
    }

    #[test]
    fn names_beside_those_that_exist_are_none_of_them_and_all_different() {
        let purls = Purls { existing: 100, ..purls(1) };
        let names: std::collections::HashSet<_> = (0..1_000).map(|turn| purls.name(turn)).collect();
        assert_eq!(names.len(), 1_000);
        assert!((0..100).all(|number| !names.contains(&name_of(number))));
    }

    #[test]
    fn an_acknowledgement_names_what_was_asked_for() {
        let judge =
            |body: &[u8]| purls(1).judge(7, &Answer { status: 201, location: b"", body, closing: false });
        assert!(matches!(judge(br#"{"id":"1","name":"n7"}"#), Judgement::Right(_)));
        assert!(matches!(judge(br#"{"id":"1","name":"n70"}"#), Judgement::Wrong(_)));
    }
}
