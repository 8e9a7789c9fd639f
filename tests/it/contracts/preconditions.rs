//! ETag and If-Match: a change is made only from the revision that its author has seen.

use http::Method;
use serde_json::{Value, json};

use super::{Office, id};
use crate::support::{Actor, Answer};

/// A resource, and a change of it that is possible as it stands.
struct Change {
    resource: String,
    method: Method,
    path: String,
    body: Option<Value>,
}

impl Change {
    fn new(resource: &str, method: Method, path: &str, body: Option<Value>) -> Self {
        Self { resource: resource.to_owned(), method, path: path.to_owned(), body }
    }

    async fn send(&self, actor: &Actor) -> Answer {
        actor.send(self.method.clone(), &self.path, self.body.as_ref().map(Value::to_string)).await
    }
}

/// One change of every kind, in an order in which each is possible.
async fn changes(office: &Office) -> Vec<Change> {
    let admin = &office.admin;
    let purl = json!({"domain": "d", "name": "n", "target": "https://e.org/"});
    admin.post("/api/v1/purls", purl).await.expect(201);
    let key = admin.post("/api/v1/keys", json!({"scope": "reader"})).await.expect(201).json();
    let key = format!("/api/v1/keys/{}", id(&key));
    let meeting = format!("/api/v1/meetings/{}", office.meeting);
    let people = format!("{meeting}/participants");
    let ada = admin.post(&people, json!({"name": "Ada"})).await.expect(201).json();
    let ada = format!("/api/v1/participants/{}", id(&ada));
    let grace = admin.post(&people, json!({"name": "Grace"})).await.expect(201).json();
    let proxy = format!("{ada}/proxy");
    let settings = json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    let mut polls = Vec::new();
    for _ in 0..2 {
        let poll = admin.post(&format!("{meeting}/polls"), settings.clone()).await.expect(201).json();
        polls.push(format!("/api/v1/polls/{}", id(&poll)));
    }
    let post = |resource: &str, step: &str, body| {
        Change::new(resource, Method::POST, &format!("{resource}/{step}"), Some(body))
    };
    let name = "/api/v1/purls/d/n";
    vec![
        Change::new("/api/v1/domains/d", Method::PUT, "/api/v1/domains/d", Some(json!({"query": "drop"}))),
        Change::new(name, Method::PUT, name, Some(json!({"target": "https://e.org/2"}))),
        Change::new(name, Method::DELETE, name, None),
        Change::new(&key, Method::DELETE, &key, None),
        Change::new(&polls[0], Method::PUT, &polls[0], Some(settings)),
        post(&polls[0], "open", json!({})),
        post(&polls[0], "deadline", json!({"closes_at": "2099-01-01T00:00:00Z"})),
        post(&polls[0], "close", json!({})),
        post(&polls[0], "publish", json!({})),
        post(&polls[1], "cancel", json!({})),
        post(&ada, "token", json!({})),
        Change::new(&ada, Method::PUT, &proxy, Some(json!({"holder": id(&grace)}))),
        Change::new(&ada, Method::DELETE, &proxy, None),
        Change::new(&ada, Method::DELETE, &ada, None),
        post(&meeting, "state", json!({"state": "suspended"})),
    ]
}

#[tokio::test]
async fn every_mutable_resource_has_an_etag_and_every_change_honours_if_match() {
    let office = Office::open().await;
    for change in changes(&office).await {
        let what = format!("{} {}", change.method, change.path);
        let seen = office.admin.get(&change.resource).await.expect(200);
        let etag = seen.header("etag").to_owned();
        assert!(etag.starts_with("\"r"), "{what}: {etag}");
        let rows = office.rows().await;
        for other in ["\"r9999\"", "\"something\"", "W/\"r1\""] {
            let refused = change.send(&office.admin.with("if-match", other)).await;
            let refused = refused.expect_problem(412, "precondition_failed");
            assert_eq!(refused.header("etag"), etag, "{what} tells the current one");
        }
        change.send(&office.admin.with("if-match", "r1")).await.expect_problem(400, "bad_header");
        let unchanged = office.admin.get(&change.resource).await.expect(200);
        assert_eq!((unchanged.header("etag"), &unchanged.body), (etag.as_str(), &seen.body), "{what}");
        assert_eq!(office.rows().await, rows, "{what}");

        let listed = format!("\"r9999\", {etag}");
        let changed = change.send(&office.admin.with("if-match", &listed)).await;
        assert!(changed.status.is_success(), "{what}: {}", changed.text());
        let after = office.admin.get(&change.resource).await.expect(200);
        assert_ne!(after.header("etag"), etag, "{what} makes another revision");
    }
}

#[tokio::test]
async fn a_step_that_is_done_answers_its_retry_though_the_etag_is_old() {
    let office = Office::open().await;
    for change in changes(&office).await {
        let seen = office.admin.get(&change.resource).await.expect(200);
        let admin = office.admin.with("if-match", seen.header("etag"));
        let done = change.send(&admin).await;
        assert!(done.status.is_success(), "{} {}", change.path, done.text());
        let again = change.send(&admin).await;
        let repeatable =
            ["state", "close", "cancel", "publish"].iter().any(|step| change.path.ends_with(step))
                || (change.method == Method::DELETE && !change.path.starts_with("/api/v1/purls"));
        if repeatable {
            assert_eq!(again.status, done.status, "{} {}", change.path, again.text());
            assert_eq!(again.body, done.body, "{}", change.path);
        } else {
            again.expect_problem(412, "precondition_failed");
        }
    }
}

#[tokio::test]
async fn a_change_that_replaces_settings_needs_if_match() {
    let office = Office::open().await;
    for change in changes(&office).await {
        if change.method == Method::PUT {
            let refused = change.send(&office.admin).await;
            refused.expect_problem(428, "precondition_required");
        }
        let any = change.send(&office.admin.with("if-match", "*")).await;
        assert!(any.status.is_success(), "{}: {}", change.path, any.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_changes_from_one_etag_at_two_servers_one_is_made_and_one_refused() {
    let office = Office::open().await;
    let twin = office.app.twin();
    for change in changes(&office).await {
        let etag = office.admin.get(&change.resource).await.expect(200).header("etag").to_owned();
        let here = office.admin.with("if-match", &etag);
        let there = twin.bearer(office.admin.token()).with("if-match", &etag);
        let (one, two) = tokio::join!(change.send(&here), change.send(&there));
        let what = format!("{} {}", change.method, change.path);
        if change.method == Method::PUT || change.path.ends_with("token") || change.path.ends_with("deadline")
        {
            let mut statuses = [one.status.as_u16(), two.status.as_u16()];
            statuses.sort_unstable();
            let done = if change.path.ends_with("token") { 201 } else { 200 };
            assert_eq!(statuses, [done, 412], "{what}: {} {}", one.text(), two.text());
        } else {
            // A step: the second finds it done, or is told that the revision is another by now.
            assert!(one.status.is_success() || two.status.is_success(), "{what}");
            for answer in [one, two] {
                assert!(answer.status.is_success() || answer.status == 412, "{what}: {}", answer.text());
            }
        }
    }
}
