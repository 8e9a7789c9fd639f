//! The documentation is compared with the program: problem codes, metrics, settings.

use std::collections::BTreeSet;

use resolute::app;

use crate::support::TestApp;
use crate::support::database::TestDatabase;
use crate::support::process::{Server, url};
use crate::support::wire;

fn doc(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands in backticks in the first column of the document's tables.
fn first_column(text: &str) -> BTreeSet<String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `"));
    cells.filter_map(|rest| rest.split('`').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_problem_code_is_documented_with_its_status_and_served() {
    let documented = doc("problems.md");
    let codes = app::problem_codes();
    let names: BTreeSet<String> = codes.iter().map(|code| code.code.to_owned()).collect();
    assert_eq!(names.len(), codes.len(), "codes are unique");
    assert_eq!(first_column(&documented), names);
    let app = TestApp::start().await;
    let page = app.stranger().get("/docs/problems").await.expect(200).text();
    for code in codes {
        let row = format!("| `{}` | {} |", code.code, code.status);
        assert!(documented.contains(&row), "docs/problems.md lacks {row}");
        assert!(page.contains(&format!("id=\"{}\"", code.code)), "{} is not served", code.code);
    }
}

#[tokio::test]
async fn the_metric_list_is_what_a_running_server_exports() {
    let documented = first_column(&doc("metrics.md"));
    let declared: BTreeSet<String> =
        app::metrics().into_iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(documented, declared);

    let database = TestDatabase::create().await;
    let mut server = Server::start(&[("DATABASE_URL", &url(database.target()))]);
    let get = |address: &str, path: &str| wire::request(address, "GET", path, &[], "").expect("an answer");
    assert_eq!(get(&server.address, "/nowhere").status, 404);
    assert_eq!(get(&server.address, "/metrics").status, 404, "metrics are not public by default");
    // The first measurement of headroom and the first look at jobs run beside the first requests.
    let mut text = get(&server.ops, "/metrics").body;
    for _ in 0..100 {
        if ["row_headroom_rows", "jobs_failed"]
            .iter()
            .all(|name| text.contains(&format!("# TYPE resolute_{name}")))
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        text = get(&server.ops, "/metrics").body;
    }
    let types = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|rest| rest.split(' ').next());
    let exported: BTreeSet<String> = types.map(str::to_owned).collect();
    let unknown: Vec<&String> = exported.difference(&declared).collect();
    assert!(unknown.is_empty(), "exported but not documented: {unknown:?}");
    for needed in [
        "resolute_http_requests_total",
        "resolute_resolutions_total",
        "resolute_row_headroom_rows",
        "resolute_db_pool_connections",
        "resolute_jobs_oldest_due_seconds",
        "resolute_jobs_failed",
        "resolute_build_info",
    ] {
        assert!(exported.contains(needed), "{needed} is not exported");
    }
    server.signal(rustix::process::Signal::INT);
    assert!(server.wait().success());
}

#[test]
fn every_setting_is_documented() {
    let documented = first_column(&doc("configuration.md"));
    let defaults = toml::Table::try_from(resolute::config::Config::default()).expect("a table");
    let keys: BTreeSet<String> = defaults
        .iter()
        .flat_map(|(section, keys)| {
            keys.as_table().into_iter().flat_map(toml::Table::keys).map(move |key| format!("{section}.{key}"))
        })
        .collect();
    assert_eq!(documented, keys);
}
