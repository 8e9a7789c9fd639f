//! What every route promises to its clients: a creation happens once, no update is lost, every act is in the log.

mod audit;
mod idempotency;
mod interrupted;
mod preconditions;

use serde_json::{Value, json};

use crate::support::{Actor, TestApp};

/// A tenant with a domain and a meeting in session: something of every kind can be made in it.
pub struct Office {
    pub app: TestApp,
    pub operator: Actor,
    pub admin: Actor,
    pub tenant_id: i64,
    pub meeting: String,
}

/// A request that creates.
pub struct Creation {
    pub what: &'static str,
    pub actor: Actor,
    pub path: String,
    pub body: Value,
    pub other_body: Value,
}

impl Office {
    pub async fn open() -> Self {
        let app = TestApp::start().await;
        let (operator, acme) = (app.operator().await, app.tenant("acme").await);
        let (admin, tenant_id) = (acme.admin().await, acme.id);
        operator.post("/api/v1/domains", json!({"path": "d", "tenant": "acme"})).await.expect(201);
        let made = admin
            .post("/api/v1/meetings", json!({"title": "Assembly", "proxies_per_holder": 1}))
            .await
            .expect(201);
        let meeting = id(&made.json());
        for state in ["preparing", "active"] {
            let path = format!("/api/v1/meetings/{meeting}/state");
            admin.post(&path, json!({ "state": state })).await.expect(200);
        }
        Self { app, operator, admin, tenant_id, meeting }
    }

    /// One request to each route that creates.
    pub async fn creations(&self) -> Vec<Creation> {
        let people = format!("/api/v1/meetings/{}/participants", self.meeting);
        let polls = format!("/api/v1/meetings/{}/polls", self.meeting);
        let ada = self.admin.post(&people, json!({"name": "Ada"})).await.expect(201).json();
        let token = format!("/api/v1/participants/{}/token", id(&ada));
        let one = |what, actor: &Actor, path: &str, body, other_body| Creation {
            what,
            actor: actor.clone(),
            path: path.to_owned(),
            body,
            other_body,
        };
        let (operator, admin) = (&self.operator, &self.admin);
        let poll = |title: &str| json!({"title": title, "ballot_kind": "single_choice", "options": [{"title": "A"}]});
        let purl = |name: &str| json!({"domain": "d", "name": name, "target": "https://e.org/"});
        vec![
            one("tenant", operator, "/api/v1/tenants", json!({"slug": "t"}), json!({"slug": "u"})),
            one(
                "top-level domain",
                operator,
                "/api/v1/domains",
                json!({"path": "o", "tenant": "acme"}),
                json!({"path": "p", "tenant": "acme"}),
            ),
            one("domain", admin, "/api/v1/domains", json!({"path": "d/a"}), json!({"path": "d/b"})),
            one("key", admin, "/api/v1/keys", json!({"scope": "reader"}), json!({"scope": "editor"})),
            one("name", admin, "/api/v1/purls", purl("n"), purl("m")),
            one("meeting", admin, "/api/v1/meetings", json!({"title": "M"}), json!({"title": "N"})),
            one("participant", admin, &people, json!({"name": "Bob"}), json!({"name": "Eve"})),
            one("poll", admin, &polls, poll("Q"), poll("R")),
            one("token", admin, &token, json!({}), Value::Null),
        ]
    }

    /// How many rows of every table there are, the stored answers apart.
    pub async fn rows(&self) -> Vec<(String, i64)> {
        let sql = "SELECT relname::text, (xpath('/row/c/text()', query_to_xml(
                       format('SELECT count(*) AS c FROM %I', relname), false, true, '')))[1]::text::bigint
                   FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                     AND relname <> 'idempotency_keys' ORDER BY 1";
        sqlx::query_as(sql).fetch_all(self.app.db().management()).await.expect("counts")
    }

    /// How many answers are stored.
    pub async fn stored(&self) -> i64 {
        let sql = "SELECT count(*) FROM idempotency_keys";
        sqlx::query_scalar(sql).fetch_one(self.app.db().management()).await.expect("a count")
    }
}

pub fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id: {value}")).to_owned()
}
