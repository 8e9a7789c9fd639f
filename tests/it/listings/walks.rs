//! A walk gives every row once, in order, and the way back is the way there reversed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{domain, items, link, names, walk};
use crate::support::database::TestDatabase;
use crate::support::{Actor, TestApp};

/// Asserts that a walk finds `count` distinct rows there and, reversed, back.
async fn whole(actor: &Actor, path: &str, count: usize) {
    for limit in [1, 7, 30, 200] {
        let joint = if path.contains('?') { '&' } else { '?' };
        let (forward, mut backward) = walk(actor, &format!("{path}{joint}limit={limit}")).await;
        assert_eq!(forward.iter().collect::<BTreeSet<_>>().len(), count, "{path} by {limit}");
        assert_eq!(forward.len(), count, "{path} by {limit}: none twice");
        backward.reverse();
        assert_eq!(forward, backward, "{path} by {limit}");
    }
}

#[tokio::test]
async fn thirty_names_made_in_one_transaction_are_thirty_rows_by_pages_of_seven() {
    let app = TestApp::start().await;
    let place = domain(&app, "acme").await;
    names(&app, place, 30).await;
    let reader = app.tenant("acme").await.reader().await;
    whole(&reader, "/api/v1/purls?domain=acme", 30).await;
    let first = reader.get("/api/v1/purls?domain=acme&limit=7").await.expect(200);
    assert_eq!(first.header("cache-control"), "no-store");
    let listed = first.json()["items"][0].clone();
    assert_eq!(listed, reader.get("/api/v1/purls/acme/n00001").await.expect(200).json());
}

#[tokio::test]
async fn thirty_meetings_of_one_instant_are_thirty_rows_the_newest_first() {
    let app = TestApp::start().await;
    let editor = app.tenant("acme").await.editor().await;
    for number in 0..30 {
        editor.post("/api/v1/meetings", json!({"title": format!("Meeting {number}")})).await.expect(201);
    }
    whole(&editor, "/api/v1/meetings", 30).await;
    app.app.clock.advance(time::Duration::seconds(1));
    editor.post("/api/v1/meetings", json!({"title": "Latest"})).await.expect(201);
    let listed = editor.get("/api/v1/meetings?limit=3").await.expect(200).json();
    let titles: Vec<_> =
        listed["items"].as_array().expect("items").iter().map(|item| &item["title"]).collect();
    assert_eq!(titles, ["Latest", "Meeting 29", "Meeting 28"]);
    let path = format!("/api/v1/meetings/{}", listed["items"][0]["id"].as_str().expect("an id"));
    assert_eq!(editor.get(&path).await.expect(200).json(), listed["items"][0]);
}

#[tokio::test]
async fn keys_domains_participants_polls_and_histories_are_walked_whole_in_both_directions() {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let (admin, editor) = (acme.admin().await, acme.editor().await);
    for number in 0..11 {
        let body = json!({"scope": "reader", "label": format!("key {number}")});
        admin.post("/api/v1/keys", body).await.expect(201);
    }
    whole(&admin, "/api/v1/keys", 13).await;
    let listed = admin.get("/api/v1/keys").await.expect(200);
    assert!(!listed.text().contains("rsl_"), "a secret is shown once");

    let operator = app.operator().await;
    operator.post("/api/v1/domains", json!({"path": "", "tenant": "acme"})).await.expect(201);
    operator.post("/api/v1/domains", json!({"path": "b", "tenant": "acme"})).await.expect(201);
    for path in ["b/z", "b/a", "b/a/a", "b/a-a", "b/é"] {
        editor.post("/api/v1/domains", json!({ "path": path })).await.expect(201);
    }
    whole(&editor, "/api/v1/domains", 7).await;
    let listed = editor.get("/api/v1/domains").await.expect(200).json();
    let paths: Vec<_> = listed["items"].as_array().expect("items").iter().map(|item| &item["path"]).collect();
    assert_eq!(paths, ["", "b", "b/a", "b/a-a", "b/a/a", "b/z", "b/é"]);
    assert_eq!(editor.get("/api/v1/domains/b/z").await.expect(200).json(), listed["items"][5]);

    let made = editor.post("/api/v1/meetings", json!({"title": "Assembly"})).await.expect(201).json();
    let meeting = format!("/api/v1/meetings/{}", made["id"].as_str().expect("an id"));
    let people: Vec<_> = (0..9).map(|number| json!({"name": format!("P{number}")})).collect();
    editor.post(&format!("{meeting}/participants"), json!({"participants": people})).await.expect(201);
    whole(&editor, &format!("{meeting}/participants"), 9).await;
    for number in 0..9 {
        let options = json!([{"title": "Yes"}, {"title": "No"}]);
        let body =
            json!({"title": format!("Poll {number}"), "ballot_kind": "single_choice", "options": options});
        editor.post(&format!("{meeting}/polls"), body).await.expect(201);
    }
    whole(&editor, &format!("{meeting}/polls"), 9).await;
    let listed = editor.get(&format!("{meeting}/polls?limit=1")).await.expect(200).json();
    let poll = format!("/api/v1/polls/{}", listed["items"][0]["id"].as_str().expect("an id"));
    assert_eq!(editor.get(&poll).await.expect(200).json(), listed["items"][0]);

    let name = json!({"domain": "b/é", "name": "ü", "target": "https://e.org/0"});
    editor.post("/api/v1/purls", name).await.expect(201);
    for number in 1..9 {
        let change = json!({"target": format!("https://e.org/{number}")});
        editor.with("if-match", "*").put("/api/v1/purls/b/%C3%A9/%C3%BC", change).await.expect(200);
    }
    whole(&editor, "/api/v1/purl-revisions/b/%C3%A9/%C3%BC", 9).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walk_of_ten_thousand_rows_under_inserts_and_deletes_gives_none_twice_and_all_that_stayed() {
    const KEPT: usize = 10_000;
    let app = TestApp::start().await;
    let (tenant_id, domain_id) = domain(&app, "acme").await;
    names(&app, (tenant_id, domain_id), 10_000).await;
    let reader = app.tenant("acme").await.reader().await;

    let stop = Arc::new(AtomicBool::new(false));
    let churn = |seed: u32| {
        let (stop, target) = (Arc::clone(&stop), app.target().clone());
        async move {
            let mut connection = TestDatabase::connect(&target).await;
            let mut rounds = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                rounds += 1;
                // Names between those that stay (`n00001x…`): some come, some of those that came go.
                let sql = format!(
                    "INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
                     SELECT {tenant_id}, {domain_id}, n, n, 302, 'https://e.org/', now(), now()
                     FROM (SELECT DISTINCT 'n' || lpad((random() * 10000)::integer::text, 5, '0') || 'x{seed}' AS n
                           FROM generate_series(1, 60)) names
                     ON CONFLICT DO NOTHING;
                     DELETE FROM purls WHERE name_key IN
                         (SELECT name_key FROM purls WHERE name_key LIKE '%x{seed}' ORDER BY random() LIMIT 50)"
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("churn");
            }
            rounds
        }
    };
    let walked = async {
        let walked = walk(&reader, "/api/v1/purls?domain=acme&limit=97").await;
        stop.store(true, Ordering::Relaxed);
        walked
    };
    let ((forward, backward), one, other) = tokio::join!(walked, churn(1), churn(2));
    assert!(one > 5 && other > 5, "there was churn: {one}, {other}");

    for way in [&forward, &backward] {
        assert_eq!(way.iter().collect::<BTreeSet<_>>().len(), way.len(), "none twice");
    }
    let sql = "SELECT purl_id::text FROM purls WHERE name_key NOT LIKE '%x%' ORDER BY name_key";
    let kept: Vec<String> = sqlx::query_scalar(sql).fetch_all(app.db().management()).await.expect("ids");
    assert_eq!(kept.len(), KEPT);
    let known: BTreeSet<&String> = kept.iter().collect();
    let stayed = |way: &[String]| way.iter().filter(|id| known.contains(id)).cloned().collect::<Vec<_>>();
    assert_eq!(stayed(&forward), kept);
    let mut back = stayed(&backward);
    back.reverse();
    assert_eq!(back, kept);
}

#[tokio::test]
async fn a_page_whose_rows_are_gone_is_empty_and_leads_back() {
    let app = TestApp::start().await;
    let place = domain(&app, "acme").await;
    names(&app, place, 10).await;
    let reader = app.tenant("acme").await.reader().await;
    let first = reader.get("/api/v1/purls?domain=acme&limit=5").await.expect(200);
    let next = link(&first, "next").expect("five more");
    sqlx::raw_sql("DELETE FROM purls WHERE name_key > 'n00005'")
        .execute(app.db().management())
        .await
        .expect("deleted");
    let empty = reader.get(&next).await.expect(200);
    assert_eq!((items(&empty).len(), link(&empty, "next")), (0, None));
    let back = reader.get(&link(&empty, "prev").expect("back")).await.expect(200);
    assert_eq!(items(&back), items(&first));
    assert_eq!(link(&back, "prev"), None);
}
