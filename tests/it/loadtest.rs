//! `resolute loadtest` against a real server: it loses nothing, leaves nothing, and notices what is lost behind its back.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Output;
use std::time::{Duration, Instant};

use resolute::db::audit::Actor;
use resolute::load::Aim;
use resolute::load::drive::drive;
use resolute::load::resolve::{Resolve, target_of};
use resolute::tenancy::slug::Slug;
use resolute::tenancy::store;
use serde_json::{Value, json};
use sqlx::PgConnection;
use tempfile::TempDir;

use crate::support::database::TestDatabase;
use crate::support::process::{Server, resolute, url};

/// A server and a directory in which the command runs.
struct Stand {
    database: TestDatabase,
    server: Server,
    directory: TempDir,
}

impl Stand {
    async fn start() -> Self {
        let database = TestDatabase::create().await;
        let server = Server::start(&[("DATABASE_URL", &url(database.target()))]);
        Self { database, server, directory: tempfile::tempdir().expect("a directory") }
    }

    fn command(&self, arguments: &str) -> std::process::Command {
        let arguments: Vec<&str> = ["loadtest"].into_iter().chain(arguments.split(' ')).collect();
        let mut command = resolute(&arguments, &[("DATABASE_URL", &url(self.database.target()))]);
        command.current_dir(self.directory.path());
        command
    }

    fn scenario(&self, arguments: &str) -> std::process::Command {
        self.command(&format!("{arguments} --json --url http://{}", self.server.address))
    }

    /// Runs to the end; report and exit status.
    fn run(&self, arguments: &str) -> (Value, Option<i32>) {
        judge(&self.scenario(arguments).output().expect("it runs"))
    }

    /// A connection behind the server's back.
    async fn connection(&self) -> PgConnection {
        TestDatabase::connect(self.database.target()).await
    }

    /// Runs while `sql` is tried until it has changed one row.
    async fn run_while(&self, arguments: &str, sql: &'static str) -> (Value, Option<i32>) {
        let mut connection = self.connection().await;
        let mut scenario = self.scenario(arguments);
        scenario.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let running = scenario.spawn().expect("it runs");
        let end = Instant::now() + Duration::from_secs(30);
        while sqlx::query(sql).execute(&mut connection).await.expect("SQL of the test").rows_affected() == 0 {
            assert!(Instant::now() < end, "nothing was ever written");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        judge(&running.wait_with_output().expect("it ends"))
    }

    /// Rows of what a run makes, all tables together.
    async fn rows(&self) -> i64 {
        let count = "SELECT (SELECT count(*) FROM tenants) + (SELECT count(*) FROM api_keys) + (SELECT count(*) FROM domains)
             + (SELECT count(*) FROM domain_state) + (SELECT count(*) FROM purls) + (SELECT count(*) FROM meetings)
             + (SELECT count(*) FROM participants) + (SELECT count(*) FROM polls) + (SELECT count(*) FROM poll_options)
             + (SELECT count(*) FROM poll_seats) + (SELECT count(*) FROM poll_electorate) + (SELECT count(*) FROM ballots) + (SELECT count(*) FROM poll_events)";
        sqlx::query_scalar(count).fetch_one(&mut self.connection().await).await.expect("SQL of the test")
    }

    async fn other_tenant(&self) {
        let mut connection = self.connection().await;
        let slug = Slug::parse("acme").expect("a slug");
        let now = crate::support::NOW;
        store::insert_tenant(&mut connection, Actor::CommandLine, &slug, "Acme", now)
            .await
            .expect("a tenant");
    }
}

#[track_caller]
fn judge(output: &Output) -> (Value, Option<i32>) {
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn votes_purls_and_redirects_are_right_and_nothing_is_left() {
    let stand = Stand::start().await;
    stand.other_tenant().await;
    let (votes, status) = stand.run("votes --participants 15 --polls 2 --tenants 2 --concurrency 8");
    assert_eq!(status, Some(0), "{votes:#}");
    assert_eq!((&votes["answered"], &votes["integrity"]["stored"]), (&60.into(), &60.into()));
    let (purls, status) = stand.run("purls --names 40 --domains 3 --concurrency 8 --rate 400");
    assert_eq!(status, Some(0), "{purls:#}");
    assert_eq!((&purls["answered"], &purls["integrity"]["stored"]), (&40.into(), &40.into()));
    let (votes, status) =
        stand.run("votes --participants 15 --polls 2 --tenants 2 --before 5 --concurrency 8");
    assert_eq!(status, Some(0), "{votes:#}");
    assert_eq!((&votes["answered"], &votes["integrity"]["stored"]), (&40.into(), &60.into()));
    let (purls, status) = stand.run("purls --names 40 --existing 200 --concurrency 8");
    assert_eq!(status, Some(0), "{purls:#}");
    assert_eq!((&purls["answered"], &purls["integrity"]["stored"]), (&40.into(), &40.into()));
    let (resolve, status) = stand.run("resolve --names 20 --concurrency 4 --duration 1");
    assert_eq!(status, Some(0), "{resolve:#}");
    assert!(resolve["answered"].as_u64() > Some(0) && resolve["integrity"].is_null(), "{resolve:#}");
    assert_eq!(stand.rows().await, 1, "only the tenant that was there");
    let manifests = std::fs::read_dir(stand.directory.path().join("data/loadtest")).expect("a directory");
    assert_eq!(manifests.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ballot_that_vanishes_behind_its_back_is_noticed() {
    let stand = Stand::start().await;
    let delete = "DELETE FROM ballots WHERE ctid = (SELECT min(ctid) FROM ballots)";
    let (report, status) = stand.run_while("votes --participants 60 --concurrency 2 --rate 60", delete).await;
    assert_eq!(status, Some(1), "{report:#}");
    let found = &report["integrity"];
    assert_eq!((&found["acknowledged_but_missing"], &found["log_faults"]), (&1.into(), &1.into()));
    assert_eq!((&found["acknowledged"], &found["stored"]), (&60.into(), &59.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_changed_and_one_that_nobody_made_are_noticed() {
    let stand = Stand::start().await;
    let change = "UPDATE purls SET target = 'https://elsewhere.example/' WHERE name_key = 'n0'";
    let (report, status) = stand.run_while("purls --names 30 --concurrency 2 --rate 60", change).await;
    assert_eq!((status, &report["integrity"]["stored_otherwise"]), (Some(1), &1.into()), "{report:#}");
    let invent = "INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
         SELECT tenant_id, domain_id, 'x', 'x', status, target, created_at, updated_at FROM purls WHERE name_key = 'n0'";
    let (report, status) = stand.run_while("purls --names 30 --concurrency 2 --rate 60", invent).await;
    assert_eq!((status, &report["integrity"]["stored_but_not_acknowledged"]), (Some(1), &1.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_is_removed_by_its_manifest_and_nothing_else_is() {
    let stand = Stand::start().await;
    stand.other_tenant().await;
    let (report, status) = stand.run("purls --names 5 --concurrency 1 --keep --manifest kept.json");
    assert_eq!(status, Some(0), "{report:#}");
    assert_eq!(stand.rows().await, 1 + 9, "tenant, key, domain and its state, five names");

    let manifest = stand.directory.path().join("kept.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let slug = format!("loadtest-{}", report["run"].as_str().expect("an id"));
    std::fs::write(&manifest, text.replace(&format!("\"slug\": \"{slug}\""), "\"slug\": \"acme\""))
        .expect("written");
    let refused = stand.command("cleanup kept.json").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(stand.rows().await, 1 + 9);

    std::fs::write(&manifest, text).expect("written");
    let cleaned = stand.command("cleanup kept.json").output().expect("it runs");
    assert_eq!(cleaned.status.code(), Some(0), "{}", String::from_utf8_lossy(&cleaned.stderr));
    assert_eq!(stand.rows().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_are_errors_and_a_rate_limit_is_named() {
    let database = TestDatabase::create().await;
    let limits = [("RESOLUTE__LIMITS__KEY_PER_SECOND", "1"), ("RESOLUTE__LIMITS__KEY_BURST", "5")];
    let database_url = url(database.target());
    let environment: Vec<_> = limits.into_iter().chain([("DATABASE_URL", &*database_url)]).collect();
    let server = Server::start(&environment);
    let stand = Stand { database, server, directory: tempfile::tempdir().expect("a directory") };
    let (report, status) = stand.run("purls --names 20 --concurrency 4");
    assert_eq!(status, Some(1));
    assert!(report["errors"]["429 rate_limited"].as_u64() >= Some(10), "{report:#}");
    assert!(report["warnings"][0].as_str().expect("a warning").contains("limits.key_per_second"));
    assert_eq!(report["integrity"]["acknowledged"], report["integrity"]["stored"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn racers_for_seats_get_exactly_those_there_are() {
    let stand = Stand::start().await;
    stand.other_tenant().await;
    let (report, status) = stand.run("seats --racers 90 --seats 30 --concurrency 16");
    assert_eq!(status, Some(0), "{report:#}");
    assert_eq!(report["race"], json!({"seats": 30, "too_late": 60, "sold": 30, "counted": 30}));
    assert_eq!((&report["answered"], &report["integrity"]["stored"]), (&90.into(), &30.into()));
    let free = "UPDATE poll_seats SET taken = taken - 1 WHERE taken = 5";
    let (report, status) =
        stand.run_while("seats --racers 40 --seats 20 --concurrency 1 --rate 40", free).await;
    assert_eq!(
        (status, &report["race"]["sold"]),
        (Some(1), &21.into()),
        "one too many is noticed: {report:#}"
    );
    assert_eq!(stand.rows().await, 1, "only the tenant that was there");
}

/// Answers each request on a socket with the next of these texts; an empty one breaks the connection.
fn scripted(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter();
        while let Ok((mut stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            // A request ends with an empty line; these have no body.
            while lines.by_ref().map_while(Result::ok).find(String::is_empty).is_some() {
                let Some(answer) = answers.next() else { return };
                if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_told_is_unknown_and_a_broken_connection_is_made_again() {
    let problem = |status: &str, code: &str| {
        let body = format!(r#"{{"code":"{code}"}}"#);
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let redirect = |number| {
        format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", target_of(number))
    };
    let address = scripted(vec![
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into(),
        redirect(0),
        String::new(),
        redirect(2),
        problem("503 Service Unavailable", "outcome_unknown"),
        problem("503 Service Unavailable", "unavailable"),
        redirect(7),
    ]);
    let work = Resolve { host: address.clone(), domain: "d".into(), names: 6, requests: 6 };
    let aim = Aim { address, replicas: Vec::new(), concurrency: 1, rate: None, duration: None, threads: 1 };
    let (driven, _) = drive(work, &aim, std::future::pending()).await.expect("it runs");
    assert_eq!(driven.latencies.count(), 2);
    assert_eq!(driven.unknown, [1, 3, 5], "a broken connection, the server's own doubt, and a wrong answer");
    let errors: Vec<(&str, u64)> = driven.errors.iter().map(|(class, times)| (&**class, *times)).collect();
    assert_eq!(
        errors,
        [
            ("503 outcome_unknown", 1),
            ("503 unavailable", 1),
            ("connection: unexpected end of file", 1),
            ("wrong answer: a redirect to somewhere else", 1)
        ]
    );
}
