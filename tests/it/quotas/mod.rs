//! Quotas: what a tenant may have at most, and that nothing goes beyond it, whoever comes at once.

mod limits;
mod names;
mod requests;
mod settings;

use resolute::config::{Config, Quotas};
use serde_json::{Value, json};

use crate::support::{Actor, Answer, TestApp};

/// A server at which every tenant may have this, and an operator.
pub async fn configured(quotas: Quotas) -> (TestApp, Actor) {
    let app = TestApp::with_config(Config { quotas, ..Config::default() }).await;
    let operator = app.operator().await;
    (app, operator)
}

/// Sets what `acme` may have; all else is as configured.
pub async fn set(operator: &Actor, quotas: Value) -> Answer {
    operator.with("if-match", "*").put("/api/v1/tenants/acme/quotas", quotas).await
}

/// What an admin is told of one quota: limit and use.
pub async fn told(admin: &Actor, quota: &str) -> (Value, Value) {
    let quotas = admin.get("/api/v1/quotas").await.expect(200).json();
    (quotas[quota]["limit"].clone(), quotas[quota]["used"].clone())
}

/// A refusal for want of room, with what it says of it.
#[track_caller]
pub fn refused(answer: Answer, quota: &str, limit: i64, used: i64, wanted: i64) {
    let problem = answer.expect_problem(409, "quota_exceeded").json();
    let said = json!([problem["quota"], problem["limit"], problem["used"], problem["wanted"]]);
    assert_eq!(said, json!([quota, limit, used, wanted]));
}

/// Makes a top-level domain of `acme`.
pub async fn domain(operator: &Actor, path: &str) -> Answer {
    operator.post("/api/v1/domains", json!({"path": path, "tenant": "acme"})).await
}

/// Makes a name.
pub async fn mint(actor: &Actor, domain: &str, name: impl std::fmt::Display) -> Answer {
    let body = json!({"domain": domain, "name": name.to_string(), "target": "https://e.org/"});
    actor.post("/api/v1/purls", body).await
}

pub async fn count(app: &TestApp, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(app.db().management()).await.expect("a count")
}
