//! What a name can be, and who may make it where.

use serde_json::json;

use super::Registry;
use crate::support::TestApp;

#[tokio::test]
async fn punctuation_and_other_scripts_are_ordinary_in_names() {
    let registry = Registry::start().await;
    for (name, path) in [
        ("a.b", "/d/a.b"),
        ("T+B-lunch", "/d/T+B-lunch"),
        ("T&C_car", "/d/T&C_car"),
        ("~x$y", "/d/~x$y"),
        ("ark:/53355/cl010066723", "/d/ark:/53355/cl010066723"),
        ("007", "/d/007"),
        ("100%", "/d/100%25"),
        ("a b", "/d/a%20b"),
        ("구글", "/d/%EA%B5%AC%EA%B8%80"),
    ] {
        let made = registry.mint(name, "https://e.org/").await.expect(201);
        assert_eq!(made.json()["name"], name);
        registry.leads(path, "https://e.org/").await;
        let read = registry.editor.get(made.header("location")).await.expect(200);
        assert_eq!(read.json(), made.json(), "the Location of the creation reads the name back");
    }
}

#[tokio::test]
async fn both_unicode_forms_of_a_letter_are_one_name() {
    let registry = Registry::start().await;
    let made = registry.mint("caf\u{65}\u{301}", "https://e.org/").await.expect(201);
    assert_eq!(made.json()["name"], "caf\u{e9}", "names are kept in NFC");
    registry.leads("/d/caf%C3%A9", "https://e.org/").await;
    registry.leads("/d/cafe%CC%81", "https://e.org/").await;
    registry.mint("caf\u{e9}", "https://e.org/").await.expect_problem(409, "name_taken");
}

#[tokio::test]
async fn a_name_that_no_request_could_carry_is_refused() {
    let registry = Registry::start().await;
    for name in ["", "/a", "a//b", "a//", ".", "..", "a/../b", "a?b", "a#b", "a\\b", "a\nb", "\u{0}"] {
        let refused = registry.mint(name, "https://e.org/").await.expect_problem(422, "invalid");
        assert_eq!(refused.pointers(), ["/name"], "{name:?}");
    }
    registry.mint(&"é".repeat(512), "https://e.org/").await.expect(201);
    registry.mint(&"é".repeat(513), "https://e.org/").await.expect_problem(422, "invalid");
}

#[tokio::test]
async fn the_root_domain_cannot_take_the_servers_own_paths() {
    let registry = Registry::with_domain(json!({"path": ""})).await;
    for name in ["health", "api", "api/v1/purls", "metrics", "_x", ".well-known/y", "robots.txt", "vote"] {
        let body = json!({"domain": "", "name": name, "target": "https://e.org/"});
        let refused = registry.mint_as(body).await.expect_problem(422, "invalid");
        assert_eq!(refused.pointers(), ["/name"], "{name}");
    }
    for name in ["rest", "a", "s", "r", "x/health"] {
        registry.mint_as(json!({"domain": "", "name": name, "target": "https://e.org/"})).await.expect(201);
        registry.leads(&format!("/{name}"), "https://e.org/").await;
    }
    let read = registry.editor.get("/api/v1/domains/").await.expect(200);
    assert_eq!(read.json()["path"], "");
}

#[tokio::test]
async fn a_name_that_a_deeper_domain_would_answer_is_refused() {
    let registry = Registry::start().await;
    registry.editor.post("/api/v1/domains", json!({"path": "d/deep"})).await.expect(201);
    for name in ["deep", "deep/", "deep/x"] {
        registry.mint(name, "https://e.org/").await.expect_problem(409, "name_swallowed");
    }
    registry.mint("deeper", "https://e.org/").await.expect(201);
}

#[tokio::test]
async fn only_the_owner_makes_reads_and_changes_names() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let umbra = registry.app.tenant("umbra").await;
    let stranger = umbra.admin().await.with("if-match", "*");
    let body = json!({"domain": "d", "name": "m", "target": "https://e.org/"});
    stranger.post("/api/v1/purls", body).await.expect_problem(404, "not_found");
    stranger.get("/api/v1/purls/d/n").await.expect_problem(404, "not_found");
    let change = json!({"target": "https://evil.example/"});
    stranger.put("/api/v1/purls/d/n", change).await.expect_problem(404, "not_found");
    stranger.delete("/api/v1/purls/d/n").await.expect_problem(404, "not_found");
    stranger.get("/api/v1/purl-revisions/d/n").await.expect_problem(404, "not_found");
    stranger.get("/api/v1/domains/d").await.expect_problem(404, "not_found");
    stranger.put("/api/v1/domains/d", json!({})).await.expect_problem(404, "not_found");
    let child = stranger.post("/api/v1/domains", json!({"path": "d/child"})).await;
    child.expect_problem(403, "forbidden");
    registry.leads("/d/n", "https://e.org/").await;
}

#[tokio::test]
async fn scopes_and_domain_limits_are_kept() {
    let registry = Registry::start().await;
    let other = registry.top_level(json!({"path": "other"})).await;
    registry.editor.post("/api/v1/domains", json!({"path": "other/below"})).await.expect(201);
    let acme = registry.app.tenant("acme").await;
    let mint = |domain: &str| json!({"domain": domain, "name": "n", "target": "https://e.org/"});

    let minter = acme.minter().await;
    minter.post("/api/v1/purls", mint("d")).await.expect(201);
    let change = json!({"target": "https://e.org/2"});
    minter.with("if-match", "*").put("/api/v1/purls/d/n", change).await.expect_problem(403, "forbidden");
    acme.reader().await.post("/api/v1/purls", mint("d")).await.expect_problem(403, "forbidden");
    acme.reader().await.get("/api/v1/purls/d/n").await.expect(200);
    acme.moderator().await.delete("/api/v1/purls/d/n").await.expect(200);

    let id: i64 = other["id"].as_str().expect("an id").parse().expect("a number");
    let limited = acme.limited("editor", &[id]).await;
    limited.post("/api/v1/purls", mint("d")).await.expect_problem(403, "forbidden");
    limited.get("/api/v1/purls/d/n").await.expect_problem(403, "forbidden");
    limited.post("/api/v1/domains", json!({"path": "d/child"})).await.expect_problem(403, "forbidden");
    limited.post("/api/v1/purls", mint("other")).await.expect(201);
    limited.post("/api/v1/purls", mint("other/below")).await.expect(201);
    limited.post("/api/v1/domains", json!({"path": "other/child"})).await.expect(201);
}

#[tokio::test]
async fn a_name_of_a_domain_that_does_not_exist_is_404() {
    let app = TestApp::start().await;
    let editor = app.tenant("acme").await.editor().await;
    let body = json!({"domain": "nowhere", "name": "n", "target": "https://e.org/"});
    editor.post("/api/v1/purls", body).await.expect_problem(404, "not_found");
    editor.get("/api/v1/purls/nowhere/n").await.expect_problem(404, "not_found");
    editor.get("/api/v1/purls/%zz").await.expect_problem(400, "bad_path");
}
