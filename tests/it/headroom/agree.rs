//! Endpoint, metric and command say the same about a sequence near its end.

use serde_json::Value;

use crate::support::database::TestDatabase;
use crate::support::process::{Server, resolute, url};
use crate::support::wire;

#[tokio::test(flavor = "multi_thread")]
async fn near_its_end_a_sequence_is_critical_on_the_endpoint_in_the_metric_and_on_the_command_line() {
    let database = TestDatabase::create().await;
    let mut connection = TestDatabase::connect(database.target()).await;
    let near = "CREATE TABLE nearly_full (nearly_full_id bigint GENERATED ALWAYS AS IDENTITY);
                SELECT setval('nearly_full_nearly_full_id_seq', 9223372036854775807 - 100)";
    sqlx::raw_sql(near).execute(&mut connection).await.expect("a table");
    let url = url(database.target());
    let environment = [("DATABASE_URL", url.as_str()), ("RESOLUTE__HEADROOM__INTERVAL_SECONDS", "1")];

    let server = Server::start(&environment);
    let measured = || wire::request(&server.ops, "GET", "/health/headroom", &[], "").expect("an answer");
    let mut answer = measured();
    for _ in 0..100 {
        if answer.body.contains("nearly_full") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        answer = measured();
    }
    assert_eq!(answer.status, 503);
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let of = |report: &Value| {
        let tables = report["tables"].as_array().expect("tables").clone();
        tables.into_iter().find(|entry| entry["table"] == "nearly_full").expect("the table is measured")
    };
    assert_eq!(body["status"], "critical");
    assert_eq!(of(&body)["remaining"], "100");
    assert_eq!(of(&body)["status"], "critical");
    assert_eq!(
        server.request("GET", "/health/headroom", &[], "").expect("an answer").status,
        503,
        "on both listeners"
    );

    let metrics = wire::request(&server.ops, "GET", "/metrics", &[], "").expect("an answer").body;
    let line = "resolute_row_headroom_rows{table=\"nearly_full\",column=\"nearly_full_id\"} 100";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");

    let command = resolute(&["headroom", "--json"], &environment).output().expect("runs");
    assert_eq!(command.status.code(), Some(1), "critical is a failure for scripts");
    let report: Value = serde_json::from_slice(&command.stdout).expect("JSON");
    assert_eq!(
        (report["status"].clone(), of(&report)["remaining"].clone()),
        ("critical".into(), "100".into())
    );

    sqlx::query("SELECT setval('nearly_full_nearly_full_id_seq', 1)")
        .execute(&mut connection)
        .await
        .expect("setval");
    let command = resolute(&["headroom"], &environment).output().expect("runs");
    assert_eq!(command.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&command.stdout).ends_with("status: ok\n"));
}
