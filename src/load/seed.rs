//! Makes what a run needs through the HTTP API, as a user would: meetings, participants with their tokens, open polls.
//! Only names in bulk are inserted with SQL, because a million creations would take longer than what is measured.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use deadpool_postgres::Object;
use serde_json::{Value, json};

use super::Ground;
use super::http::{self, Connection};
use super::resolve::{name_of, target_of};

/// Participants added by one request.
const AT_ONCE: u64 = 2_000;
/// Names inserted by one statement.
const CHUNK: u64 = 100_000;

/// A meeting's people and polls.
#[derive(Debug)]
pub struct Hall {
    /// Whose it is.
    pub tenant_id: i64,
    /// Participants: id and ballot token.
    pub voters: Vec<(i64, String)>,
    /// Open polls: id and option ids.
    pub polls: Vec<(i64, Vec<i64>)>,
}

/// Somebody with a key who waits for each answer.
pub struct Caller {
    connection: Connection,
    host: Arc<str>,
    key: String,
}

impl Caller {
    /// Connects to `host:port`.
    pub async fn connect(address: &str, key: &str) -> anyhow::Result<Self> {
        let connection =
            Connection::open(address).await.with_context(|| format!("connecting to {address}"))?;
        Ok(Self { connection, host: address.into(), key: key.to_owned() })
    }

    /// Sends JSON; an answer that is no success is an error with its text.
    pub async fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let mut request = Vec::new();
        let (credential, none) = ((&*self.host, self.key.as_str()), format_args!(""));
        http::send(
            &mut request,
            ("POST", format_args!("{path}")),
            credential,
            none,
            body.to_string().as_bytes(),
        );
        let answer = self.connection.exchange(&request).await.with_context(|| format!("POST {path}"))?;
        if !(200..300).contains(&answer.status) {
            bail!("POST {path}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(serde_json::from_slice(answer.body)?)
    }
}

/// A poll that takes whatever comes.
pub fn settings() -> Value {
    json!({
        "title": "Load test", "ballot_kind": "single_choice",
        "options": [{ "title": "North" }, { "title": "South" }, { "title": "West" }],
    })
}

/// A meeting with `participants` and `polls` of these settings, all open.
pub async fn make_hall(
    address: &str,
    ground: &Ground,
    participants: u64,
    (polls, settings): (u64, &Value),
) -> anyhow::Result<Hall> {
    let mut caller = Caller::connect(address, &ground.key).await?;
    let meeting = id(&caller.post("/api/v1/meetings", &json!({ "title": "Load test" })).await?["id"])?;
    let path = format!("/api/v1/meetings/{meeting}");
    let mut voters = Vec::new();
    for first in (0..participants).step_by(usize::try_from(AT_ONCE)?) {
        let names =
            (first..participants.min(first + AT_ONCE)).map(|n| json!({ "name": format!("Voter {n}") }));
        let body = json!({ "participants": names.collect::<Vec<_>>() });
        let added = caller.post(&format!("{path}/participants"), &body).await?;
        for person in added["participants"].as_array().context("an answer without participants")? {
            let token = person["token"].as_str().context("a participant without a token")?;
            voters.push((id(&person["id"])?, token.to_owned()));
        }
    }
    for state in ["preparing", "active"] {
        caller.post(&format!("{path}/state"), &json!({ "state": state })).await?;
    }
    let mut open = Vec::new();
    for _ in 0..polls {
        let poll = caller.post(&format!("{path}/polls"), settings).await?;
        let options = poll["options"].as_array().context("a poll without options")?;
        let options = options.iter().map(|option| id(&option["id"])).collect::<anyhow::Result<_>>()?;
        let poll_id = id(&poll["id"])?;
        caller.post(&format!("/api/v1/polls/{poll_id}/open"), &json!({})).await?;
        open.push((poll_id, options));
    }
    Ok(Hall { tenant_id: ground.tenant_id, voters, polls: open })
}

/// Names 0 to `names` in the tenant's first domain, from where they are resolved. The first one is made by the server,
/// which then knows that the domain has names.
pub async fn make_names(
    address: &str,
    ground: &Ground,
    names: u64,
    client: &mut Object,
) -> anyhow::Result<()> {
    let (domain_id, path) = ground.domains.first().context("a tenant without a domain")?;
    let mut caller = Caller::connect(address, &ground.key).await?;
    let first = json!({ "domain": path, "name": name_of(0), "target": target_of(0) });
    caller.post("/api/v1/purls", &first).await?;
    for from in (1..names).step_by(usize::try_from(CHUNK)?) {
        let to = names.min(from + CHUNK) - 1;
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
        let inserted = transaction
            .execute(
                "INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, target_host, created_at, updated_at)
                 SELECT tenant_id, domain_id, 'n' || n, 'n' || n, status, replace(target, '/n0', '/n' || n), target_host,
                        created_at, updated_at
                 FROM purls CROSS JOIN generate_series($3::bigint, $4::bigint) AS n
                 WHERE tenant_id = $1 AND domain_id = $2 AND name_key = 'n0'",
                &[&ground.tenant_id, domain_id, &i64::try_from(from)?, &i64::try_from(to)?],
            )
            .await?;
        ensure!(inserted == to + 1 - from, "{inserted} names were inserted, not {}", to + 1 - from);
        transaction.commit().await?;
    }
    // Otherwise autovacuum does it in the middle of what is measured.
    client.batch_execute("SET statement_timeout = 0").await?;
    client.batch_execute("VACUUM (ANALYZE) purls").await?;
    client.batch_execute("RESET statement_timeout").await?;
    Ok(())
}

/// An id as the API writes it.
fn id(value: &Value) -> anyhow::Result<i64> {
    value.as_str().and_then(|text| text.parse().ok()).with_context(|| format!("no id: {value}"))
}
