//! Clients that are gone before their answer; those of ballots in a queue are in `voting/protocol.rs`.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use futures_util::future::join3;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::purl::Registry;
use crate::support::database::TestDatabase;
use crate::support::process::{Server, url};
use crate::support::{Actor, TestApp};
use crate::voting::Hall;

fn body(name: &str) -> Value {
    json!({"domain": "d", "name": name, "target": format!("https://e.org/{name}")})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_hangs_up_has_made_a_name_whole_or_not_at_all_and_learns_it_by_the_same_key() {
    let registry = Registry::start().await;
    registry.mint("first", "https://e.org/").await.expect(201);
    let mut holder = TestDatabase::connect(registry.app.target()).await;
    let hold = "BEGIN; SELECT FROM domain_state FOR UPDATE";
    sqlx::raw_sql(hold).execute(&mut holder).await.expect("held");
    let keyed = |key: &str| registry.editor.with("idempotency-key", key);
    let (writing, queued) = (keyed("writing"), keyed("queued"));
    // The first one's transaction waits for the domain, the second one for the batch after it.
    let under_way = timeout(Duration::from_millis(400), writing.post("/api/v1/purls", body("writing")));
    let behind = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        timeout(Duration::from_millis(150), queued.post("/api/v1/purls", body("queued"))).await
    };
    let released = async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.expect("released");
    };
    let (first, second, ()) = join3(under_way, behind, released).await;
    assert!(first.is_err() && second.is_err(), "both were waiting");
    let retried = writing.post("/api/v1/purls", body("writing")).await.expect(201);
    assert_eq!(retried.header("idempotency-replayed"), "true", "it was under way, and is whole");
    let retried = queued.post("/api/v1/purls", body("queued")).await.expect(201);
    assert_eq!(retried.header("idempotency-replayed"), "", "nothing of it had begun");
    registry.leads("/d/writing", "https://e.org/writing").await;
}

/// A request as bytes.
fn request(server: &Server, (method, path): (&str, &str), actor: &Actor, key: &str, body: &Value) -> String {
    let (token, body) = (actor.token(), body.to_string());
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_gone_in_the_middle_of_its_request_has_written_nothing_and_after_it_once_or_not() {
    let app = TestApp::start().await;
    let hall = Hall::seated(&app, 2).await;
    let domain = json!({"path": "d", "tenant": "acme"});
    app.operator().await.post("/api/v1/domains", domain).await.expect(201);
    let poll = hall.poll(&["A"], json!({})).await;
    let database = url(app.target());
    let server = Server::start(&[("DATABASE_URL", &database)]);
    let ballot = poll.path("/ballot");
    let writes = |number: usize| {
        [
            (("PUT", &*ballot), &hall.voters[number], "ballot", poll.choose(0)),
            (
                ("POST", "/api/v1/purls"),
                &hall.chair,
                ["half", "whole"][number],
                body(["half", "whole"][number]),
            ),
        ]
    };
    for (number, whole) in [(0, false), (1, true)] {
        for (line, actor, key, body) in writes(number) {
            let bytes = request(&server, line, actor, key, &body);
            let sent = if whole { bytes.len() } else { bytes.len() - 5 };
            let mut stream = TcpStream::connect(&server.address).expect("connected");
            stream.write_all(&bytes.as_bytes()[..sent]).expect("sent");
            drop(stream);
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for number in [0, 1] {
        for ((method, path), actor, key, body) in writes(number) {
            let bearer = format!("Bearer {}", actor.token());
            let headers = [
                ("Authorization", bearer.as_str()),
                ("Content-Type", "application/json"),
                ("Idempotency-Key", key),
            ];
            let again = server.request(method, path, &headers, &body.to_string()).expect("an answer");
            assert_eq!(again.status, 201, "{path}: {}", again.body);
            if number == 0 {
                assert_eq!(again.header("idempotency-replayed"), None, "{path} had been sent in part only");
            }
        }
    }
    assert_eq!(hall.stored(&poll).await, 2);
    let names = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM purls");
    assert_eq!(names.fetch_one(app.db().management()).await.expect("a count"), 2);
    assert_eq!(hall.close(&poll).await.expect(200).json()["record"]["closed_event_index"], 3);
}
