//! A hot connection keeps the plan of a statement, made from whatever statistics there were at its first use, until these
//! are renewed. So every hot statement is planned here under all kinds of them, and must find its rows by a whole
//! key each time: a plan that reads a poll or a domain for each item stops a server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use deadpool_postgres::Object;
use resolute::app;
use resolute::db::statement::Statement;
use serde_json::Value;
use tokio_postgres::SimpleQueryMessage;

use crate::support::TestApp;

/// Statements that read more than one row by design: (beginning of the name, table, columns it is bounded by).
const RANGES: &[(&str, &str, &[&str])] = &[
    // A poll's few options; at worst, once for a poll, the options of its tenant.
    ("cast_insert_ballots", "poll_seats", &["tenant_id", "poll_id"]),
    ("close_list_choices", "poll_options", &["tenant_id"]),
    ("standing_list_option_ids", "poll_options", &["tenant_id"]),
    // All voters of a round, once.
    ("known_list_voters", "poll_electorate", &["tenant_id", "poll_id", "round"]),
    ("close_count", "poll_electorate", &["tenant_id", "poll_id", "round"]),
    // Whichever index: one row, or what one holder has.
    ("known_list_voters", "proxies", &["tenant_id", "holder_id"]),
    ("standing_find_voter", "proxies", &["tenant_id", "holder_id"]),
    // The polls of a meeting that changes.
    ("meeting_", "polls", &["tenant_id"]),
    // The domains of a tenant whose quota is divided.
    ("quota_", "domain_state", &["tenant_id"]),
    // What changed since; a table of one row.
    ("purl_directory_changes", "domain_state", &["directory_version"]),
    ("purl_directory_changes", "domain_directory", &[]),
    ("purl_mark_has_names", "domain_directory", &[]),
];

/// What the statistics say, and how it came to that.
const STATES: &[(&str, &[&str])] = &[
    ("never filled", &[]),
    ("analyzed while small", &[SMALL, "ANALYZE"]),
    ("analyzed while small, then grown", &[SMALL, "ANALYZE", LARGE]),
    ("large, never analyzed", &[LARGE]),
    ("large and analyzed", &[LARGE, "ANALYZE"]),
    ("emptied and vacuumed", &[LARGE, EMPTY, "VACUUM"]),
    ("emptied and analyzed", &[LARGE, EMPTY, "VACUUM ANALYZE"]),
    ("emptied, analyzed and filled again", &[LARGE, EMPTY, "VACUUM ANALYZE", LARGE]),
];
const SMALL: &str = "small 3";
const LARGE: &str = "large 1200";
const EMPTY: &str = "DELETE FROM ballots; DELETE FROM poll_electorate; DELETE FROM proxies; DELETE FROM participants;
    DELETE FROM purls; DELETE FROM idempotency_keys; DELETE FROM poll_seats; DELETE FROM poll_options; DELETE FROM polls";

/// People, polls and ballots, names and answers of one more tenant; `$slug` its slug, `$rows` how many.
const ROWS: &str = "
    INSERT INTO tenants (slug, name) VALUES ('$slug', 'Plans');
    CREATE TEMP VIEW mine AS SELECT tenant_id FROM tenants WHERE slug = '$slug';
    INSERT INTO meetings (tenant_id, title, created_at, updated_at)
        SELECT tenant_id, 'M', now(), now() FROM mine, generate_series(1, 3);
    INSERT INTO participants (tenant_id, meeting_id, record_key, name, salt, token_sha256, created_at)
        SELECT tenant_id, meeting_id, gen_random_uuid(), 'P', sha256('s'), sha256('t'), now()
        FROM (SELECT * FROM mine NATURAL JOIN meetings ORDER BY meeting_id LIMIT 1) m, generate_series(1, $rows);
    INSERT INTO polls (tenant_id, meeting_id, title, ballot_kind, rule, created_at, state, opened_at, opening_hash, electorate_hash)
        SELECT tenant_id, meeting_id, 'P', 'single_choice', '{}', now(), 'open', now(), sha256('o'), sha256('e')
        FROM mine NATURAL JOIN meetings, generate_series(1, 1 + $rows / 100);
    INSERT INTO poll_options (tenant_id, poll_id, position, title, seats)
        SELECT tenant_id, poll_id, i, 'O', 5 FROM mine NATURAL JOIN polls, generate_series(1, 3) i;
    INSERT INTO poll_seats (tenant_id, poll_id, round, option_id, seats)
        SELECT tenant_id, poll_id, 1, option_id, 5 FROM mine NATURAL JOIN poll_options;
    INSERT INTO poll_electorate (tenant_id, poll_id, round, participant_id, weight_micros)
        SELECT tenant_id, poll_id, 1, participant_id, 1
        FROM mine NATURAL JOIN participants JOIN (SELECT * FROM mine NATURAL JOIN polls ORDER BY poll_id LIMIT 2) p USING (tenant_id);
    INSERT INTO proxies (tenant_id, principal_id, holder_id, given_at)
        SELECT tenant_id, participant_id, participant_id + 1, now() FROM mine NATURAL JOIN participants
        WHERE participant_id % 2 = 1 AND EXISTS (SELECT FROM participants n WHERE n.participant_id = participants.participant_id + 1);
    INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice, event_hash)
        SELECT tenant_id, poll_id, participant_id, participant_id, now(), round, '[\"1\"]', sha256('b')
        FROM mine NATURAL JOIN poll_electorate;
    INSERT INTO domains (path, home_tenant_id, owner_tenant_id)
        SELECT '$slug/' || i, tenant_id, tenant_id FROM mine, generate_series(1, 1 + $rows / 100) i;
    INSERT INTO domain_state (tenant_id, domain_id)
        SELECT home_tenant_id, domain_id FROM domains JOIN mine ON home_tenant_id = tenant_id;
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, created_at, updated_at)
        SELECT home_tenant_id, domain_id, 'n' || i, 'n' || i, CASE WHEN i % 2 = 0 THEN 410 ELSE 302 END, 'https://e.org/', now(), now()
        FROM (SELECT * FROM domains JOIN mine ON home_tenant_id = tenant_id LIMIT 2) d, generate_series(1, $rows) i;
    INSERT INTO idempotency_keys (tenant_id, api_key_id, idempotency_key, request_sha256, answer, created_at)
        SELECT tenant_id, '00000000-0000-0000-0000-000000000001', i, sha256('r'), '', now()
        FROM mine, generate_series(1, $rows) i;
    DROP VIEW mine;";

#[tokio::test]
async fn every_hot_statement_looks_up_by_key_whatever_the_statistics_say() {
    let mut wrong = String::new();
    for (state, steps) in STATES {
        let app = TestApp::start().await;
        let client = app.db().hot().await.expect("a connection");
        for (place, step) in steps.iter().enumerate() {
            let sql = match step.split_once(' ') {
                Some((slug @ ("small" | "large"), rows)) => {
                    ROWS.replace("$slug", &format!("{slug}-{place}")).replace("$rows", rows)
                }
                _ => (*step).to_owned(),
            };
            client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{state}: {error:?}"));
        }
        let keys = unique_keys(&client).await;
        // Those of an import are planned anew for each chunk, because it is what makes the tables grow.
        for statement in app::statements().into_iter().filter(|s| !s.name.starts_with("import_")) {
            let plan = plan(&client, statement).await;
            judge(&mut wrong, (state, statement.name), &keys, &plan[0]["Plan"], "");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The columns of each unique index that is not partial.
async fn unique_keys(client: &Object) -> BTreeMap<String, Vec<String>> {
    let keys = client.query(
        "SELECT i.indexrelid::regclass::text, array_agg(a.attname::text)
         FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid
         WHERE i.indisunique AND i.indpred IS NULL GROUP BY 1",
        &[],
    );
    keys.await.expect("the catalogue").iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The plan for whatever values.
async fn plan(client: &Object, statement: &Statement) -> Value {
    let listed =
        |words: Vec<&str>| if words.is_empty() { String::new() } else { format!("({})", words.join(", ")) };
    let types = listed(statement.types.iter().map(tokio_postgres::types::Type::name).collect());
    let nulls = listed(vec!["NULL"; statement.types.len()]);
    let (name, sql) = (statement.name, statement.sql);
    client.batch_execute(&format!("PREPARE kept {types} AS {sql}")).await.expect(name);
    let rows = client.simple_query(&format!("EXPLAIN (FORMAT JSON) EXECUTE kept {nulls}")).await.expect(name);
    client.batch_execute("DEALLOCATE kept").await.expect(name);
    let lines = rows.iter().filter_map(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    serde_json::from_str(&lines.collect::<String>()).expect("JSON")
}

/// Notes every scan that is neither by a whole key nor one of [`RANGES`].
fn judge(
    wrong: &mut String,
    (state, statement): (&str, &str),
    keys: &BTreeMap<String, Vec<String>>,
    node: &Value,
    above: &str,
) {
    let text = |field: &str| node[field].as_str().unwrap_or_default();
    let table = if text("Relation Name").is_empty() { above } else { text("Relation Name") };
    let bounds = |column: &String| {
        let condition = text("Index Cond");
        condition.contains(&format!("({column} = ")) || condition.contains(&format!("({column} > "))
    };
    let by_index = node["Index Name"].is_string();
    if by_index || text("Node Type") == "Seq Scan" {
        let whole_key = keys.get(text("Index Name")).is_some_and(|columns| columns.iter().all(bounds));
        let range = RANGES.iter().any(|(name, of, columns)| {
            statement.starts_with(name)
                && *of == table
                && columns.iter().all(|column| bounds(&(*column).to_owned()))
        });
        if !whole_key && !range {
            let (kind, index, condition) = (text("Node Type"), text("Index Name"), text("Index Cond"));
            writeln!(wrong, "{state}: {statement}: {kind} of {table} by {index} {condition}")
                .expect("a string");
        }
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        judge(wrong, (state, statement), keys, child, table);
    }
}
