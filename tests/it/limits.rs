//! Rate limits: who is limited and, as important, who never is.

use serde_json::json;

use crate::support::database::TestDatabase;
use crate::support::process::{Server, url};
use crate::support::{Actor, Answer, TestApp};
use crate::voting::Hall;
use resolute::config::{Config, Limits, Server as ServerSettings};

/// A server that allows three at once and then one a second.
async fn strict() -> TestApp {
    strict_behind("").await
}

async fn strict_behind(trusted_proxies: &str) -> TestApp {
    let server = ServerSettings { trusted_proxies: trusted_proxies.into(), ..ServerSettings::default() };
    let limits = Limits { key_burst: 3, key_per_second: 1, address_burst: 3, address_per_second: 1 };
    TestApp::with_config(Config { server, limits, ..Config::default() }).await
}

const HALL: &str = "198.51.100.7";
const ELSEWHERE: &str = "203.0.113.9";

async fn read_keys(actor: &Actor) -> Answer {
    actor.get("/api/v1/keys").await
}

async fn statuses(actor: &Actor, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(read_keys(actor).await.status.as_u16());
    }
    statuses
}

/// A key that has the form of one and is none.
fn forged(app: &TestApp, digit: char) -> Actor {
    app.bearer(&format!("rsl_{}_{}", digit.to_string().repeat(32), "a".repeat(64)))
}

#[tokio::test]
async fn a_key_is_told_what_is_left_refused_beyond_its_burst_and_served_again_in_time() {
    let app = strict().await;
    let acme = app.tenant("acme").await;
    let (admin, other) = (acme.admin().await, acme.admin().await);
    let first = read_keys(&admin).await.expect(200);
    assert_eq!(first.header("ratelimit-policy"), "\"key\";q=3;w=3");
    assert_eq!(first.header("ratelimit"), "\"key\";r=2;t=1");
    assert_eq!(statuses(&admin, 2).await, [200, 200]);
    let refused = read_keys(&admin).await.expect_problem(429, "rate_limited");
    assert_eq!((refused.header("retry-after"), refused.header("ratelimit")), ("1", "\"key\";r=0;t=3"));
    assert_eq!(statuses(&other, 1).await, [200], "another key of the same tenant");
    app.app.clock.advance(time::Duration::SECOND);
    assert_eq!(statuses(&admin, 2).await, [200, 429]);
}

#[tokio::test]
async fn a_refused_write_has_done_nothing() {
    let app = strict().await;
    let editor = app.tenant("acme").await.editor().await;
    for _ in 0..3 {
        editor.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    }
    editor.post("/api/v1/meetings", json!({"title": "M"})).await.expect_problem(429, "rate_limited");
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM meetings")
        .fetch_one(app.db().management())
        .await
        .expect("a count");
    assert_eq!(count, 3);
}

#[tokio::test]
async fn what_is_read_without_a_credential_is_never_limited() {
    let app = strict().await;
    let stranger = app.stranger().at(ELSEWHERE);
    for path in ["/nowhere/at-all", "/health/live", "/api/v1/openapi.json", "/api/v1/public/acme/polls/1"] {
        for _ in 0..10 {
            let answer = stranger.get(path).await;
            assert_ne!(answer.status, 429, "{path}");
            assert_eq!(answer.header("ratelimit"), "", "{path}");
        }
    }
    assert_eq!(statuses(&stranger, 10).await, [401; 10], "who tries no credential guesses none");
    let sent_along = app.tenant("acme").await.admin().await;
    for _ in 0..10 {
        sent_along.get("/nowhere/at-all").await.expect(404);
    }
}

#[tokio::test]
async fn wrong_keys_are_refused_unlooked_by_address_and_keys_that_were_right_lately_are_not() {
    let app = strict().await;
    let admin = app.tenant("acme").await.admin().await.at(HALL);
    assert_eq!(statuses(&admin, 1).await, [200]);
    let told = read_keys(&forged(&app, '0').at(HALL)).await.expect_problem(401, "unauthenticated");
    assert_eq!(told.header("ratelimit"), "\"address\";r=2;t=1");
    for digit in ['1', '2'] {
        assert_eq!(statuses(&forged(&app, digit).at(HALL), 1).await, [401]);
    }
    assert_eq!(statuses(&forged(&app, '3').at(HALL), 2).await, [429, 429]);
    assert_eq!(statuses(&app.bearer("nonsense").at(HALL), 1).await, [429]);
    assert_eq!(statuses(&app.bearer("nonsense").at(ELSEWHERE), 1).await, [401]);
    assert_eq!(statuses(&admin, 2).await, [200, 200], "who was right here before");
    app.app.clock.advance(time::Duration::SECOND);
    assert_eq!(statuses(&forged(&app, '4').at(HALL), 2).await, [401, 429]);
}

#[tokio::test]
async fn one_ipv6_network_is_one_client() {
    let app = strict().await;
    for host in 1..=3 {
        assert_eq!(statuses(&app.bearer("nonsense").at(&format!("2001:db8::{host}")), 1).await, [401]);
    }
    assert_eq!(statuses(&app.bearer("nonsense").at("2001:db8::4"), 1).await, [429]);
    assert_eq!(statuses(&app.bearer("nonsense").at("2001:db8:0:1::4"), 1).await, [401]);
}

#[tokio::test]
async fn nobody_is_kept_from_voting_by_others_in_the_hall_or_by_who_guesses_at_the_token() {
    let app = TestApp::with_config(Config {
        limits: Limits { address_burst: 3, address_per_second: 1, ..Limits::default() },
        ..Config::default()
    })
    .await;
    let hall = Hall::seated(&app, 20).await;
    let poll = hall.poll(&["Ada", "Grace"], json!({})).await;
    let real = hall.voters[0].token();
    let guess = format!("{}_{}", real.splitn(4, '_').take(3).collect::<Vec<_>>().join("_"), "A".repeat(32));
    for number in 0..3 {
        let guesser = app.bearer(&guess).at(&format!("203.0.113.{number}"));
        poll.cast(&guesser, 0).await.expect_problem(401, "unauthenticated");
    }
    let refused = poll.cast(&app.bearer(&guess).at("203.0.113.99"), 0).await;
    assert!(refused.expect_problem(429, "rate_limited").header("ratelimit").starts_with("\"credential\""));
    for _ in 0..10 {
        read_keys(&app.bearer("nonsense").at(HALL)).await;
    }
    assert_eq!(statuses(&app.bearer("nonsense").at(HALL), 1).await, [429]);
    for voter in &hall.voters {
        let cast = poll.cast(&voter.at(HALL), 0).await.expect(201);
        assert_eq!(cast.header("ratelimit"), "");
        voter.at(HALL).get(&poll.path("")).await.expect(200);
    }
    assert_eq!(hall.stored(&poll).await, 20);
}

#[tokio::test]
async fn writes_without_a_credential_are_limited_by_address_and_only_a_trusted_proxy_names_another() {
    let app = strict_behind("10.0.0.0/8").await;
    let write = |actor: Actor| async move { actor.post("/api/v1/meetings", json!({})).await.status.as_u16() };
    let proxied = |client: &str| app.stranger().at("10.0.0.1").with("x-forwarded-for", client);
    for _ in 0..3 {
        assert_eq!(write(proxied(HALL)).await, 401);
    }
    assert_eq!(write(proxied(HALL)).await, 429);
    assert_eq!(write(proxied(&format!("{ELSEWHERE}, {HALL}"))).await, 429, "what the client claimed itself");
    assert_eq!(write(app.stranger().at(HALL)).await, 429, "the same client without the proxy");
    assert_eq!(write(proxied(ELSEWHERE)).await, 401);
    for number in 0..3 {
        let liar = app.stranger().at("192.0.2.1").with("x-forwarded-for", &format!("198.51.100.{number}"));
        assert_eq!(write(liar).await, 401);
    }
    assert_eq!(write(app.stranger().at("192.0.2.1").with("x-forwarded-for", "198.51.100.99")).await, 429);
}

#[tokio::test]
async fn zero_turns_a_limit_off() {
    let limits = Limits { key_per_second: 0, key_burst: 1, address_per_second: 0, address_burst: 1 };
    let app = TestApp::with_config(Config { limits, ..Config::default() }).await;
    let admin = app.tenant("acme").await.admin().await.at(HALL);
    assert_eq!(statuses(&admin, 5).await, [200; 5]);
    assert_eq!(read_keys(&admin).await.header("ratelimit"), "");
    assert_eq!(statuses(&app.bearer("nonsense").at(HALL), 5).await, [401; 5]);
}

#[tokio::test]
async fn a_running_server_knows_its_peers_and_who_is_behind_its_proxy() {
    let database = TestDatabase::create().await;
    let url = url(database.target());
    let server = Server::start(&[
        ("DATABASE_URL", &url),
        ("RESOLUTE__LIMITS__ADDRESS_BURST", "1"),
        ("RESOLUTE__LIMITS__ADDRESS_PER_SECOND", "1"),
        ("RESOLUTE__SERVER__TRUSTED_PROXIES", "127.0.0.1"),
    ]);
    let write = |client: &str| {
        let headers = [("X-Forwarded-For", client)];
        server.request("POST", "/api/v1/meetings", &headers, "{}").expect("an answer")
    };
    assert_eq!(write(HALL).header("ratelimit-policy"), Some("\"address\";q=1;w=1"));
    assert_eq!(write(HALL).status, 429);
    assert_eq!(write(ELSEWHERE).status, 401);
}
