//! The real binary while its PostgreSQL stands still or is dead: known names resolve, unknown ones are refused in
//! bounded time, readiness says why, and everything returns by itself.

use std::path::Path;
use std::time::{Duration, Instant};

use resolute::db::Target;
use resolute::db::cluster::{Cluster, Settings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cluster::temporary;
use crate::support::process::{Server, resolute, url};
use crate::support::wire::WireAnswer;

/// The longest that anything may take without its database: a question's patience, and room for a busy machine.
const BOUND: Duration = Duration::from_millis(2_500);

pub fn settings(data_dir: &Path) -> Settings {
    Settings {
        data_dir: data_dir.to_path_buf(),
        durable: true,
        path: resolute::config::Environment::of_process().path().cloned(),
        binaries_dir: None,
        parameters: Vec::new(),
    }
}

pub fn postmaster(data_dir: &Path) -> Pid {
    let text = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).expect("running");
    text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw).expect("a process id")
}

/// The postmaster and every process it has started.
pub fn family(postmaster: Pid) -> Vec<Pid> {
    let parent = postmaster.as_raw_nonzero().get().to_string();
    let mut family = vec![postmaster];
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // `pid (name) state parent …`, and the name may hold anything.
        let of = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        if of == Some(&parent) {
            family.push(pid);
        }
    }
    family
}

pub fn command(database: &str, arguments: &[&str]) -> String {
    let output = resolute(arguments, &[("DATABASE_URL", database)]).output().expect("runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn post(server: &Server, path: &str, token: &str, body: &Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let answer = server.request("POST", path, &headers, &body.to_string()).expect("an answer");
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// A request, which must be answered in bounded time.
#[track_caller]
fn ask(server: &Server, path: &str) -> WireAnswer {
    let begun = Instant::now();
    let answer = server.request("GET", path, &[], "").expect("an answer");
    assert!(begun.elapsed() < BOUND, "{path} took {:?}", begun.elapsed());
    answer
}

/// What is promised while the database is away, for some seconds.
fn goes_on(server: &Server, seconds: u64, why: &[&str]) {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut slow = 0;
    let mut asked = 0;
    while Instant::now() < end {
        let begun = Instant::now();
        assert_eq!(ask(server, "/acme/known").header("location"), Some("https://example.org/known"));
        asked += 1;
        slow += u32::from(begun.elapsed() > Duration::from_millis(300));
        let unknown = ask(server, "/acme/never-asked");
        assert_eq!((unknown.status, unknown.header("retry-after")), (503, Some("1")), "{}", unknown.body);
        std::thread::sleep(Duration::from_millis(20));
    }
    // Of all requests one at a time tries the database, and may find it standing still.
    assert!(asked > 10 && slow * 2 <= asked, "{slow} of {asked} known names were slow");
    let ready = ask(server, "/health/ready");
    assert_eq!(ready.status, 503);
    let ready: Value = serde_json::from_str(&ready.body).expect("JSON");
    assert!(why.contains(&ready["database"].as_str().expect("a reason")), "{ready}");
    assert_eq!(ready["listen"], "lost");
}

/// Everything is as before, without anybody doing anything.
fn returns(server: &Server) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let ready = ask(server, "/health/ready");
        if ready.status == 200 && ready.body.contains("\"listen\":\"ok\"") {
            break;
        }
        assert!(Instant::now() < end, "not ready again: {}", ready.body);
        std::thread::sleep(Duration::from_millis(50));
    }
    while ask(server, "/acme/never-asked").status != 302 {
        assert!(Instant::now() < end, "resolution did not return");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ask(server, "/acme/known").status, 302);
    assert_eq!(ask(server, "/acme/absent").status, 404);
}

/// A server over a cluster of its own, with two names: `known`, which has been asked for, and another.
async fn scene(data_dir: &Path) -> (Cluster, Server) {
    let cluster = Cluster::start(&settings(data_dir)).await.expect("a cluster");
    let target = Target::socket(cluster.socket_dir(), cluster.port(), cluster.user(), cluster.database());
    let database = url(&target);
    let server = Server::start(&[("DATABASE_URL", &database)]);
    command(&database, &["tenant", "create", "--slug", "acme"]);
    let key = command(&database, &["key", "create", "--tenant", "acme", "--scope", "admin"]);
    let operator = command(&database, &["key", "create", "--scope", "operator"]);
    post(&server, "/api/v1/domains", &operator, &json!({"path": "acme", "tenant": "acme"}));
    for name in ["known", "never-asked"] {
        let body = json!({"domain": "acme", "name": name, "target": format!("https://example.org/{name}")});
        post(&server, "/api/v1/purls", &key, &body);
    }
    assert_eq!(ask(&server, "/acme/known").status, 302);
    (cluster, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgresql_stands_still_known_names_resolve_and_everything_returns_by_itself() {
    let dir = temporary();
    let data_dir = dir.path().join("data");
    let (cluster, server) = scene(&data_dir).await;
    let all = family(postmaster(&data_dir));
    for pid in &all {
        let _ = kill_process(*pid, Signal::STOP);
    }
    let went_on = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // Longer than what is believed without hearing of changes.
        std::thread::sleep(Duration::from_millis(1_200));
        goes_on(&server, 5, &["slow", "pool_full", "unreachable"]);
    }));
    for pid in &all {
        let _ = kill_process(*pid, Signal::CONT);
    }
    if let Err(panic) = went_on {
        std::panic::resume_unwind(panic);
    }
    returns(&server);
    drop(server);
    cluster.stop().await.expect("stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgresql_is_dead_known_names_resolve_and_everything_returns_by_itself() {
    let dir = temporary();
    let data_dir = dir.path().join("data");
    let (cluster, server) = scene(&data_dir).await;
    kill_process(postmaster(&data_dir), Signal::KILL).expect("the cluster is ours");
    cluster.died().await;
    drop(cluster);
    goes_on(&server, 10, &["unreachable", "slow"]);
    let cluster = Cluster::start(&settings(&data_dir)).await.expect("a cluster");
    returns(&server);
    drop(server);
    cluster.stop().await.expect("stops");
}
