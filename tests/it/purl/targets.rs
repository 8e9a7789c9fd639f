//! Targets: served byte for byte, or refused with the reason.

use serde_json::json;

use super::Registry;

#[tokio::test]
async fn a_target_is_stored_and_served_byte_for_byte() {
    let registry = Registry::start().await;
    let targets = [
        "https://example.org/?abc+123",
        "https://example.com/?123=foo",
        "https://guides.apple.com/?ug=CglE%2BGA%2BZ%3D",
        "https://example.com?email=test%2B123%40example.com",
        "http://linksredirect.com?pub_id=28CL11&url=https://paytm.com/dth",
        "HTTPS://Example.ORG/%7euser/../a/./b//c;d=[1]{2}|^`?x=%zz&&y#frag?ment",
    ];
    for (number, target) in targets.iter().enumerate() {
        let made = registry.mint(&format!("n{number}"), target).await.expect(201);
        assert_eq!(made.json()["target"], *target);
        registry.leads(&format!("/d/n{number}"), target).await;
        let read = registry.editor.get(&format!("/api/v1/purls/d/n{number}")).await.expect(200);
        assert_eq!(read.json()["target"], *target);
    }
}

#[tokio::test]
async fn a_target_that_could_do_harm_is_refused_wherever_it_is_given() {
    let registry = Registry::start().await;
    let made = registry.mint("ok", "https://e.org/").await.expect(201);
    let etag = made.header("etag").to_owned();
    for target in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "\tjavascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "https://e.org/\r\nSet-Cookie: a=b",
        "https://e.org/a b",
        "//e.org/x",
        "/x",
        "https:///e.org",
        "https:\\\\e.org",
        "http://127.0.0.1:8080/d/ok",
        "https://e.org/ä",
        "",
    ] {
        let refused = registry.mint("bad", target).await.expect_problem(422, "invalid");
        assert_eq!(refused.pointers(), ["/target"], "{target:?}");
        let body = json!({"target": target});
        let refused = registry.editor.with("if-match", &etag).put("/api/v1/purls/d/ok", body).await;
        assert_eq!(refused.expect_problem(422, "invalid").pointers(), ["/target"], "{target:?}");
        if target != "http://127.0.0.1:8080/d/ok" {
            let body = json!({"successor": target}).to_string();
            let refused = registry.editor.send(http::Method::DELETE, "/api/v1/purls/d/ok", Some(body)).await;
            assert_eq!(refused.expect_problem(422, "invalid").pointers(), ["/successor"], "{target:?}");
        }
    }
    registry.ask("/d/bad").await.expect_problem(404, "not_found");
    registry.leads("/d/ok", "https://e.org/").await;
}

#[tokio::test]
async fn a_target_may_have_8192_bytes_and_no_more() {
    let registry = Registry::start().await;
    let longest = format!("https://e.org/{}", "x".repeat(8192 - 14));
    registry.mint("long", &longest).await.expect(201);
    registry.leads("/d/long", &longest).await;
    registry.mint("longer", &format!("{longest}x")).await.expect_problem(422, "invalid");
}

#[tokio::test]
async fn an_instant_keeps_its_offset_and_is_enforced() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "old", "target": "https://e.org/", "valid_until": "2020-09-04T10:48:00+03:00"});
    let made = registry.mint_as(body).await.expect(201);
    assert_eq!(made.json()["valid_until"], "2020-09-04T07:48:00Z");
    assert_eq!(made.json()["state"], "expired");
    let gone = registry.ask("/d/old").await.expect_problem(410, "expired");
    assert_eq!(gone.json()["valid_until"], "2020-09-04T07:48:00Z");
    assert_eq!(gone.json()["last_target"], "https://e.org/");
}

#[tokio::test]
async fn a_name_expires_at_its_instant_and_can_be_renewed() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/", "valid_until": "2026-11-30T20:01:00Z"});
    registry.mint_as(body).await.expect(201);
    let answer = registry.ask("/d/n").await.expect(302);
    assert_eq!(answer.header("cache-control"), "public, max-age=60", "never longer than the name lives");
    registry.app.app.clock.advance(time::Duration::minutes(1));
    registry.ask("/d/n").await.expect_problem(410, "expired");
    let renewed = json!({"target": "https://e.org/", "valid_until": "2026-11-30T21:00:00Z"});
    registry.editor.with("if-match", "\"r1\"").put("/api/v1/purls/d/n", renewed).await.expect(200);
    registry.leads("/d/n", "https://e.org/").await;
}

#[tokio::test]
async fn bad_json_is_400_and_a_bad_field_is_named() {
    let registry = Registry::start().await;
    let broken = registry.editor.send(http::Method::POST, "/api/v1/purls", Some("{".to_owned())).await;
    broken.expect_problem(400, "bad_json");
    let body = json!({"domain": "d", "name": "n", "target": "https://e.org/", "valid_until": "x", "validUntil": "x",
                      "status": 200, "kind": "yes"});
    let refused = registry.mint_as(body).await.expect_problem(422, "invalid");
    let mut pointers = refused.pointers();
    pointers.sort();
    assert_eq!(pointers, ["/kind", "/status", "/validUntil", "/valid_until"]);
    let refused = registry.mint_as(json!({})).await.expect_problem(422, "invalid");
    assert_eq!(refused.pointers(), ["/domain", "/name", "/target"]);
}
