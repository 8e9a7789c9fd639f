//! Quotas of what is made rarely: domains, meetings, participants, keys.

use futures_util::future::join_all;
use resolute::config::Quotas;
use serde_json::{Value, json};

use super::{configured, count, domain, refused, set, told};
use crate::support::{Actor, NOW};

async fn meeting(actor: &Actor) -> crate::support::Answer {
    actor.post("/api/v1/meetings", json!({"title": "Assembly"})).await
}

#[tokio::test]
async fn domains_are_limited_for_the_tenant_and_for_the_operator_who_makes_them_for_it() {
    let (app, operator) = configured(Quotas { domains: 2, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    domain(&operator, "d").await.expect(201);
    admin.post("/api/v1/domains", json!({"path": "d/a"})).await.expect(201);
    refused(admin.post("/api/v1/domains", json!({"path": "d/b"})).await, "domains", 2, 2, 1);
    refused(domain(&operator, "e").await, "domains", 2, 2, 1);
    admin.post("/api/v1/domains", json!({"path": "d/a"})).await.expect_problem(409, "domain_taken");
    assert_eq!(told(&admin, "domains").await, (json!(2), json!(2)));
    set(&operator, json!({"domains": 3})).await.expect(200);
    domain(&operator, "e").await.expect(201);
}

#[tokio::test]
async fn meetings_are_limited_those_that_are_over_included() {
    let (app, operator) = configured(Quotas { meetings: 2, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    let made = meeting(&admin).await.expect(201).json();
    meeting(&admin.with("idempotency-key", "k")).await.expect(201);
    for state in ["preparing", "active", "closed"] {
        let path = format!("/api/v1/meetings/{}/state", made["id"].as_str().expect("an id"));
        admin.post(&path, json!({ "state": state })).await.expect(200);
    }
    refused(meeting(&admin).await, "meetings", 2, 2, 1);
    let again = meeting(&admin.with("idempotency-key", "k")).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(told(&admin, "meetings").await, (json!(2), json!(2)));
    set(&operator, json!({"meetings": 0})).await.expect(200);
    meeting(&admin).await.expect(201);
    meeting(&app.tenant("other").await.admin().await).await.expect(201);
}

#[tokio::test]
async fn participants_are_added_all_or_none_and_those_who_left_still_count() {
    let (app, operator) = configured(Quotas { participants: 5, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    let mut paths = Vec::new();
    for _ in 0..2 {
        let made = meeting(&admin).await.expect(201).json();
        paths.push(format!("/api/v1/meetings/{}/participants", made["id"].as_str().expect("an id")));
    }
    let people = |how_many: usize| {
        let people: Vec<Value> = (0..how_many).map(|number| json!({"name": format!("P {number}")})).collect();
        json!({ "participants": people })
    };
    let added = admin.post(&paths[0], people(3)).await.expect(201).json();
    refused(admin.post(&paths[1], people(3)).await, "participants", 5, 3, 3);
    assert_eq!(count(&app, "SELECT count(*) FROM participants").await, 3);
    let first = added["participants"][0]["id"].as_str().expect("an id");
    admin.delete(&format!("/api/v1/participants/{first}")).await.expect(204);
    refused(admin.post(&paths[0], people(3)).await, "participants", 5, 3, 3);
    admin.post(&paths[1], people(2)).await.expect(201);
    refused(admin.post(&paths[1], json!({"name": "Ada"})).await, "participants", 5, 5, 1);
    let nowhere = "/api/v1/meetings/4611686018427387904/participants";
    admin.post(nowhere, json!({"name": "Ada"})).await.expect_problem(404, "not_found");
    set(&operator, json!({"participants": 6})).await.expect(200);
    admin.post(&paths[0], json!({"name": "Ada"})).await.expect(201);
}

#[tokio::test]
async fn keys_that_are_revoked_or_expired_make_room() {
    let (app, _) = configured(Quotas { api_keys: 3, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    let soon = (NOW + time::Duration::MINUTE)
        .format(&time::format_description::well_known::Rfc3339)
        .expect("an instant");
    let key = async |body: Value| admin.post("/api/v1/keys", body).await;
    let made = key(json!({"scope": "reader"})).await.expect(201).json();
    key(json!({"scope": "reader", "expires_at": soon})).await.expect(201);
    refused(key(json!({"scope": "reader"})).await, "api_keys", 3, 3, 1);
    admin.delete(&format!("/api/v1/keys/{}", made["id"].as_str().expect("an id"))).await.expect(200);
    key(json!({"scope": "reader"})).await.expect(201);
    refused(key(json!({"scope": "reader"})).await, "api_keys", 3, 3, 1);
    app.app.clock.advance(time::Duration::MINUTE * 2);
    assert_eq!(told(&admin, "api_keys").await, (json!(3), json!(2)));
    key(json!({"scope": "reader"})).await.expect(201);
    // The command line is how a tenant that has no room left is helped.
    app.tenant("acme").await.admin().await.get("/api/v1/keys").await.expect(200);
    assert_eq!(told(&admin, "api_keys").await, (json!(3), json!(4)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_at_two_servers_as_many_succeed_as_there_is_room_for() {
    let quotas = Quotas { meetings: 5, domains: 5, api_keys: 5, participants: 25, ..Quotas::default() };
    let (app, operator) = configured(quotas).await;
    let here = app.tenant("acme").await.admin().await;
    let twin = app.twin();
    let there = twin.bearer(here.token());
    domain(&operator, "d").await.expect(201);
    let made = meeting(&here).await.expect(201).json();
    let people = format!("/api/v1/meetings/{}/participants", made["id"].as_str().expect("an id"));
    let crowd = json!({"participants": (0..5).map(|n| json!({"name": n.to_string()})).collect::<Vec<_>>()});
    let kinds = [
        ("/api/v1/meetings", json!({"title": "M"}), 4),
        ("/api/v1/domains", json!({}), 4),
        ("/api/v1/keys", json!({"scope": "reader"}), 4),
        (&people, crowd, 5),
    ];
    for (path, body, room) in &kinds {
        let calls = (0..12).map(|number| {
            let actor = if number % 2 == 0 { here.clone() } else { there.clone() };
            let mut body = body.clone();
            if *path == "/api/v1/domains" {
                body["path"] = format!("d/{number}").into();
            }
            async move { actor.post(path, body).await }
        });
        let answers = join_all(calls).await;
        let made = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(made, *room, "{path}");
        for answer in answers.into_iter().filter(|answer| answer.status != 201) {
            answer.expect_problem(409, "quota_exceeded");
        }
    }
    assert_eq!(count(&app, "SELECT count(*) FROM participants").await, 25);
}
