//! Every statement of every listing is read from the checked queries in `.sqlx/` and explained: the cut is a
//! condition on the listing's index, and nothing is sorted.

use std::collections::BTreeMap;

use resolute::app;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection};

use super::domain;
use crate::support::TestApp;
use crate::support::database::TestDatabase;

/// (statement, number of parameters) of each listing.
fn statements() -> BTreeMap<String, Vec<(String, usize)>> {
    let mut found: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    let queries = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    for entry in std::fs::read_dir(queries).expect("the checked queries") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        let query: Value = serde_json::from_str(&text).expect("JSON");
        let sql = query["query"].as_str().expect("a query").to_owned();
        let Some(rest) = sql.strip_prefix("/* list ") else { continue };
        let (name, _) = rest.split_once(" */").expect("the end of the comment");
        let parameters = query["describe"]["parameters"]["Left"].as_array().expect("parameters").len();
        found.entry(name.to_owned()).or_default().push((sql, parameters));
    }
    found
}

/// The plan for whatever values, as the server settles on one after a few executions.
async fn plan(connection: &mut PgConnection, sql: &str, parameters: usize) -> Value {
    let run = |text: String| sqlx::raw_sql(AssertSqlSafe(text));
    run(format!("PREPARE listing AS {sql}")).execute(&mut *connection).await.expect("prepared");
    let nulls = vec!["NULL"; parameters].join(", ");
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE listing ({nulls})");
    let plan: Value =
        sqlx::query_scalar(AssertSqlSafe(explain)).fetch_one(&mut *connection).await.expect("a plan");
    run("DEALLOCATE listing".to_owned()).execute(&mut *connection).await.expect("deallocated");
    plan[0]["Plan"].clone()
}

/// The nodes from the top to the scan that gives the order; what is looked up for each row is beside this way.
fn spine(plan: &Value) -> Vec<&Value> {
    let mut nodes = vec![plan];
    let outer = |node: &&'_ Value| node["Parent Relationship"] == "Outer";
    while let Some(children) = nodes.last().and_then(|node| node["Plans"].as_array())
        && let Some(child) = children.iter().find(outer)
    {
        nodes.push(child);
    }
    nodes
}

const ROWS: &str = "
    INSERT INTO api_keys (api_key_id, tenant_id, scope, secret_sha256)
        SELECT gen_random_uuid(), tenant_id, 'reader', decode(repeat('00', 32), 'hex')
        FROM tenants, generate_series(1, 3000);
    WITH made AS (INSERT INTO domains (path, home_tenant_id, owner_tenant_id)
            SELECT slug || '/' || i, tenant_id, tenant_id FROM tenants, generate_series(1, 3000) i
            RETURNING domain_id, home_tenant_id)
        INSERT INTO domain_state (tenant_id, domain_id) SELECT home_tenant_id, domain_id FROM made;
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
        SELECT home_tenant_id, domain_id, 'n' || i, 'n' || i, CASE WHEN i % 100 = 0 THEN 410 ELSE 302 END, 'https://e.org/', now(), now()
        FROM domains, generate_series(1, 15000) i WHERE path IN ('acme', 'umbra');
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, target, written_at, superseded_at)
        SELECT tenant_id, domain_id, name_key, i, 302, 'https://e.org/', now(), now()
        FROM purls, generate_series(1, 400) i WHERE name_key IN ('n1', 'n2', 'n3', 'n4', 'n5');
    INSERT INTO domain_rules (tenant_id, domain_id, revision, rules, written_at)
        SELECT home_tenant_id, domain_id, i, '{\"rules\": []}', now()
        FROM domains, generate_series(1, 3000) i WHERE path IN ('acme', 'umbra');
    INSERT INTO meetings (tenant_id, title, created_at, updated_at)
        SELECT tenant_id, 'M', now() - i * interval '1 h', now() FROM tenants, generate_series(1, 3000) i;
    INSERT INTO participants (tenant_id, meeting_id, record_key, name, salt, token_sha256, created_at)
        SELECT tenant_id, meeting_id, gen_random_uuid(), 'P', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), now()
        FROM (SELECT * FROM meetings ORDER BY meeting_id LIMIT 20) m, generate_series(1, 500);
    INSERT INTO polls (tenant_id, meeting_id, title, ballot_kind, rule, created_at)
        SELECT tenant_id, meeting_id, 'P', 'single_choice', '{\"name\": \"plurality\"}', now()
        FROM (SELECT * FROM meetings ORDER BY meeting_id LIMIT 20) m, generate_series(1, 500);
    INSERT INTO audit_log (tenant_id, happened_at, actor_kind, action, subject_kind, subject_reference)
        SELECT tenant_id, now(), 'server', 'a.b', 'a', 'a' FROM tenants, generate_series(1, 3000);
    ANALYZE";

#[tokio::test]
async fn every_listing_is_served_by_its_index_without_a_sort() {
    let app = TestApp::start().await;
    domain(&app, "acme").await;
    domain(&app, "umbra").await;
    let mut connection = TestDatabase::connect(app.target()).await;
    sqlx::raw_sql(ROWS).execute(&mut connection).await.expect("rows");
    sqlx::raw_sql("SET plan_cache_mode = force_generic_plan").execute(&mut connection).await.expect("set");

    let statements = statements();
    let listings = app::listings();
    let names: Vec<&str> = statements.keys().map(String::as_str).collect();
    let mut known: Vec<&str> = listings.iter().map(|listing| listing.name).collect();
    known.sort_unstable();
    assert_eq!(names, known, "every listing has statements, and every such statement belongs to a listing");
    for listing in listings {
        let directions = &statements[listing.name];
        assert_eq!(directions.len(), 2, "{}: forward and backward", listing.name);
        for (sql, parameters) in directions {
            assert!(!sql.contains("OFFSET") && !sql.to_lowercase().contains("count("), "{sql}");
            let plan = plan(&mut connection, sql, *parameters).await;
            let spine = spine(&plan);
            let kinds: Vec<&str> = spine.iter().filter_map(|node| node["Node Type"].as_str()).collect();
            assert!(!kinds.iter().any(|kind| kind.contains("Sort")), "{}: {plan:#}", listing.name);
            let scan = spine.last().expect("a node");
            assert_eq!(scan["Index Name"], listing.index, "{}: {plan:#}", listing.name);
            let condition = scan["Index Cond"].as_str().unwrap_or_default();
            assert!(condition.contains(['<', '>']), "{}: the cut is in the index: {plan:#}", listing.name);
        }
    }
}
