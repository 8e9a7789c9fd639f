//! The real binary: start, refusal to start, and stop under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::TestApp;
use crate::support::database::TestDatabase;
use crate::support::process::{Server, resolute, url};
use crate::support::wire;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_under_load_loses_no_request_and_turns_readiness_off_first() {
    let database = TestDatabase::create().await;
    let url = url(database.target());
    let mut server = Server::start(&[("DATABASE_URL", &url), ("RESOLUTE__SERVER__DRAIN_DELAY_SECONDS", "1")]);
    assert_eq!(server.request("GET", "/health/ready", &[], "").expect("answer").status, 200);
    let (stop, saw_unready) = (AtomicBool::new(false), AtomicBool::new(false));
    let failures = std::thread::scope(|scope| {
        let load: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let (mut answers, mut failures) = (0_u32, Vec::new());
                    while !stop.load(Ordering::Relaxed) {
                        match wire::request(&server.address, "GET", "/health/ready", &[], "") {
                            Ok(answer) if answer.status == 200 => {}
                            Ok(answer) => {
                                assert_eq!(answer.status, 503);
                                assert!(answer.body.contains("\"draining\":true"), "{}", answer.body);
                                assert_eq!(answer.header("connection"), Some("close"));
                                // What a load balancer does: it sends no more here.
                                saw_unready.store(true, Ordering::Relaxed);
                                break;
                            }
                            Err(error) => failures.push(error),
                        }
                        answers += 1;
                    }
                    assert!(answers > 0);
                    failures
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        server.signal(Signal::TERM);
        let end = Instant::now() + Duration::from_secs(20);
        while !load.iter().all(std::thread::ScopedJoinHandle::is_finished) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        load.into_iter().flat_map(|thread| thread.join().expect("load")).collect::<Vec<_>>()
    });
    assert!(server.wait().success());
    assert!(saw_unready.load(Ordering::Relaxed), "readiness was never off");
    assert!(failures.is_empty(), "{failures:?}");
}

#[tokio::test]
async fn a_schema_that_is_not_the_programs_is_refused() {
    let empty = TestDatabase::create_empty().await;
    let environment = [
        ("DATABASE_URL", &*url(empty.target())),
        ("RESOLUTE__DATABASE__MIGRATE_AT_START", "false"),
        ("PORT", "0"),
        ("RESOLUTE__OPS__LISTEN", ""),
    ];
    let refused = resolute(&["serve"], &environment).output().expect("runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("resolute migrate"), "{}", text(&refused.stderr));

    let done = resolute(&["migrate", "--json"], &environment).output().expect("runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let again = resolute(&["migrate"], &environment).output().expect("runs");
    assert_eq!(text(&again.stdout), "the schema is up to date\n");

    let mut connection = TestDatabase::connect(empty.target()).await;
    sqlx::query("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', true, '', 0)")
        .execute(&mut connection)
        .await
        .expect("a row");
    for command in [&["serve"][..], &["migrate"][..], &["key", "list"][..]] {
        let refused = resolute(command, &environment).output().expect("runs");
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(text(&refused.stderr).contains("newer"), "{}", text(&refused.stderr));
    }
}

#[test]
fn configuration_faults_are_all_named_and_wrong_usage_exits_2() {
    let environment = [
        ("RESOLUTE__SERVER__LISTEN", "nowhere"),
        ("RESOLUTE__DATABASE__URL", "mysql://x"),
        ("RESOLUTE__HEADROOM__WARN_RATIO", "2"),
    ];
    let refused = resolute(&["serve"], &environment).output().expect("runs");
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    for name in ["server.listen", "database.url", "headroom.warn_ratio"] {
        assert!(said.contains(name), "{said}");
    }
    let check = resolute(&["config", "check", "--json"], &environment).output().expect("runs");
    assert_eq!(check.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&check.stdout).expect("JSON");
    assert_eq!(json["faults"].as_array().map(Vec::len), Some(3), "{json}");
    assert_eq!(resolute(&["config", "check"], &[]).status().expect("runs").code(), Some(0));

    assert_eq!(resolute(&["serv"], &[]).output().expect("runs").status.code(), Some(2));
    assert_eq!(
        resolute(&["key", "create", "--scope", "editor"], &[]).output().expect("runs").status.code(),
        Some(2)
    );
    assert_eq!(
        resolute(&["key", "create", "--scope", "king"], &[]).output().expect("runs").status.code(),
        Some(2)
    );
    assert_eq!(resolute(&["--help"], &[]).output().expect("runs").status.code(), Some(0));
}

#[test]
fn a_command_in_the_wrong_directory_says_so_and_makes_no_database() {
    let temporary = tempfile::tempdir().expect("temporary directory");
    let data = temporary.path().join("data");
    let environment = [("RESOLUTE__DATABASE__DATA_DIR", data.to_str().expect("UTF-8"))];
    for command in [&["headroom"][..], &["key", "list"], &["import", "csv", "/dev/null", "--tenant", "acme"]]
    {
        let refused = resolute(command, &environment).output().expect("runs");
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("there is no database") && said.contains("DATABASE_URL"), "{said}");
    }
    assert!(!data.exists());
}

#[tokio::test]
async fn commands_make_tenants_and_keys_that_the_server_accepts() {
    let database = TestDatabase::create().await;
    let url = url(database.target());
    let environment = [("DATABASE_URL", &*url)];
    let run = |arguments: &[&str]| resolute(arguments, &environment).output().expect("runs");
    assert!(run(&["tenant", "create", "--slug", "acme", "--name", "Acme"]).status.success());
    let twice = run(&["tenant", "create", "--slug", "acme"]);
    assert_eq!(twice.status.code(), Some(1));
    assert!(text(&twice.stderr).contains("already"));
    let made = run(&["key", "create", "--tenant", "acme", "--scope", "admin", "--expires", "90d"]);
    let key = text(&made.stdout).trim().to_owned();
    assert!(key.starts_with("rsl_"), "{}", text(&made.stderr));

    let server = Server::start(&environment);
    let bearer = format!("Bearer {key}");
    let authorization = [("Authorization", bearer.as_str())];
    let id = key.split('_').nth(1).expect("id");
    let read = || server.request("GET", &format!("/api/v1/keys/{id}"), &authorization, "").expect("answer");
    assert_eq!(read().status, 200);
    assert!(read().body.contains("\"expires_at\":\"20"));
    let listed = run(&["key", "list", "--tenant", "acme", "--json"]);
    assert!(!text(&listed.stdout).contains(&key), "a listing shows no secret");
    assert!(run(&["key", "revoke", id]).status.success());
    // Another process revoked it: within a second, from then on for ever.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(read().status, 401, "a revoked key is refused");
}

#[tokio::test]
async fn a_port_in_use_is_said_before_anything_is_touched() {
    let database = TestDatabase::create_empty().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("address").to_string();
    let url = url(database.target());
    let refused =
        resolute(&["serve", "--listen", &address], &[("DATABASE_URL", &url)]).output().expect("runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("server.listen"), "{}", text(&refused.stderr));
    let mut connection = TestDatabase::connect(database.target()).await;
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            .fetch_one(&mut connection)
            .await
            .expect("catalogue");
    assert_eq!(tables, 0);
}

#[tokio::test]
async fn a_wrong_master_secret_is_refused_with_the_reason_and_the_right_one_is_accepted() {
    let database = TestDatabase::create().await;
    let url = url(database.target());
    let (right, wrong) = ("ab".repeat(32), "cd".repeat(32));
    let environment = [("DATABASE_URL", url.as_str()), ("RESOLUTE__SECURITY__MASTER_SECRET", right.as_str())];
    let server = Server::start(&environment);
    let keys = server.request("GET", "/.well-known/resolute-keys.json", &[], "").expect("an answer");
    drop(server);
    let again = Server::start(&environment)
        .request("GET", "/.well-known/resolute-keys.json", &[], "")
        .expect("an answer");
    assert_eq!(again.body, keys.body, "published keys stay");
    assert!(keys.body.contains("\"epoch\":1"), "{}", keys.body);

    let pairs = [
        ("DATABASE_URL", url.as_str()),
        ("RESOLUTE__SECURITY__MASTER_SECRET", wrong.as_str()),
        ("PORT", "0"),
        ("RESOLUTE__OPS__LISTEN", ""),
    ];
    let refused = resolute(&["serve"], &pairs).output().expect("runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("another master secret"), "{}", text(&refused.stderr));
    assert!(!text(&refused.stderr).contains(&wrong), "the secret is not printed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_could_not_be_shown_is_revoked() {
    let app = TestApp::start().await;
    app.tenant("acme").await;
    let url = url(app.target());
    let full = std::fs::File::options().write(true).open("/dev/full").expect("opens");
    let arguments = ["key", "create", "--tenant", "acme", "--scope", "admin"];
    let ran = resolute(&arguments, &[("DATABASE_URL", &url)]).stdout(full).output().expect("ran");
    assert_eq!(ran.status.code(), Some(1), "a failure, not a panic");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("could not be shown and was revoked"));
    let revoked = sqlx::query_scalar::<_, bool>("SELECT bool_and(revoked_at IS NOT NULL) FROM api_keys");
    assert!(revoked.fetch_one(app.db().management()).await.expect("keys"));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_never_read_do_not_hold_the_listener() {
    use std::io::Write;
    let database = TestDatabase::create().await;
    let url = url(database.target());
    let server = Server::start(&[
        ("DATABASE_URL", &url),
        ("RESOLUTE__SERVER__MAX_CONNECTIONS", "2"),
        ("RESOLUTE__SERVER__REQUEST_TIMEOUT_SECONDS", "1"),
    ]);
    let request = "GET /docs/problems HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    let deaf: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(&server.address).expect("connected");
            stream.set_write_timeout(Some(Duration::from_millis(300))).expect("set");
            // Until neither side takes any more.
            while stream.write_all(request.as_bytes()).is_ok() {}
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(server.request("GET", "/health/live", &[], "").expect("an answer").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10));
    drop(deaf);
}
