//! How long a server may go on answering what another, or it itself, has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use super::Registry;
use crate::support::until;

const SECOND: Duration = Duration::from_secs(1);

impl Registry {
    async fn retarget(&self, name: &str, target: &str) {
        let editor = self.editor.with("if-match", "*");
        editor.put(&format!("/api/v1/purls/d/{name}"), json!({"target": target})).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_on_one_server_is_a_410_on_another_within_a_second_with_and_without_listen() {
    let registry = Registry::start().await;
    let (deaf, hearing) = (registry.app.twin(), registry.app.twin());
    hearing.listen().await;
    for name in ["a", "b", "c"] {
        registry.mint(name, "https://e.org/").await.expect(201);
        for other in [&deaf, &hearing] {
            other.stranger().get(&format!("/d/{name}")).await.expect(302);
        }
        registry.editor.delete(&format!("/api/v1/purls/d/{name}")).await.expect(200);
        tokio::time::sleep(SECOND).await;
        for other in [&deaf, &hearing] {
            other.stranger().get(&format!("/d/{name}")).await.expect_problem(410, "withdrawn");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_listens_asks_once_a_minute_and_hears_of_a_change_before() {
    let registry = Registry::start().await;
    registry.app.listen().await;
    let hearing = registry.app.twin();
    hearing.listen().await;
    registry.mint("n", "https://e.org/1").await.expect(201);
    let ask = || async { hearing.stranger().get("/d/n").await };
    assert_eq!(ask().await.header("location"), "https://e.org/1");
    // Behind the servers' backs, so that nothing is announced: it goes on with what it knows.
    sqlx::query("UPDATE purls SET target = 'https://e.org/unheard'")
        .execute(registry.app.db().management())
        .await
        .expect("written");
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ask().await.header("location"), "https://e.org/1");
    registry.retarget("n", "https://e.org/2").await;
    let heard = until(ask, |answer| answer.header("location") == "https://e.org/2").await;
    assert_eq!(heard.header("location"), "https://e.org/2");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_domains_first_names_and_policies_are_seen_by_another_server_within_a_second() {
    let registry = Registry::start().await;
    let other = registry.app.twin();
    let ask = |path: &'static str| async { other.stranger().get(path).await };
    ask("/d/x?q=1").await.expect(404);
    ask("/new/x").await.expect(404);
    registry.mint("x", "https://e.org/x").await.expect(201);
    registry.top_level(json!({"path": "new"})).await;
    registry.leads("/d/x?q=1", "https://e.org/x?q=1").await;
    registry.mint_as(json!({"domain": "new", "name": "x", "target": "https://e.org/new"})).await.expect(201);
    registry.leads("/new/x", "https://e.org/new").await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask("/d/x?q=1").await.header("location"), "https://e.org/x?q=1");
    assert_eq!(ask("/new/x").await.header("location"), "https://e.org/new");

    let editor = registry.editor.with("if-match", "*");
    editor.put("/api/v1/domains/d", json!({"query": "drop"})).await.expect(200);
    registry.leads("/d/x?q=1", "https://e.org/x").await;
    registry.editor.post("/api/v1/domains", json!({"path": "d/deep"})).await.expect(201);
    registry
        .mint_as(json!({"domain": "d/deep", "name": "y", "target": "https://e.org/deep"}))
        .await
        .expect(201);
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask("/d/x?q=1").await.header("location"), "https://e.org/x");
    assert_eq!(ask("/d/deep/y").await.header("location"), "https://e.org/deep");
}

/// Readers fill the cache all the time, and entries would live a minute: after the 2xx of a change this server
/// must not answer with what was before it, once.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "readers of a test")]
async fn a_reader_that_overlaps_a_write_never_leaves_the_old_answer_behind() {
    let registry = Arc::new(Registry::start().await);
    registry.app.listen().await;
    registry.mint("n", "https://e.org/0").await.expect(201);
    let (written, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let readers = (0..4).map(|_| {
        let (registry, written, stop) = (Arc::clone(&registry), Arc::clone(&written), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut reads = 0;
            while !stop.load(Ordering::Relaxed) {
                let least = written.load(Ordering::SeqCst);
                let answer = registry.ask("/d/n").await;
                let number = answer.header("location").strip_prefix("https://e.org/").expect("a redirect");
                assert!(number.parse::<u64>().expect("a number") >= least, "{number} after {least}");
                reads += 1;
                // Answers from memory never wait; without this they would leave the writer no thread.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            reads
        })
    });
    let readers: Vec<_> = readers.collect();
    for number in 1..=100 {
        registry.retarget("n", &format!("https://e.org/{number}")).await;
        written.store(number, Ordering::SeqCst);
    }
    stop.store(true, Ordering::Relaxed);
    let reads: u64 = join_all(readers).await.into_iter().map(|reads| reads.expect("no panic")).sum();
    assert!(reads > 100, "{reads} reads are too few to tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_not_there_is_found_at_once_on_the_server_that_made_it() {
    let registry = Registry::start().await;
    for n in 0..20 {
        let (name, path) = (format!("n{n}"), format!("/d/n{n}"));
        registry.ask(&path).await.expect(404);
        registry.mint(&name, "https://e.org/").await.expect(201);
        registry.leads(&path, "https://e.org/").await;
    }
}

/// The server that answers a write with 2xx shows it at once, also where another has prepared the ground.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_a_domain_that_another_server_has_just_made_or_filled_is_found_at_once() {
    let registry = Registry::start().await;
    let other = registry.app.twin();
    let editor = other.bearer(registry.editor.token());
    for n in 0..5 {
        let (made, filled) = (format!("d/made{n}"), format!("d/filled{n}"));
        registry.editor.post("/api/v1/domains", json!({"path": filled})).await.expect(201);
        other.stranger().get(&format!("/{made}/b")).await.expect(404);
        registry.editor.post("/api/v1/domains", json!({"path": made})).await.expect(201);
        let name =
            |domain: &str, name: &str| json!({"domain": domain, "name": name, "target": "https://e.org/"});
        registry.mint_as(name(&filled, "a")).await.expect(201);
        for domain in [&made, &filled] {
            editor.post("/api/v1/purls", name(domain, "b")).await.expect(201);
            other.stranger().get(&format!("/{domain}/b")).await.expect(302);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_until_is_checked_on_every_answer_from_memory() {
    let registry = Registry::start().await;
    registry.app.listen().await;
    let until = crate::support::NOW + time::Duration::seconds(30);
    let until = until.format(&time::format_description::well_known::Rfc3339).expect("formats");
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/", "valid_until": until});
    registry.mint_as(body).await.expect(201);
    registry.leads("/d/n", "https://e.org/").await;
    registry.app.app.clock.advance(time::Duration::seconds(29));
    registry.leads("/d/n", "https://e.org/").await;
    registry.app.app.clock.advance(time::Duration::seconds(1));
    registry.ask("/d/n").await.expect_problem(410, "expired");
}

/// What a listening server costs is one statement a second for the directory, and no more.
#[tokio::test(flavor = "multi_thread")]
async fn known_names_are_answered_without_the_database() {
    let registry = Registry::start().await;
    registry.app.listen().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    registry.leads("/d/n", "https://e.org/").await;
    let held: Vec<_> = join_all((0..11).map(|_| registry.app.db().hot())).await;
    assert!(held.iter().all(Result::is_ok));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(400) {
        registry.leads("/d/n", "https://e.org/").await;
    }
}
