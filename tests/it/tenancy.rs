//! Tenants and keys over HTTP.

use serde_json::json;
use time::Duration;

use crate::support::TestApp;

#[tokio::test]
async fn an_operator_makes_a_tenant_and_a_taken_slug_is_refused() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let made = operator.post("/api/v1/tenants", json!({"slug": "acme", "name": "Acme"})).await.expect(201);
    assert_eq!(made.header("location"), "/api/v1/tenants/acme");
    assert_eq!(operator.get("/api/v1/tenants/acme").await.expect(200).json(), made.json());
    operator.post("/api/v1/tenants", json!({"slug": "acme"})).await.expect_problem(409, "slug_taken");
    let answer = operator
        .post("/api/v1/tenants", json!({"slug": "A B", "nmae": "x"}))
        .await
        .expect_problem(422, "invalid");
    assert_eq!(answer.pointers(), ["/slug", "/nmae"]);
}

#[tokio::test]
async fn a_key_works_until_it_is_revoked_or_expires() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let admin = acme.admin().await;
    let body = json!({"scope": "admin", "label": "laptop", "expires_at": "2026-12-01T20:00:00Z"});
    let made = admin.post("/api/v1/keys", body).await.expect(201).json();
    let path = format!("/api/v1/keys/{}", made["id"].as_str().expect("id"));
    let holder = app.bearer(made["key"].as_str().expect("shown once"));
    let seen = holder.get(&path).await.expect(200).json();
    assert_eq!(seen["label"], "laptop");
    assert!(seen.get("key").is_none(), "the secret is shown once");

    app.app.clock.advance(Duration::days(1));
    holder.get(&path).await.expect_problem(401, "unauthenticated");
    let revoked = admin.delete(&path).await.expect(200).json();
    assert_eq!(admin.delete(&path).await.expect(200).json(), revoked, "revoking twice keeps the first time");
}

#[tokio::test]
async fn another_tenants_keys_do_not_exist_and_an_operator_key_is_made_only_by_command() {
    let app = TestApp::start().await;
    let (acme, umbra) = (app.tenant("acme").await, app.tenant("umbra").await);
    let made = acme.admin().await.post("/api/v1/keys", json!({"scope": "reader"})).await.expect(201).json();
    let path = format!("/api/v1/keys/{}", made["id"].as_str().expect("id"));
    let stranger = umbra.admin().await;
    stranger.get(&path).await.expect_problem(404, "not_found");
    stranger.delete(&path).await.expect_problem(404, "not_found");
    acme.admin().await.get(&path).await.expect(200);
    let refused = acme
        .admin()
        .await
        .post("/api/v1/keys", json!({"scope": "operator"}))
        .await
        .expect_problem(422, "invalid");
    assert_eq!(refused.pointers(), ["/scope"]);
    acme.editor()
        .await
        .post("/api/v1/keys", json!({"scope": "reader"}))
        .await
        .expect_problem(403, "forbidden");
}

#[tokio::test]
async fn every_wrong_key_gets_the_same_401() {
    let app = TestApp::start().await;
    let good = app.tenant("acme").await.admin().await;
    let mut wrong = good.token().to_owned();
    wrong.replace_range(wrong.len() - 1.., if wrong.ends_with('0') { "1" } else { "0" });
    for token in [wrong.as_str(), "rsl_x_y", "nonsense", ""] {
        let answer = app.bearer(token).get("/api/v1/keys/x").await.expect_problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"resolute\"");
    }
}

#[tokio::test]
async fn malformed_bodies_say_what_is_wrong() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let send =
        |body: &'static str| operator.send(http::Method::POST, "/api/v1/tenants", Some(body.to_owned()));
    send("{").await.expect_problem(400, "bad_json");
    send("[]").await.expect_problem(422, "invalid");
    let big = format!("{{\"slug\":\"{}\"}}", "x".repeat(3 << 20));
    operator
        .send(http::Method::POST, "/api/v1/tenants", Some(big))
        .await
        .expect_problem(413, "body_too_large");
    operator
        .with("content-type", "text/plain")
        .post("/api/v1/tenants", json!({}))
        .await
        .expect_problem(415, "unsupported_media_type");
    let put = operator.put("/api/v1/tenants", json!({})).await.expect_problem(405, "method_not_allowed");
    assert_eq!(put.header("allow"), "POST");
}

#[tokio::test]
async fn an_admin_key_that_is_limited_to_domains_makes_no_keys() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.operator().await.post("/api/v1/domains", json!({"path": "obo", "tenant": "acme"})).await.expect(201);
    let id: i64 = sqlx::query_scalar("SELECT domain_id FROM domains")
        .fetch_one(app.db().management())
        .await
        .expect("an id");
    let limited = acme.limited("admin", &[id]).await;
    for body in [json!({"scope": "admin"}), json!({"scope": "reader", "domains": ["obo"]})] {
        limited.post("/api/v1/keys", body).await.expect_problem(403, "forbidden");
    }
    let nul = json!({"scope": "reader", "domains": ["o\u{0}"]});
    acme.admin().await.post("/api/v1/keys", nul).await.expect_problem(422, "invalid");
}
