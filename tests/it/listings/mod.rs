//! Listings: walks in both directions, cursors that are good for one thing only, and the plans behind them.

mod cursors;
mod plans;
mod queries;
mod walks;

use serde_json::Value;

use crate::support::{Actor, Answer, TestApp};

/// The address of a neighbour page, which the body and the `Link` header must agree on.
#[track_caller]
fn link(answer: &Answer, relation: &str) -> Option<String> {
    let in_body = answer.json()[relation].as_str().map(str::to_owned);
    let ending = format!(">; rel=\"{relation}\"");
    let links = answer.headers.get_all("link").iter().map(|value| value.to_str().expect("ASCII"));
    let in_header: Vec<&str> =
        links.filter_map(|link| link.strip_prefix('<')?.strip_suffix(ending.as_str())).collect();
    assert_eq!(in_header, in_body.as_deref().into_iter().collect::<Vec<_>>());
    in_body
}

/// What identifies an item of any listing: its id, or its number in a history.
fn identity(item: &Value) -> String {
    let id = item.get("id").or_else(|| item.get("revision")).expect("an id");
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn items(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    body["items"].as_array().expect("items").iter().map(identity).collect()
}

/// Follows `next` from `path` to the end, then `prev` back to the beginning: (forward, backward), in the order met.
async fn walk(actor: &Actor, path: &str) -> (Vec<String>, Vec<String>) {
    let mut page = actor.get(path).await.expect(200);
    assert_eq!(link(&page, "prev"), None, "nothing is before the first page");
    let mut forward = items(&page);
    while let Some(next) = link(&page, "next") {
        page = actor.get(&next).await.expect(200);
        forward.extend(items(&page));
    }
    let mut backward: Vec<String> = items(&page).into_iter().rev().collect();
    while let Some(prev) = link(&page, "prev") {
        page = actor.get(&prev).await.expect(200);
        backward.extend(items(&page).into_iter().rev());
    }
    (forward, backward)
}

/// A tenant `slug` with a domain `{slug}` whose id is returned; both by SQL, as is what the tests put in.
async fn domain(app: &TestApp, slug: &str) -> (i64, i64) {
    let tenant_id = app.tenant(slug).await.id;
    let sql = "WITH made AS (INSERT INTO domains (path, home_tenant_id, owner_tenant_id) VALUES ($2, $1, $1)
                             RETURNING domain_id)
               INSERT INTO domain_state (tenant_id, domain_id, has_names) SELECT $1, domain_id, true FROM made
               RETURNING domain_id";
    let made = sqlx::query_scalar(sql).bind(tenant_id).bind(slug);
    (tenant_id, made.fetch_one(app.db().management()).await.expect("a domain"))
}

/// Makes `count` names `n00001`… in one transaction, all of one instant.
async fn names(app: &TestApp, (tenant_id, domain_id): (i64, i64), count: i64) {
    let sql =
        "INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
               SELECT $1, $2, n, n, 302, 'https://e.org/', $4, $4
               FROM (SELECT 'n' || lpad(i::text, 5, '0') AS n FROM generate_series(1, $3::bigint) i) names";
    let made = sqlx::query(sql).bind(tenant_id).bind(domain_id).bind(count).bind(crate::support::NOW);
    made.execute(app.db().management()).await.expect("names");
}
