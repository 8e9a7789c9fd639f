//! What a request for a path is answered with.

use serde_json::json;

use super::Registry;

#[tokio::test]
async fn a_partial_name_passes_the_tail_on_as_it_was_sent() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "t/", "target": "http://example.com/t/", "kind": "partial"});
    registry.mint_as(body).await.expect(201);
    let body = json!({"domain": "d", "name": "ns", "target": "http://example.com/ns#", "kind": "partial"});
    registry.mint_as(body).await.expect(201);
    for (tail, location) in [
        ("t/foo/bar?x=1", "http://example.com/t/foo/bar?x=1"),
        ("t/https%3A%2F%2Fw3id.org%2Fx", "http://example.com/t/https%3A%2F%2Fw3id.org%2Fx"),
        ("t/x%0d%0aSet-Cookie:a", "http://example.com/t/x%0d%0aSet-Cookie:a"),
        ("t/a%23b%3Fc+d//e%20f", "http://example.com/t/a%23b%3Fc+d//e%20f"),
        ("t//evil.example", "http://example.com/t//evil.example"),
        ("t/%2F%2Fevil.example", "http://example.com/t/%2F%2Fevil.example"),
        ("t/%E9%", "http://example.com/t/%E9%"),
        ("t/%EA%B5%AC", "http://example.com/t/%EA%B5%AC"),
        ("t/", "http://example.com/t/"),
        ("ns/Thing", "http://example.com/ns#Thing"),
        ("ns?q", "http://example.com/ns?q#"),
    ] {
        let answer = registry.ask(&format!("/d/{tail}")).await;
        assert_eq!(Registry::location(&answer), location, "{tail}");
        assert!(answer.headers.get("set-cookie").is_none());
    }
}

#[tokio::test]
async fn the_kinds_of_prefixes_append_ignore_and_replace_extensions() {
    let registry = Registry::start().await;
    for (name, kind) in [
        ("a/", "partial-append-extension"),
        ("i/", "partial-ignore-extension"),
        ("r", "partial-replace-extension"),
    ] {
        let body = json!({"domain": "d", "name": name, "target": "http://example.com/t/", "kind": kind});
        let made = registry.mint_as(body).await.expect(201).json();
        assert_eq!(made["kind"], kind);
    }
    // Twice: what the database has, and what is remembered.
    for _ in 0..2 {
        for (path, location) in [
            ("a/foo/bar/bam?id=1", "http://example.com/t/bar/bam.foo?id=1"),
            ("a/foo", "http://example.com/t/foo"),
            ("a/", "http://example.com/t/"),
            ("a/x%2Fy/b%0d%0ac", "http://example.com/t/b%0d%0ac.x%2Fy"),
            ("a//evil.example/x", "http://example.com/t//evil.example/x"),
            ("i/foo.html", "http://example.com/t/foo"),
            ("i/v1.2/foo?a.b", "http://example.com/t/v1.2/foo?a.b"),
            ("r/htm/foo/bar.html", "http://example.com/t/foo/bar.htm"),
            ("r", "http://example.com/t/"),
        ] {
            registry.leads(&format!("/d/{path}"), location).await;
        }
    }
}

#[tokio::test]
async fn the_kind_of_a_name_is_a_part_of_its_history() {
    let registry = Registry::start().await;
    let body =
        json!({"domain": "d", "name": "n/", "target": "https://e.org/", "kind": "partial-ignore-extension"});
    let made = registry.mint_as(body.clone()).await.expect(201).json();
    assert_eq!(made["kind"], "partial-ignore-extension");
    let mut to = json!({"target": "https://e.org/", "kind": "partial-replace-extension"});
    let changed =
        registry.editor.with("if-match", "\"r1\"").put("/api/v1/purls/d/n/", to.clone()).await.expect(200);
    assert_eq!(changed.json()["revision"], 2, "a kind alone is a change");
    registry.leads("/d/n/txt/a.html", "https://e.org/a.txt").await;
    let same = registry.editor.with("if-match", "*").put("/api/v1/purls/d/n/", to.clone()).await.expect(200);
    assert_eq!(same.json()["revision"], 2);
    to["kind"] = "partial_replace".into();
    registry.editor.with("if-match", "*").put("/api/v1/purls/d/n/", to).await.expect_problem(422, "invalid");
    registry.editor.delete("/api/v1/purls/d/n/").await.expect(200);
    let history = registry.editor.get("/api/v1/purl-revisions/d/n/").await.expect(200).json();
    let kinds: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|item| item["kind"].clone()).collect();
    let replacing = json!("partial-replace-extension");
    assert_eq!(
        kinds,
        [replacing.clone(), replacing, json!("partial-ignore-extension")],
        "a tombstone keeps its own"
    );
    registry.ask("/d/n/below").await.expect_problem(410, "withdrawn");
}

#[tokio::test]
async fn nothing_between_hides_a_prefix() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "p/", "target": "http://e.org/", "kind": "partial"});
    registry.mint_as(body).await.expect(201);
    registry.mint("p/plain", "http://plain.example/").await.expect(201);
    registry.mint("p/gone", "http://gone.example/").await.expect(201);
    registry.editor.delete("/api/v1/purls/d/p/gone").await.expect(200);
    registry.leads("/d/p/plain", "http://plain.example/").await;
    registry.leads("/d/p/plain/x", "http://e.org/plain/x").await;
    registry.leads("/d/p/gone/x", "http://e.org/gone/x").await;
    registry.ask("/d/p/gone").await.expect_problem(410, "withdrawn");
}

#[tokio::test]
async fn a_final_slash_gives_the_same_answer_unless_both_exist() {
    let registry = Registry::start().await;
    registry.mint("store", "https://e.org/a").await.expect(201);
    registry.leads("/d/store/", "https://e.org/a").await;
    registry.mint("store/", "https://e.org/b").await.expect(201);
    registry.leads("/d/store/", "https://e.org/b").await;
    registry.leads("/d/store", "https://e.org/a").await;

    registry.top_level(json!({"path": "strict", "trailing_slash": "strict"})).await;
    registry.mint_as(json!({"domain": "strict", "name": "n", "target": "https://e.org/"})).await.expect(201);
    registry.ask("/strict/n/").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn case_is_a_setting_of_the_domain() {
    let registry = Registry::with_domain(json!({"path": "d", "case_insensitive": true})).await;
    registry.mint("MF/", "https://e.org/").await.expect(201);
    registry.leads("/d/mf/", "https://e.org/").await;
    registry.leads("/d/MF/", "https://e.org/").await;
    registry.mint("mf/", "https://e.org/").await.expect_problem(409, "name_taken");
    let shown = registry.editor.get("/api/v1/purls/d/mF/").await.expect(200);
    assert_eq!(shown.json()["name"], "MF/", "shown as it was made");
    assert_eq!(registry.editor.get("/api/v1/domains/d").await.json()["case_insensitive"], true);

    registry.top_level(json!({"path": "exact"})).await;
    registry.mint_as(json!({"domain": "exact", "name": "MF", "target": "https://e.org/"})).await.expect(201);
    registry.ask("/exact/mf").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn the_query_is_forwarded_dropped_or_merged_as_the_domain_says() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/?a=1#f").await.expect(201);
    registry.leads("/d/n?b=2", "https://e.org/?a=1&b=2#f").await;
    for (policy, location) in [("drop", "https://e.org/?a=1#f"), ("merge", "https://e.org/?a=3&b=%2B+#f")] {
        registry.top_level(json!({"path": policy, "query": policy})).await;
        let body = json!({"domain": policy, "name": "n", "target": "https://e.org/?a=1#f"});
        registry.mint_as(body).await.expect(201);
        registry
            .leads(
                &format!("/{policy}/n?a=3&b=%2B+"),
                if policy == "drop" { location } else { "https://e.org/?a=3&b=%2B+#f" },
            )
            .await;
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    registry.mint("gone", "https://e.org/").await.expect(201);
    registry.editor.delete("/api/v1/purls/d/gone").await.expect(200);
    for path in ["/d/n", "/d/gone", "/d/unknown", "/"] {
        let (get, head) = (registry.ask(path).await, registry.app.stranger().head(path).await);
        assert_eq!(get.status, head.status, "{path}");
        assert!(head.body.is_empty());
        for name in ["location", "cache-control", "etag", "access-control-allow-origin", "content-type"] {
            assert_eq!(get.header(name), head.header(name), "{path} {name}");
        }
    }
}

#[tokio::test]
async fn scripts_of_any_origin_may_read_every_answer() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    registry.mint("gone", "https://e.org/").await.expect(201);
    registry.editor.delete("/api/v1/purls/d/gone").await.expect(200);
    let script = registry.app.stranger().with("origin", "https://example.com");
    for (path, status) in [("/d/n", 302), ("/d/gone", 410), ("/d/unknown", 404), ("/nowhere", 404)] {
        let answer = script.get(path).await.expect(status);
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        let preflight = script.with("access-control-request-headers", "accept").options(path).await;
        assert!(preflight.status.is_success());
        assert_eq!(preflight.header("access-control-allow-origin"), "*");
        assert_eq!(preflight.header("access-control-allow-headers"), "accept");
    }
    let refused =
        script.send(http::Method::POST, "/d/n", None).await.expect_problem(405, "method_not_allowed");
    assert_eq!(refused.header("allow"), "GET, HEAD, OPTIONS");
}

#[tokio::test]
async fn an_unknown_name_is_soon_found_once_it_is_made() {
    let registry = Registry::start().await;
    let unknown = registry.ask("/d/soon").await.expect_problem(404, "not_found");
    assert_eq!(unknown.header("cache-control"), "public, max-age=1");
    registry
        .mint_as(json!({"domain": "d", "name": "soon", "target": "https://e.org/1", "status": 301}))
        .await
        .expect(201);
    let answer = registry.ask("/d/soon").await.expect(301);
    assert_eq!(answer.header("cache-control"), "public, max-age=300", "a 301 without this is kept for ever");
    let change = json!({"target": "https://e.org/2", "status": 301});
    registry.editor.with("if-match", "\"r1\"").put("/api/v1/purls/d/soon", change).await.expect(200);
    let changed = registry.ask("/d/soon").await.expect(301);
    assert_eq!(Registry::location(&changed), "https://e.org/2");
    assert_ne!(changed.header("etag"), answer.header("etag"));
}

#[tokio::test]
async fn every_status_answers_and_the_domain_gives_the_default() {
    let registry =
        Registry::with_domain(json!({"path": "d", "default_status": 303, "cache_seconds": 0})).await;
    for status in [301, 302, 303, 307, 308] {
        let name = status.to_string();
        let body = json!({"domain": "d", "name": name, "target": "https://e.org/", "status": status});
        registry.mint_as(body).await.expect(201);
        registry.ask(&format!("/d/{name}")).await.expect(status);
    }
    registry.mint("n", "https://e.org/").await.expect(201);
    let answer = registry.ask("/d/n").await.expect(303);
    assert_eq!(answer.header("cache-control"), "no-cache");
    registry.mint_as(json!({"domain": "d", "name": "off", "status": 404})).await.expect(201);
    registry.ask("/d/off").await.expect_problem(404, "temporarily_gone");
    registry.mint_as(json!({"domain": "d", "name": "x", "status": 410})).await.expect_problem(422, "invalid");
}

#[tokio::test]
async fn a_tombstone_tells_people_and_programs_what_is_known() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/?a=1&b=\"2\"").await.expect(201);
    let body =
        json!({"reason": "<b>merged</b> & moved", "successor": "http://127.0.0.1:8080/d/new"}).to_string();
    registry.editor.send(http::Method::DELETE, "/api/v1/purls/d/n", Some(body)).await.expect(200);
    let gone = registry.ask("/d/n").await.expect_problem(410, "withdrawn");
    assert_eq!(gone.header("vary"), "Accept");
    let document = gone.json();
    assert_eq!(document["reason"], "<b>merged</b> & moved");
    assert_eq!(document["successor"], "http://127.0.0.1:8080/d/new");
    assert_eq!(document["last_target"], "https://e.org/?a=1&b=\"2\"");
    assert_eq!(document["withdrawn_at"], "2026-11-30T20:00:00Z");
    let page = registry.app.stranger().with("accept", "text/html,*/*;q=0.8").get("/d/n").await.expect(410);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("&lt;b&gt;merged&lt;/b&gt; &amp; moved"), "{}", page.text());
    assert!(page.text().contains("href=\"http://127.0.0.1:8080/d/new\""));
    assert!(!page.text().contains("<b>"));
}

#[tokio::test]
async fn the_longest_domain_answers_even_where_it_knows_nothing() {
    let registry = Registry::start().await;
    registry.mint("go/x", "https://e.org/").await.expect(201);
    let refused = registry.editor.post("/api/v1/domains", json!({"path": "d/go"})).await;
    let refused = refused.expect_problem(409, "domain_shadows");
    assert_eq!(refused.json()["names"], json!(["go/x"]));
    registry.editor.post("/api/v1/domains", json!({"path": "d/go", "shadow": true})).await.expect(201);
    registry.ask("/d/go/x").await.expect_problem(404, "not_found");
    registry.ask("/d/go").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn a_malformed_path_is_400_and_the_servers_own_words_are_404() {
    let registry = Registry::start().await;
    for path in ["/d/%zz", "/d/%4", "/d/%FF"] {
        registry.ask(path).await.expect_problem(400, "bad_path");
    }
    for path in ["/api/v2/x", "/API/x", "/_x", "/docs/x", "//d/n", "/", "/d", "/d/"] {
        registry.ask(path).await.expect_problem(404, "not_found");
    }
}

#[tokio::test]
async fn a_successor_cannot_write_its_own_link_header() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let body = json!({"successor": "https://e.org/>;rel=\"canonical\",<https://evil.example/"}).to_string();
    registry.editor.send(http::Method::DELETE, "/api/v1/purls/d/n", Some(body)).await.expect(200);
    let gone = registry.ask("/d/n").await.expect_problem(410, "withdrawn");
    let link = gone.header("link");
    assert_eq!(link.matches(['<', '>']).count(), 2, "{link}");
    assert!(link.ends_with(">; rel=\"successor-version\""), "{link}");
}
