//! The audit log: every administrative act is in it, with who, what and the request; nothing in it can be changed.

use http::Method;
use serde_json::{Value, json};
use sqlx::Row;

use super::{Office, id};
use crate::support::TestApp;
use crate::support::process::{resolute, url};

/// An entry as stored.
#[derive(Debug)]
struct Entry {
    tenant_id: i64,
    actor: String,
    key_id: Option<String>,
    action: String,
    subject: (String, String),
    before: Value,
    after: Value,
    request: Option<String>,
}

async fn entries(app: &TestApp) -> Vec<Entry> {
    let sql = "SELECT tenant_id, actor_kind, actor_key_id::text, action, subject_kind, subject_reference,
                      coalesce(before, 'null') AS before, coalesce(after, 'null') AS after, request
               FROM audit_log ORDER BY audit_id";
    let rows = sqlx::query(sql).fetch_all(app.db().management()).await.expect("the log");
    rows.iter()
        .map(|row| Entry {
            tenant_id: row.get("tenant_id"),
            actor: row.get("actor_kind"),
            key_id: row.get("actor_key_id"),
            action: row.get("action"),
            subject: (row.get("subject_kind"), row.get("subject_reference")),
            before: row.get("before"),
            after: row.get("after"),
            request: row.get("request"),
        })
        .collect()
}

/// What the log got while `act` happened.
async fn noted(app: &TestApp, act: impl AsyncFnOnce()) -> Vec<Entry> {
    let before = entries(app).await.len();
    act().await;
    entries(app).await.split_off(before)
}

fn actions(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.action.as_str()).collect()
}

fn key_id(token: &str) -> String {
    let hex = token.split('_').nth(1).expect("an id");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[tokio::test]
async fn every_administrative_act_is_noted_with_who_and_in_which_request() {
    let office = Office::open().await;
    for creation in office.creations().await {
        let actor = creation.actor.with("x-request-id", "request-1");
        let made = noted(&office.app, async || {
            actor.post(&creation.path, creation.body.clone()).await.expect(201);
        });
        let made = made.await;
        let expected: &[&str] = match creation.what {
            "tenant" => &["tenant.created"],
            "top-level domain" | "domain" => &["domain.created"],
            "key" => &["key.created"],
            "name" => &[],
            "meeting" => &["meeting.created"],
            "participant" => &["participant.added"],
            "poll" => &["poll.created"],
            "token" => &["participant.token_reissued"],
            other => panic!("what is noted of a {other}?"),
        };
        assert_eq!(actions(&made), expected, "{}", creation.what);
        for entry in made {
            assert_eq!(entry.actor, "key", "{entry:?}");
            assert_eq!(entry.key_id, Some(key_id(creation.actor.token())), "{entry:?}");
            assert_eq!(entry.request.as_deref(), Some("request-1"), "{entry:?}");
            assert_eq!(Some(entry.subject.0.as_str()), entry.action.split('.').next());
            if creation.what != "tenant" {
                assert_eq!(entry.tenant_id, office.tenant_id, "in the log of the tenant whose thing it is");
            }
        }
    }
}

#[tokio::test]
async fn steps_and_changes_are_noted_once_with_before_and_after() {
    let office = Office::open().await;
    let admin = office.admin.with("if-match", "*");
    let meeting = format!("/api/v1/meetings/{}", office.meeting);
    let settings = json!({"title": "Q", "ballot_kind": "single_choice", "options": [{"title": "A"}]});
    let mut polls = Vec::new();
    for _ in 0..3 {
        let poll = admin.post(&format!("{meeting}/polls"), settings.clone()).await.expect(201).json();
        polls.push(format!("/api/v1/polls/{}", id(&poll)));
    }
    let ada = admin.post(&format!("{meeting}/participants"), json!({"name": "Ada"})).await.expect(201);
    let ada = format!("/api/v1/participants/{}", id(&ada.json()));
    let grace = admin.post(&format!("{meeting}/participants"), json!({"name": "Grace"})).await.expect(201);
    let (proxy, holder) = (format!("{ada}/proxy"), json!({"holder": id(&grace.json())}));
    let key = admin.post("/api/v1/keys", json!({"scope": "reader"})).await.expect(201).json();
    let key = format!("/api/v1/keys/{}", id(&key));
    let story: [(Method, String, Value, &[&str]); 13] = [
        (Method::PUT, "/api/v1/domains/d".into(), json!({"query": "drop"}), &["domain.changed"]),
        (Method::PUT, polls[0].clone(), settings, &["poll.changed"]),
        (Method::POST, format!("{}/open", polls[0]), json!({}), &["poll.opened"]),
        (
            Method::POST,
            format!("{}/deadline", polls[0]),
            json!({"closes_at": "2099-01-01T00:00:00Z"}),
            &["poll.deadline_extended"],
        ),
        (Method::POST, format!("{}/cancel", polls[1]), json!({}), &["poll.cancelled"]),
        (Method::POST, format!("{meeting}/state"), json!({"state": "suspended"}), &["meeting.stepped"]),
        (Method::POST, format!("{meeting}/state"), json!({"state": "active"}), &["meeting.stepped"]),
        (Method::PUT, proxy.clone(), holder.clone(), &["participant.proxy_given"]),
        (Method::DELETE, proxy.clone(), Value::Null, &["participant.proxy_revoked"]),
        (Method::PUT, proxy, holder, &["participant.proxy_given"]),
        (Method::DELETE, ada, Value::Null, &["participant.proxy_revoked", "participant.removed"]),
        (Method::DELETE, key, Value::Null, &["key.revoked"]),
        // Closes the open poll, cancels the draft.
        (
            Method::POST,
            format!("{meeting}/state"),
            json!({"state": "closed"}),
            &["poll.closed", "poll.cancelled", "meeting.stepped"],
        ),
    ];
    for (method, path, body, expected) in story {
        let body = (body != Value::Null).then(|| body.to_string());
        let made = noted(&office.app, async || {
            let done = admin.send(method.clone(), &path, body.clone()).await;
            assert!(done.status.is_success(), "{path}: {}", done.text());
        });
        let made = made.await;
        assert_eq!(actions(&made), expected, "{path}");
        let repeatable = !matches!(expected, ["domain.changed" | "poll.changed"]);
        if repeatable {
            let repeat = async || drop(admin.send(method.clone(), &path, body.clone()).await);
            assert_eq!(actions(&noted(&office.app, repeat).await), [""; 0], "{path}: again is no act");
        }
    }
    let published = noted(&office.app, async || {
        admin.post(&format!("{}/publish", polls[0]), json!({})).await.expect(200);
        admin.post(&format!("{}/publish", polls[0]), json!({})).await.expect(200);
    });
    assert_eq!(actions(&published.await), ["poll.published"]);

    let log = entries(&office.app).await;
    let of = |action: &str| log.iter().find(|entry| entry.action == action).expect("an entry");
    assert_eq!(of("domain.changed").before["query"], "forward");
    assert_eq!(of("domain.changed").after["query"], "drop");
    assert_eq!(of("domain.changed").subject.1, "d");
    assert_eq!(of("poll.deadline_extended").before["closes_at"], Value::Null);
    assert_eq!(of("poll.deadline_extended").after["closes_at"], "2099-01-01T00:00:00.000000Z");
    let stepped: Vec<_> = log.iter().filter(|entry| entry.action == "meeting.stepped").collect();
    let states: Vec<&Value> = stepped.iter().map(|entry| &entry.after["state"]).collect();
    assert_eq!(states, ["preparing", "active", "suspended", "active", "closed"]);
    assert_eq!(stepped[2].before["state"], "active");
}

#[tokio::test]
async fn a_refused_act_and_a_replayed_answer_leave_no_entry() {
    let office = Office::open().await;
    let admin = office.admin.with("idempotency-key", "k");
    admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
    let made = noted(&office.app, async || {
        admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201);
        office.admin.post("/api/v1/domains", json!({"path": "d"})).await.expect(403);
        office.operator.post("/api/v1/domains", json!({"path": "d", "tenant": "acme"})).await.expect(409);
        office.operator.post("/api/v1/tenants", json!({"slug": "acme"})).await.expect(409);
        let path = format!("/api/v1/meetings/{}/state", office.meeting);
        office.admin.post(&path, json!({"state": "draft"})).await.expect(409);
    });
    assert_eq!(actions(&made.await), [""; 0]);
}

#[tokio::test]
async fn persons_are_in_the_log_by_reference_only_and_neither_names_nor_casts_are() {
    let office = Office::open().await;
    let meeting = format!("/api/v1/meetings/{}", office.meeting);
    let person = json!({"name": "Ada Lovelace", "email": "ada@example.org", "external_reference": "M-1815"});
    let added = office.admin.post(&format!("{meeting}/participants"), person).await.expect(201).json();
    let poll = json!({"title": "Ada Lovelace?", "ballot_kind": "single_choice", "options": [{"title": "Ada Lovelace"}]});
    let poll = office.admin.post(&format!("{meeting}/polls"), poll).await.expect(201).json();
    let path = format!("/api/v1/polls/{}", id(&poll));
    office.admin.post(&format!("{path}/open"), json!({})).await.expect(200);
    let made = noted(&office.app, async || {
        let voter = office.app.bearer(added["token"].as_str().expect("a token"));
        voter
            .put(&format!("{path}/ballot"), json!({"options": [poll["options"][0]["id"]]}))
            .await
            .expect(201);
        let purl = json!({"domain": "d", "name": "n", "target": "https://e.org/"});
        office.admin.post("/api/v1/purls", purl).await.expect(201);
        office.admin.delete("/api/v1/purls/d/n").await.expect(200);
    });
    assert_eq!(actions(&made.await), [""; 0]);
    let sql = "SELECT string_agg(audit_log::text, ' ') FROM audit_log";
    let log: String = sqlx::query_scalar(sql).fetch_one(office.app.db().management()).await.expect("text");
    assert!(log.contains("participant.added"));
    for personal in ["Lovelace", "example.org", "1815", added["token"].as_str().expect("a token")] {
        assert!(!log.contains(personal), "{personal} is in the log");
    }
}

#[tokio::test]
async fn admins_read_their_own_log_and_nobody_else_does() {
    let office = Office::open().await;
    let umbra = office.app.tenant("umbra").await;
    let path = format!("/api/v1/meetings/{}/state", office.meeting);
    let chair = office.admin.with("x-request-id", "request-1");
    chair.post(&path, json!({"state": "suspended"})).await.expect(200);
    let listed = office.admin.get("/api/v1/audit-log?limit=2").await.expect(200).json();
    let newest = &listed["items"][0];
    assert_eq!(newest["action"], "meeting.stepped");
    assert_eq!(newest["subject"], json!({"kind": "meeting", "reference": office.meeting}));
    assert_eq!(
        (&newest["before"], &newest["after"]),
        (&json!({"state": "active"}), &json!({"state": "suspended"}))
    );
    assert_eq!(newest["actor"], json!({"kind": "key", "key": key_id(chair.token())}));
    assert_eq!(
        (&newest["happened_at"], &newest["request"]),
        (&json!("2026-11-30T20:00:00Z"), &json!("request-1"))
    );
    // To its beginning, and nothing of another tenant on the way.
    let (mut seen, mut next) = (2, listed["next"].as_str().map(str::to_owned));
    while let Some(path) = next {
        let page = office.admin.get(&path).await.expect(200).json();
        seen += page["items"].as_array().expect("items").len();
        next = page["next"].as_str().map(str::to_owned);
    }
    let own = entries(&office.app).await.iter().filter(|entry| entry.tenant_id == office.tenant_id).count();
    assert_eq!(seen, own);
    let theirs = umbra.admin().await.get("/api/v1/audit-log").await.expect(200).json();
    assert!(
        theirs["items"].as_array().expect("items").iter().all(|entry| entry["subject"]["kind"] != "meeting")
    );
    umbra.editor().await.get("/api/v1/audit-log").await.expect_problem(403, "forbidden");
    office.operator.get("/api/v1/audit-log").await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn entries_cannot_be_changed_or_removed() {
    let office = Office::open().await;
    let pool = office.app.db().management();
    let before = format!("{:?}", entries(&office.app).await);
    for sql in ["UPDATE audit_log SET action = 'x.y'", "DELETE FROM audit_log", "TRUNCATE audit_log"] {
        let error = sqlx::raw_sql(sql).execute(pool).await.expect_err(sql).to_string();
        assert!(error.contains("audit_log is append-only"), "{error}");
    }
    assert_eq!(format!("{:?}", entries(&office.app).await), before);
}

#[tokio::test]
async fn an_act_whose_entry_cannot_be_written_does_not_happen() {
    let office = Office::open().await;
    let creations = office.creations().await;
    let pool = office.app.db().management();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''full''; END';
                  CREATE TRIGGER refuse BEFORE INSERT ON audit_log EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refuse).execute(pool).await.expect("a trigger");
    let rows = office.rows().await;
    for creation in creations.iter().filter(|creation| creation.what != "name") {
        let refused = creation.actor.post(&creation.path, creation.body.clone()).await;
        refused.expect_problem(500, "internal");
        assert_eq!(office.rows().await, rows, "{}", creation.what);
    }
    let path = format!("/api/v1/meetings/{}", office.meeting);
    office.admin.post(&format!("{path}/state"), json!({"state": "closed"})).await.expect(500);
    assert_eq!(office.admin.get(&path).await.expect(200).json()["state"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_is_in_the_log_too() {
    let app = TestApp::start().await;
    let database = url(app.target());
    let run = |arguments: &[&str]| {
        let output = resolute(arguments, &[("DATABASE_URL", &database)]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "domain,name,target\nd,n,https://e.org/\n").expect("written");
    let path = file.path().to_str().expect("UTF-8");
    run(&["tenant", "create", "--slug", "acme"]);
    let key = run(&["key", "create", "--tenant", "acme", "--scope", "editor"]);
    run(&["key", "create", "--scope", "operator"]);
    run(&["key", "revoke", &key]);
    run(&["key", "revoke", &key]);
    run(&["import", "csv", path, "--tenant", "acme"]);
    let log = entries(&app).await;
    let expected = [
        "tenant.created",
        "key.created",
        "key.created",
        "key.revoked",
        "domain.created",
        "import.started",
        "import.finished",
    ];
    assert_eq!(actions(&log), expected);
    assert_eq!(log[2].tenant_id, 0, "the operator's keys belong to no tenant");
    assert!(log.iter().all(|entry| entry.actor == "command_line" && entry.request.is_none()));
    assert_eq!(log[3].subject.1, key_id(&key));
    assert_eq!(log[4].subject.1, "d");
}
