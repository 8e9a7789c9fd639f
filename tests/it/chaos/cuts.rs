//! A burst whose every connection to the database is cut at the same point of its transaction.

use futures_util::future::join_all;
use resolute::config::Config;
use serde_json::{Value, json};

use crate::support::chaos::{ChaosProxy, Cut};
use crate::support::{Actor, Answer, TestApp};
use crate::voting::{Hall, Poll};

/// As it stands in the protocol, with its end: `READ COMMITTED` is another thing.
const COMMIT: &str = "COMMIT\0";
/// Ballots, and names, of a burst.
const EACH: usize = 30;

/// Something to write, with a key of its own.
struct Write {
    actor: Actor,
    ballot: bool,
    path: String,
    body: Value,
    /// How the database knows it.
    row: String,
}

impl Write {
    async fn send(&self) -> Answer {
        if self.ballot {
            self.actor.put(&self.path, self.body.clone()).await
        } else {
            self.actor.post(&self.path, self.body.clone()).await
        }
    }
}

/// Voters 1 and on, and as many names, through this server.
fn writes(hall: &Hall<'_>, poll: &Poll, server: &TestApp) -> Vec<Write> {
    let ballots = hall.voters.iter().zip(&hall.participants).skip(1).map(|(voter, participant)| Write {
        actor: server.bearer(voter.token()).with("idempotency-key", "cast"),
        ballot: true,
        path: poll.path("/ballot"),
        body: poll.choose(0),
        row: participant.clone(),
    });
    let names = (0..EACH).map(|number| {
        let name = format!("n{number}");
        Write {
            actor: server.bearer(hall.chair.token()).with("idempotency-key", &name),
            ballot: false,
            path: "/api/v1/purls".into(),
            body: json!({"domain": "d", "name": name, "target": format!("https://e.org/{name}")}),
            row: name,
        }
    });
    ballots.chain(names).collect()
}

/// What is stored, by the rows' own words.
async fn stored(app: &TestApp) -> Vec<String> {
    let rows = "SELECT participant_id::text FROM ballots UNION ALL SELECT name FROM purls";
    sqlx::query_scalar(rows).fetch_all(app.db().management()).await.expect("rows")
}

/// A burst that is cut at `text`, then sent again: with which answers the first try ended, and how many were stored by
/// it.
async fn burst(text: &str, when: Cut) -> (Vec<Answer>, usize) {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, EACH + 1).await;
    let domain = json!({"path": "d", "tenant": "acme"});
    app.operator().await.post("/api/v1/domains", domain).await.expect(201);
    let poll = hall.poll(&["A"], json!({})).await;
    let proxy = ChaosProxy::start().await;
    let behind = TestApp::over(&proxy.target(app.target()), Config::default());
    // Poll, key and domain are known, so that the burst is nothing but its transactions.
    poll.cast(&behind.bearer(hall.voters[0].token()), 0).await.expect(201);
    let first = json!({"domain": "d", "name": "first", "target": "https://e.org/"});
    behind.bearer(hall.chair.token()).post("/api/v1/purls", first).await.expect(201);
    let before = stored(&app).await.len();
    assert_eq!(before, 2);

    let writes = writes(&hall, &poll, &behind);
    proxy.cut_at(text, when);
    let answers = join_all(writes.iter().map(Write::send)).await;
    assert!(proxy.cuts() > 0, "nothing was cut");
    proxy.behave();
    let survived = stored(&app).await;
    for (write, answer) in writes.iter().zip(&answers) {
        let is_stored = survived.contains(&write.row);
        match answer.status.as_u16() {
            201 => assert!(is_stored, "{} was acknowledged and is lost", write.row),
            503 if answer.json()["code"] == "unavailable" => {
                assert!(!is_stored, "{} was refused and is stored", write.row);
            }
            503 => {
                assert_eq!(answer.json()["code"], "outcome_unknown");
                assert_eq!(text, COMMIT, "before COMMIT it is known that nothing was written");
            }
            other => panic!("{other} {}", answer.text()),
        }
    }

    let settled = join_all(writes.iter().map(Write::send)).await;
    for (write, answer) in writes.iter().zip(settled) {
        let replayed = if survived.contains(&write.row) { "true" } else { "" };
        assert_eq!(answer.expect(201).header("idempotency-replayed"), replayed, "{}", write.row);
    }
    assert_eq!(stored(&app).await.len(), before + 2 * EACH, "each once");
    let closed = hall.close(&poll).await.expect(200).json();
    assert_eq!(closed["cast"]["heads"], EACH + 1);
    assert_eq!(closed["record"]["closed_event_index"], EACH + 2, "no gap where a transaction was lost");
    (answers, survived.len() - before)
}

fn unknown(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| answer.json()["code"] == "outcome_unknown").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_cut_before_its_transactions_is_refused_and_nothing_of_it_is_stored() {
    let (answers, survived) = burst("BEGIN", Cut::Before).await;
    assert_eq!((unknown(&answers), survived), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_cut_inside_of_its_transactions_is_refused_and_nothing_of_it_is_stored() {
    let (answers, survived) = burst("BEGIN", Cut::After).await;
    assert_eq!((unknown(&answers), survived), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_cut_before_commit_is_unknown_and_a_retry_writes_it() {
    let (answers, survived) = burst(COMMIT, Cut::Before).await;
    assert!(unknown(&answers) > 0);
    assert_eq!(survived, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_cut_after_commit_is_unknown_and_a_retry_gets_the_first_answer() {
    let (answers, survived) = burst(COMMIT, Cut::After).await;
    assert_eq!(unknown(&answers), survived, "exactly what was committed unheard is unknown");
    assert!(survived > 0);
}
