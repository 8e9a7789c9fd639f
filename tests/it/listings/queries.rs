//! What a listing is restricted to, and what its query may say.

use serde_json::json;

use super::{domain, names, walk};
use crate::support::TestApp;

#[tokio::test]
async fn every_fault_of_a_query_is_named() {
    let app = TestApp::start().await;
    names(&app, domain(&app, "acme").await, 1).await;
    let admin = app.tenant("acme").await.admin().await;
    for (path, pointers) in [
        ("/api/v1/keys?limit=0", vec!["/limit"]),
        ("/api/v1/keys?limit=201", vec!["/limit"]),
        ("/api/v1/keys?limit=-1", vec!["/limit"]),
        ("/api/v1/keys?limit=", vec!["/limit"]),
        ("/api/v1/keys?limit=1&limit=2", vec!["/limit"]),
        ("/api/v1/keys?offset=3&page=2", vec!["/offset", "/page"]),
        ("/api/v1/purls", vec!["/domain"]),
        ("/api/v1/purls?domain=a//b&state=gone&limit=x", vec!["/limit", "/domain", "/state"]),
        ("/api/v1/purl-revisions/acme/n00001?before=3", vec!["/before"]),
        ("/api/v1/meetings?limit=1.5", vec!["/limit"]),
    ] {
        let answer = admin.get(path).await.expect_problem(422, "invalid");
        assert_eq!(answer.pointers(), pointers, "{path}");
    }
    admin.get("/api/v1/keys?limit=200").await.expect(200);
    admin.get("/api/v1/purls?domain=nowhere").await.expect_problem(404, "not_found");
    admin.get("/api/v1/meetings/1/polls").await.expect_problem(404, "not_found");
    admin.get("/api/v1/meetings/1/participants").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn without_a_limit_a_page_has_fifty_rows() {
    let app = TestApp::start().await;
    names(&app, domain(&app, "acme").await, 60).await;
    let reader = app.tenant("acme").await.reader().await;
    let page = reader.get("/api/v1/purls?domain=acme").await.expect(200).json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(50));
}

#[tokio::test]
async fn names_of_a_state_are_those_that_show_it() {
    let app = TestApp::start().await;
    names(&app, domain(&app, "acme").await, 40).await;
    let sql = "UPDATE purls SET status = CASE WHEN purl_id % 4 = 1 THEN 404 WHEN purl_id % 4 = 2 THEN 410 ELSE status END,
                                valid_until = CASE WHEN purl_id % 3 = 0 THEN updated_at
                                                   WHEN purl_id % 3 = 1 THEN updated_at + interval '1 s' END";
    sqlx::query(sql).execute(app.db().management()).await.expect("states");
    let reader = app.tenant("acme").await.reader().await;
    let all = reader.get("/api/v1/purls?domain=acme&limit=200").await.expect(200).json();
    let all = all["items"].as_array().expect("items");
    let mut found = 0;
    for state in ["live", "temporarily_gone", "expired", "withdrawn"] {
        let shown: Vec<String> =
            all.iter().filter(|item| item["state"] == state).map(super::identity).collect();
        assert!(shown.len() > 2, "{state}");
        let path = format!("/api/v1/purls?domain=acme&state={state}&limit=3");
        let (forward, mut backward) = walk(&reader, &path).await;
        backward.reverse();
        assert_eq!((&forward, &backward), (&shown, &shown), "{state}");
        found += shown.len();
    }
    assert_eq!(found, 40);
}

#[tokio::test]
async fn a_limited_key_lists_its_domains_and_what_lies_below_them() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let (operator, editor) = (app.operator().await, acme.editor().await);
    operator.post("/api/v1/domains", json!({"path": "a", "tenant": "acme"})).await.expect(201);
    operator.post("/api/v1/domains", json!({"path": "ab", "tenant": "acme"})).await.expect(201);
    operator
        .post("/api/v1/domains", json!({"path": "other", "tenant": "umbra"}))
        .await
        .expect_problem(422, "invalid");
    let mut ids = Vec::new();
    for path in ["a/b", "a/b/c", "a/b_c", "a/bc"] {
        let made = editor.post("/api/v1/domains", json!({ "path": path })).await.expect(201).json();
        ids.push(made["id"].as_str().expect("an id").parse::<i64>().expect("a number"));
    }
    let limited = acme.limited("reader", &ids[..1]).await;
    assert_eq!(walk(&limited, "/api/v1/domains?limit=1").await.0, [ids[0].to_string(), ids[1].to_string()]);
    limited.get("/api/v1/purls?domain=a/b/c").await.expect(200);
    limited.get("/api/v1/purls?domain=a/bc").await.expect_problem(403, "forbidden");
    let umbra = app.tenant("umbra").await.admin().await;
    for path in ["/api/v1/domains", "/api/v1/meetings"] {
        assert_eq!(
            umbra.get(path).await.expect(200).json(),
            json!({"items": [], "next": null, "prev": null})
        );
    }
}
