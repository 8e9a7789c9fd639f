//! What containers rely on: `resolute healthcheck`, and the settings and toolchain that the Dockerfile repeats.

use std::net::TcpListener;

use rustix::process::Signal;

use crate::support::database::TestDatabase;
use crate::support::process::{Server, resolute, url};

fn file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Exit status, standard output and standard error of `resolute healthcheck` for this listener.
fn healthcheck(listen: &str) -> (Option<i32>, String, String) {
    let ran = resolute(&["healthcheck"], &[("RESOLUTE__SERVER__LISTEN", listen)])
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[tokio::test]
async fn the_health_check_says_what_readiness_says() {
    let database = TestDatabase::create().await;
    let mut server = Server::start(&[
        ("DATABASE_URL", &url(database.target())),
        ("RESOLUTE__SERVER__LISTEN", "0.0.0.0:0"),
        ("RESOLUTE__SERVER__DRAIN_DELAY_SECONDS", "30"),
    ]);
    let (status, said, complaint) = healthcheck(&server.address);
    assert_eq!((status, complaint.as_str()), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&said).expect("readiness");
    assert_eq!(json["status"], "ok");

    server.signal(Signal::TERM);
    server.wait_for("stopping");
    // The line is written just before.
    let mut draining = healthcheck(&server.address);
    for _ in 0..100 {
        if draining.0 != Some(0) {
            break;
        }
        draining = healthcheck(&server.address);
    }
    assert_eq!(draining.0, Some(1));
    assert!(draining.1.contains("\"draining\":true"), "{}", draining.1);
    server.signal(Signal::TERM);
    server.wait();

    let (status, said, complaint) = healthcheck(&server.address);
    assert_eq!((status, said.as_str()), (Some(1), ""));
    assert!(complaint.contains("refused"), "{complaint}");
}

#[test]
fn a_listener_that_never_answers_fails_the_health_check_in_bounded_time() {
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (status, _, complaint) = healthcheck(&deaf.local_addr().expect("address").to_string());
    assert_eq!(status, Some(1));
    assert!(complaint.contains("no answer within 3 s"), "{complaint}");
}

#[test]
fn a_server_without_a_database_says_what_to_set() {
    let environment = [
        ("RESOLUTE__DATABASE__DATA_DIR", "/dev/null/postgres"),
        ("PORT", "0"),
        ("RESOLUTE__OPS__LISTEN", ""),
    ];
    let refused = resolute(&["serve"], &environment).output().expect("the binary runs");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("DATABASE_URL is not set") && said.contains("/dev/null/postgres"), "{said}");
    assert_eq!(said.matches("os error").count(), 1, "{said}");
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_compose_says_the_same() {
    let pinned: toml::Table = file("rust-toolchain.toml").parse().expect("TOML");
    let channel = pinned["toolchain"]["channel"].as_str().expect("a channel");
    let (dockerfile, compose) = (file("Dockerfile"), file("docker-compose.yml"));
    let defaults: Vec<_> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("ARG ").and_then(|default| default.split_once('=')))
        .collect();
    assert!(
        defaults.iter().any(|(name, image)| {
            *name == "RUST_IMAGE" && image.starts_with(&format!("rust:{channel}-slim-"))
        }),
        "{channel} is not in {defaults:?}"
    );
    for (name, image) in defaults {
        let argument = format!("{name}: ${{{name}:-{image}}}\n");
        assert!(compose.contains(&argument), "docker-compose.yml lacks {argument}");
    }
}

#[test]
fn what_the_image_sets_is_valid_and_leaves_the_port_to_the_platform() {
    let dockerfile = file("Dockerfile");
    let lines = dockerfile.lines().filter_map(|line| line.strip_prefix("ENV "));
    let set: Vec<(&str, &str)> =
        lines.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('=')).collect();
    assert!(set.contains(&("PORT", "8080")), "{set:?}");
    let environment = resolute::config::Environment::of(&set);
    let listen = |environment| {
        resolute::config::load(None, &environment, &vec![]).expect("valid").config.server.listen
    };
    assert_eq!(listen(environment), "0.0.0.0:8080");
    let platform: Vec<_> =
        set.into_iter().filter(|(name, _)| *name != "PORT").chain([("PORT", "3000")]).collect();
    assert_eq!(listen(resolute::config::Environment::of(&platform)), "0.0.0.0:3000");
}
