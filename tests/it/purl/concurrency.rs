//! Many at once: one winner, no lost write, no 5xx.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use sqlx::Row;

use super::Registry;
use crate::support::database::TestDatabase;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_32_parallel_creations_of_a_name_one_wins_and_the_rest_are_409() {
    let registry = Registry::start().await;
    let calls = (0..32).map(|number| {
        let editor = registry.editor.clone();
        async move {
            let body = json!({"domain": "d", "name": "n", "target": format!("https://e.org/{number}")});
            (number, editor.post("/api/v1/purls", body).await)
        }
    });
    let answers = join_all(calls).await;
    let mut statuses = BTreeMap::new();
    for (_, answer) in &answers {
        *statuses.entry(answer.status.as_u16()).or_insert(0) += 1;
    }
    assert_eq!(statuses, BTreeMap::from([(201, 1), (409, 31)]));
    let (winner, _) = answers.iter().find(|(_, answer)| answer.status == 201).expect("one");
    registry.leads("/d/n", &format!("https://e.org/{winner}")).await;
    let rows =
        sqlx::query("SELECT count(*) AS rows FROM purls").fetch_one(registry.app.db().management()).await;
    assert_eq!(rows.expect("a count").get::<i64, _>("rows"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_parallel_changes_from_one_revision_one_wins_and_none_is_lost() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let editor = registry.editor.with("if-match", "\"r1\"");
    let calls =
        (0..16).map(|number| {
            let editor = editor.clone();
            async move {
                editor.put("/api/v1/purls/d/n", json!({"target": format!("https://e.org/{number}")})).await
            }
        });
    let mut statuses: Vec<u16> = join_all(calls).await.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].iter().all(|status| *status == 412), "{statuses:?}");
    let history = registry.editor.get("/api/v1/purl-revisions/d/n").await.expect(200).json();
    assert_eq!(history["items"].as_array().expect("items").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_name_never_slips_in_under_a_domain_that_is_being_made() {
    let registry = Registry::start().await;
    for round in 0..8 {
        let path = format!("d/child{round}");
        let names = (0..8).map(|number| {
            let editor = registry.editor.clone();
            let name = format!("child{round}/{number}");
            async move {
                let body = json!({"domain": "d", "name": name, "target": "https://e.org/"});
                editor.post("/api/v1/purls", body).await.status.as_u16()
            }
        });
        let domain = registry.editor.post("/api/v1/domains", json!({"path": path}));
        let (names, domain) = tokio::join!(join_all(names), domain);
        match domain.status.as_u16() {
            201 => assert!(names.iter().all(|status| *status == 409), "round {round}: {names:?}"),
            409 => assert!(names.contains(&201), "round {round}: {names:?}"),
            other => panic!("round {round}: {other} {}", domain.text()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_creations_of_a_domain_make_one() {
    let registry = Registry::start().await;
    let calls = (0..8).map(|_| registry.editor.post("/api/v1/domains", json!({"path": "d/x"})));
    let mut statuses: Vec<u16> = join_all(calls).await.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waited_for_the_lock_is_judged_by_what_the_holder_left() {
    let registry = Registry::start().await;
    let mut holder = TestDatabase::connect(registry.app.target()).await;
    let hold = "BEGIN; SELECT FROM domain_state FOR UPDATE;
        WITH made AS (INSERT INTO domains (path, home_tenant_id, owner_tenant_id)
                      SELECT 'd/child', home_tenant_id, owner_tenant_id FROM domains WHERE path = 'd'
                      RETURNING domain_id, home_tenant_id)
        INSERT INTO domain_state (tenant_id, domain_id) SELECT home_tenant_id, domain_id FROM made;
        UPDATE domain_directory SET version = version + 1;
        UPDATE domain_state s
        SET generation = generation + (d.path = 'd')::int, directory_version = (SELECT version FROM domain_directory)
        FROM domains d WHERE d.domain_id = s.domain_id AND d.path IN ('d', 'd/child')";
    sqlx::raw_sql(hold).execute(&mut holder).await.expect("held");
    let swallowed = registry.mint("child/x", "https://e.org/");
    let fine = registry.mint("other", "https://e.org/");
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        sqlx::raw_sql("COMMIT").execute(&mut holder).await.expect("released");
    };
    let (swallowed, fine, ()) = tokio::join!(swallowed, fine, release);
    swallowed.expect_problem(409, "name_swallowed");
    fine.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_changes_that_name_no_revision_all_succeed() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let editor = registry.editor.with("if-match", "*");
    let changes = (0..24).map(|number| {
        let editor = editor.clone();
        async move {
            let (path, body) = if number % 2 == 0 {
                ("/api/v1/purls/d/n", json!({"target": format!("https://e.org/{number}")}))
            } else {
                ("/api/v1/domains/d", json!({"cache_seconds": number}))
            };
            editor.put(path, body).await.status.as_u16()
        }
    });
    let statuses = join_all(changes).await;
    let names: Vec<u16> = statuses.iter().copied().step_by(2).collect();
    assert_eq!(names, [200; 12], "the last one wins, none is turned away");
    assert_eq!(statuses.into_iter().skip(1).step_by(2).collect::<Vec<_>>(), [200; 12]);
    let history = registry.editor.get("/api/v1/purl-revisions/d/n").await.expect(200).json();
    assert_eq!(history["items"].as_array().expect("items").len(), 13);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_parallel_withdrawals_one_succeeds_and_the_others_are_told() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let calls = (0..16).map(|_| registry.editor.delete("/api/v1/purls/d/n"));
    let mut statuses: Vec<u16> = join_all(calls).await.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    assert_eq!(statuses[1..], [409; 15]);
}
