//! kill -9 of the server and of its PostgreSQL in the middle of writes: every acknowledged write is there after a
//! restart, and what was not acknowledged is there once or not at all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cluster::temporary;
use crate::support::process::{Server, resolute};

const VOTERS: usize = 400;

fn command(data_dir: &str, arguments: &[&str]) -> String {
    let output = resolute(arguments, &[("RESOLUTE__DATABASE__DATA_DIR", data_dir)]).output().expect("runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Sends JSON and returns the answer's JSON, if it came and was a success.
fn send(server: &Server, method: &str, path: &str, token: &str, body: &Value) -> Option<Value> {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let answer = server.request(method, path, &headers, &body.to_string()).ok()?;
    (200..300).contains(&answer.status).then(|| serde_json::from_str(&answer.body).unwrap_or_default())
}

fn must(server: &Server, method: &str, path: &str, token: &str, body: &Value) -> Value {
    send(server, method, path, token, body).unwrap_or_else(|| panic!("{method} {path}"))
}

fn postmaster(data_dir: &Path) -> Pid {
    let text = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).expect("running");
    text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw).expect("a process id")
}

/// An open poll with its voters, and a domain.
struct Scene {
    key: String,
    poll: String,
    option: Value,
    tokens: Vec<String>,
}

fn set_up(server: &Server, data: &str) -> Scene {
    command(data, &["tenant", "create", "--slug", "acme"]);
    let key = command(data, &["key", "create", "--tenant", "acme", "--scope", "admin"]);
    let operator = command(data, &["key", "create", "--scope", "operator"]);
    must(server, "POST", "/api/v1/domains", &operator, &json!({"path": "acme", "tenant": "acme"}));

    let meeting = must(server, "POST", "/api/v1/meetings", &key, &json!({"title": "M"}))["id"]
        .as_str()
        .expect("id")
        .to_owned();
    for state in ["preparing", "active"] {
        must(server, "POST", &format!("/api/v1/meetings/{meeting}/state"), &key, &json!({"state": state}));
    }
    let people: Vec<Value> = (0..VOTERS).map(|n| json!({"name": format!("voter {n}")})).collect();
    let people = must(
        server,
        "POST",
        &format!("/api/v1/meetings/{meeting}/participants"),
        &key,
        &json!({"participants": people}),
    );
    let tokens: Vec<String> = people["participants"]
        .as_array()
        .expect("people")
        .iter()
        .map(|p| p["token"].as_str().expect("token").to_owned())
        .collect();
    let body =
        json!({"title": "P", "ballot_kind": "single_choice", "options": [{"title": "A"}, {"title": "B"}]});
    let poll = must(server, "POST", &format!("/api/v1/meetings/{meeting}/polls"), &key, &body);
    let (poll, option) = (poll["id"].as_str().expect("id").to_owned(), poll["options"][0]["id"].clone());
    must(server, "POST", &format!("/api/v1/polls/{poll}/open"), &key, &json!({}));
    Scene { key, poll, option, tokens }
}

#[test]
fn after_kill_9_of_server_and_cluster_every_acknowledged_write_is_there() {
    let dir = temporary();
    let data_dir = dir.path().join("data");
    let data = data_dir.to_str().expect("UTF-8").to_owned();
    let environment = [("RESOLUTE__DATABASE__DATA_DIR", data.as_str())];
    let server = Server::start(&environment);
    let Scene { key, poll, option, tokens } = set_up(&server, &data);

    let (names, ballots) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let ballot_path = format!("/api/v1/polls/{poll}/ballot");
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (server, names, key) = (&server, &names, &key);
            scope.spawn(move || {
                for n in 0..100_000 {
                    let name = format!("n-{thread}-{n}");
                    let body = json!({"domain": "acme", "name": name, "target": format!("https://example.org/{name}")});
                    if send(server, "POST", "/api/v1/purls", key, &body).is_none() {
                        return;
                    }
                    names.lock().expect("names").insert(name);
                }
            });
        }
        for half in tokens.chunks(VOTERS / 2) {
            let (server, ballots, path, option) = (&server, &ballots, &ballot_path, &option);
            scope.spawn(move || {
                for token in half {
                    if send(server, "PUT", path, token, &json!({"options": [option]})).is_none() {
                        return;
                    }
                    ballots.lock().expect("ballots").insert(token.clone());
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        // Until there is enough to tell by, and the voters are in the middle.
        let end = Instant::now() + Duration::from_secs(30);
        let enough =
            || names.lock().expect("names").len() > 30 && ballots.lock().expect("ballots").len() > 30;
        while !enough() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let cluster = postmaster(&data_dir);
        server.signal(Signal::KILL);
        kill_process(cluster, Signal::KILL).expect("the cluster is ours");
    });
    let (names, ballots) = (names.into_inner().expect("names"), ballots.into_inner().expect("ballots"));
    assert!(
        names.len() > 20 && ballots.len() > 20,
        "{} names, {} ballots: too few to tell",
        names.len(),
        ballots.len()
    );
    assert!(ballots.len() < VOTERS, "the kill came after the last ballot");
    drop(server);

    let mut server = Server::start(&environment);
    for name in &names {
        let answer = server.request("GET", &format!("/acme/{name}"), &[], "").expect("an answer");
        assert_eq!(
            answer.header("location"),
            Some(&*format!("https://example.org/{name}")),
            "{name} was lost"
        );
    }
    for token in &ballots {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let again = server
            .request("PUT", &ballot_path, &headers, &json!({"options": [option]}).to_string())
            .expect("an answer");
        assert_eq!(again.status, 409, "an acknowledged ballot was lost: {}", again.body);
    }
    let result = must(&server, "POST", &format!("/api/v1/polls/{poll}/close"), &key, &json!({}));
    let counted = usize::try_from(result["cast"]["heads"].as_u64().expect("heads")).expect("small");
    // Two casts were under way at most: each is there once or not at all.
    assert!(
        (ballots.len()..=ballots.len() + 2).contains(&counted),
        "{} acknowledged, {counted} counted",
        ballots.len()
    );
    server.signal(Signal::INT);
    assert!(server.wait().success());
}
