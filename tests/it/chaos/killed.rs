//! PostgreSQL killed, all of it at once, while a server goes on taking ballots and names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use resolute::db::Target;
use resolute::db::cluster::Cluster;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::cluster::temporary;
use crate::outage::{command, family, postmaster, settings};
use crate::support::process::{Server, url};
use crate::support::wire::WireAnswer;

/// Ballots, and names.
const EACH: usize = 160;
/// Threads that send, each one thing after the other.
const THREADS: usize = 8;

/// Something to write.
struct Write {
    method: &'static str,
    path: String,
    token: String,
    key: String,
    body: String,
}

impl Write {
    fn send(&self, server: &Server) -> WireAnswer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", self.key.as_str()),
        ];
        server
            .request(self.method, &self.path, &headers, &self.body)
            .expect("the server is there all the time")
    }
}

/// What the tries of one write came to.
#[derive(Default)]
struct Tries {
    refused: usize,
    unknown: usize,
}

/// Tries until it is written. "Unavailable" promises that nothing was: then no retry finds it done.
fn until_written(server: &Server, write: &Write) -> Tries {
    let (mut tries, end) = (Tries::default(), Instant::now() + Duration::from_mins(1));
    loop {
        let answer = write.send(server);
        let problem: Value = serde_json::from_str(&answer.body).expect("JSON");
        match (answer.status, problem["code"].as_str()) {
            (201, _) => {
                let replayed = answer.header("idempotency-replayed") == Some("true");
                assert!(!replayed || tries.unknown > 0, "{}: refused, and yet it was written", write.path);
                return tries;
            }
            (503, Some("unavailable")) => tries.refused += 1,
            (503, Some("outcome_unknown")) => tries.unknown += 1,
            _ => panic!("{} {}", answer.status, answer.body),
        }
        assert!(Instant::now() < end, "it is never written: {}", answer.body);
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn post(server: &Server, path: &str, token: &str, body: &Value) -> Value {
    let write = Write {
        method: "POST",
        path: path.into(),
        token: token.into(),
        key: format!("set up {path} {body}").chars().filter(char::is_ascii_alphanumeric).take(60).collect(),
        body: body.to_string(),
    };
    let answer = write.send(server);
    assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

/// A domain, an open poll, and everything that is to be written, ballots and names in turn; the key and the poll.
fn set_up(server: &Server, database: &str) -> (Vec<Write>, String, String) {
    command(database, &["tenant", "create", "--slug", "acme"]);
    let key = command(database, &["key", "create", "--tenant", "acme", "--scope", "admin"]);
    let operator = command(database, &["key", "create", "--scope", "operator"]);
    post(server, "/api/v1/domains", &operator, &json!({"path": "acme", "tenant": "acme"}));
    let meeting = post(server, "/api/v1/meetings", &key, &json!({"title": "M"}));
    let meeting = format!("/api/v1/meetings/{}", meeting["id"].as_str().expect("an id"));
    let people: Vec<_> = (0..EACH).map(|number| json!({"name": format!("Voter {number}")})).collect();
    let people = post(server, &format!("{meeting}/participants"), &key, &json!({"participants": people}));
    for state in ["preparing", "active"] {
        post(server, &format!("{meeting}/state"), &key, &json!({"state": state}));
    }
    let poll = json!({"title": "P", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    let poll = post(server, &format!("{meeting}/polls"), &key, &poll);
    let path = format!("/api/v1/polls/{}", poll["id"].as_str().expect("an id"));
    post(server, &format!("{path}/open"), &key, &json!({}));
    let mut writes = Vec::new();
    for (number, person) in people["participants"].as_array().expect("people").iter().enumerate() {
        writes.push(Write {
            method: "PUT",
            path: format!("{path}/ballot"),
            token: person["token"].as_str().expect("a token").into(),
            key: "cast".into(),
            body: json!({"options": [poll["options"][0]["id"]]}).to_string(),
        });
        let (name, target) = (format!("n{number}"), format!("https://example.org/{number}"));
        writes.push(Write {
            method: "POST",
            path: "/api/v1/purls".into(),
            token: key.clone(),
            key: name.clone(),
            body: json!({"domain": "acme", "name": name, "target": target}).to_string(),
        });
    }
    (writes, key, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_database_was_killed_in_the_middle_of_a_burst_everything_is_written_once() {
    let dir = temporary();
    let data_dir = dir.path().join("data");
    let cluster = Cluster::start(&settings(&data_dir)).await.expect("a cluster");
    let target = Target::socket(cluster.socket_dir(), cluster.port(), cluster.user(), cluster.database());
    let database = url(&target);
    let server = Server::start(&[("DATABASE_URL", &database)]);
    let (writes, key, poll) = set_up(&server, &database);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let runtime = tokio::runtime::Handle::current();
    let (tries, cluster) = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut all = Vec::new();
                    while let Some(write) = writes.get(next.fetch_add(1, Ordering::Relaxed)) {
                        all.push(until_written(&server, write));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    all
                })
            })
            .collect();
        while done.load(Ordering::Relaxed) < EACH / 2 {
            assert!(senders.iter().any(|sender| !sender.is_finished()), "no sender is left");
            std::thread::sleep(Duration::from_millis(1));
        }
        let killed = postmaster(&data_dir);
        for pid in std::iter::once(killed).chain(family(killed)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let at_the_kill = done.load(Ordering::Relaxed);
        assert!(at_the_kill < writes.len(), "the kill came after the last write");
        let again = async {
            cluster.died().await;
            drop(cluster);
            Cluster::start(&settings(&data_dir)).await.expect("a cluster")
        };
        let cluster = tokio::task::block_in_place(|| runtime.block_on(again));
        let tries = senders.into_iter().flat_map(|sender| sender.join().expect("a sender"));
        (tries.collect::<Vec<_>>(), cluster)
    });
    assert_eq!(tries.len(), 2 * EACH);
    assert!(tries.iter().any(|tries| tries.refused + tries.unknown > 0), "nobody noticed");
    for write in &writes {
        let again = write.send(&server);
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (201, Some("true")),
            "an acknowledged write was lost: {}",
            again.body
        );
    }
    for number in 0..EACH {
        let answer = server.request("GET", &format!("/acme/n{number}"), &[], "").expect("an answer");
        assert_eq!(answer.header("location"), Some(&*format!("https://example.org/{number}")));
    }
    let closed = post(&server, &format!("{poll}/close"), &key, &json!({}));
    assert_eq!(closed["cast"]["heads"], EACH);
    assert_eq!(closed["record"]["closed_event_index"], EACH + 1, "each place of the log once");
    drop(server);
    cluster.stop().await.expect("stops");
}
