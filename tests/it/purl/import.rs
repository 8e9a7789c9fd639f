//! Imports of CSV files: every line is reported, nothing is merged before all have passed, and again is safe.

use std::io::Write;
use std::path::Path;

use resolute::db::quota::Defaults;
use resolute::ids::Ids;
use resolute::purl::import::error::ImportError;
use resolute::purl::import::report::{Counts, Line, Watcher};
use resolute::purl::import::run::{FileReport, Import, Options};
use resolute::purl::import::source::Format;
use resolute::purl::target::OwnAddress;
use serde_json::json;
use sqlx::Row;
use tempfile::NamedTempFile;

use super::Registry;
use crate::support::process::{resolute, url};
use crate::support::{TestApp, until};

const PLAIN: Options = Options { dry_run: false, resume: false, partial: false };

/// Keeps what it is told.
#[derive(Default)]
struct Report(Vec<String>);

impl Watcher for Report {
    fn line(&mut self, line: &Line) {
        let reason = match &line.outcome {
            resolute::purl::import::report::Outcome::Refused(reason) => format!(": {reason}"),
            _ => String::new(),
        };
        self.0.push(format!("{} {} {}{reason}", line.line, line.outcome.as_str(), line.path));
    }

    fn progress(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn file(text: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(text.as_ref()).expect("written");
    file
}

/// Names `n0…` of the domain `d`; `n0` is on line 2.
fn numbered(names: usize) -> NamedTempFile {
    let lines = (0..names).map(|number| format!("d,n{number},https://e.org/{number}\n"));
    file(format!("domain,name,target\n{}", lines.collect::<String>()))
}

async fn import(
    app: &TestApp,
    path: &Path,
    options: Options,
) -> Result<(FileReport, Vec<String>), ImportError> {
    let tenant = app.tenant("acme").await;
    let own = OwnAddress::new("https://purl.example.org");
    let (clock, ids) = (&app.app.clock, Ids::os());
    let quotas = Defaults::from(&app.app.config.quotas);
    let import = Import {
        db: app.db(),
        clock,
        ids: &ids,
        own: &own,
        tenant_id: tenant.id,
        quotas,
        options,
        format: Format::Csv,
    };
    let mut report = Report::default();
    let done = import.file(path, &mut report).await?;
    Ok((done, report.0))
}

async fn rows(app: &TestApp, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) AS rows FROM {table}"));
    sqlx::query(sql).fetch_one(app.db().management()).await.expect("a count").get("rows")
}

#[tokio::test]
async fn a_file_is_imported_with_its_domains_and_a_second_time_changes_nothing() {
    let registry = Registry::start().await;
    let app = &registry.app;
    let text = "\u{feff}domain,name,target,status\r\nd,a.owl,https://e.org/a?x=%2B+1,302\r\n\
                new/deep,\"b,c\",https://e.org/b,\r\nnew,x,https://e.org/x,303\r\nd,a.owl,https://e.org/a?x=%2B+1,302\r\n";
    let file = file(text);
    let (done, report) = import(app, file.path(), PLAIN).await.expect("imported");
    assert_eq!(
        report,
        ["2 created d/a.owl", "3 created new/deep/b,c", "4 created new/x", "5 unchanged d/a.owl"]
    );
    assert_eq!(done.counts, Counts { created: 3, unchanged: 1, ..Counts::default() });
    registry.leads("/d/a.owl", "https://e.org/a?x=%2B+1").await;
    registry.leads("/new/deep/b,c", "https://e.org/b").await;
    assert_eq!(registry.ask("/new/x").await.status, 303);
    assert_eq!(registry.editor.get("/api/v1/domains/new/deep").await.expect(200).json()["owner"], "acme");

    let (again, _) = import(app, file.path(), PLAIN).await.expect("imported");
    assert_eq!(again.counts, Counts { unchanged: 4, ..Counts::default() });
    assert_eq!(rows(app, "purls").await, 3, "counts equal stored rows");
    assert_eq!(rows(app, "purl_revisions").await, 0);
    assert_eq!(rows(app, "import_rows").await, 0, "nothing stays staged");
}

#[tokio::test]
async fn a_changed_target_is_an_update_with_history_and_an_absent_status_keeps_what_is() {
    let registry = Registry::start().await;
    let body =
        json!({"domain": "d", "name": "n", "target": "https://e.org/1", "status": 301, "kind": "partial"});
    registry.mint_as(body).await.expect(201);
    let file = file("domain,name,target\nd,n,https://e.org/2\n");
    let (_, report) = import(&registry.app, file.path(), PLAIN).await.expect("imported");
    assert_eq!(report, ["2 updated d/n"]);
    let now = registry.editor.get("/api/v1/purls/d/n").await.expect(200).json();
    assert_eq!(
        (&now["target"], &now["status"], &now["kind"]),
        (&json!("https://e.org/2"), &json!(301), &json!("partial"))
    );
    let history = registry.editor.get("/api/v1/purl-revisions/d/n").await.expect(200).json();
    assert_eq!(history["items"][1]["target"], "https://e.org/1");
}

#[tokio::test]
async fn one_bad_line_holds_the_file_back_and_partial_imports_the_rest() {
    let registry = Registry::start().await;
    let app = &registry.app;
    registry.mint("gone", "https://e.org/").await.expect(201);
    registry.editor.delete("/api/v1/purls/d/gone").await.expect(200);
    let text = b"domain,name,target,status\n\
        d,good,https://e.org/,\n\
        d,js,JaVaScRiPt:alert(1),\n\
        d,a/../b,https://e.org/,\n\
        d,short\n\
        d,bad,https://e.org/,200\n\
        d,twice,https://e.org/1,\n\
        d,twice,https://e.org/2,\n\
        d,gone,https://e.org/,\n\
        api,x,https://e.org/,\n\
        ,x,https://e.org/,\n\
        d,utf\xff,https://e.org/,\n\
        d,st\"ray,https://e.org/,\n\
        d,own,https://purl.example.org/x,\n\
        new,only,https://e.org/,\n";
    let file = file(text);
    let (done, report) = import(app, file.path(), PLAIN).await.expect("read");
    assert_eq!(done.counts, Counts { held: 2, refused: 12, ..Counts::default() });
    assert_eq!(report[0], "2 held d/good");
    assert!(report[1].starts_with("3 refused d/js: the scheme \"javascript\""), "{report:#?}");
    assert!(report[2].contains("\"..\""));
    assert!(report[3].contains("has 2 fields; the header has 4"));
    assert!(report[4].contains("301, 302, 303, 307, 308"));
    assert!(report[5].starts_with("7 refused d/twice: line 8 "));
    assert!(report[6].starts_with("8 refused d/twice: line 7 "));
    assert!(report[7].contains("never free again"));
    assert!(report[8].contains("kept for the server itself"));
    assert!(report[9].contains("written /"));
    assert!(report[10].contains("not UTF-8"));
    assert!(report[11].contains("quote"));
    assert!(report[12].contains("this server itself"));
    assert_eq!(rows(app, "purls").await, 1);
    assert_eq!(rows(app, "domains").await, 1, "no domain is made for a file that is held back");
    registry.ask("/d/good").await.expect_problem(404, "not_found");

    let (done, report) =
        import(app, file.path(), Options { partial: true, ..PLAIN }).await.expect("imported");
    assert_eq!(done.counts, Counts { created: 2, refused: 12, ..Counts::default() });
    assert_eq!((report[0].as_str(), report[13].as_str()), ("2 created d/good", "15 created new/only"));
    assert_eq!(rows(app, "purls").await, 3);
}

#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_leaves_no_trace() {
    let registry = Registry::start().await;
    registry.mint("same", "https://e.org/").await.expect(201);
    registry.mint("other", "https://e.org/").await.expect(201);
    let text = "domain,name,target\nd,same,https://e.org/\nd,other,https://e.org/2\nd,new,https://e.org/\nx,y,https://e.org/\n";
    let (_, report) =
        import(&registry.app, file(text).path(), Options { dry_run: true, ..PLAIN }).await.expect("read");
    assert_eq!(report, ["2 unchanged d/same", "3 updated d/other", "4 created d/new", "5 created x/y"]);
    for (table, expected) in [("purls", 2), ("domains", 1), ("imports", 0), ("import_rows", 0)] {
        assert_eq!(rows(&registry.app, table).await, expected, "{table}");
    }
    registry.leads("/d/other", "https://e.org/").await;
}

#[tokio::test]
async fn an_interrupted_merge_is_resumed_where_it_stopped() {
    let registry = Registry::start().await;
    let app = &registry.app;
    let file = numbered(5000);
    // A chunk fails in the database: a name of it cannot be stored.
    let pool = app.db().management();
    let trap = "ALTER TABLE purls ADD CONSTRAINT trap CHECK (name <> 'n3000')";
    sqlx::raw_sql(trap).execute(pool).await.expect("a trap");
    assert!(import(app, file.path(), PLAIN).await.is_err());
    assert_eq!(rows(app, "purls").await, 2999, "the chunks before are there, this one not at all");
    sqlx::raw_sql("ALTER TABLE purls DROP CONSTRAINT trap").execute(pool).await.expect("gone");

    let (done, report) = import(app, file.path(), Options { resume: true, ..PLAIN }).await.expect("resumed");
    assert_eq!(done.resumed_after, Some(3000));
    assert_eq!(done.counts, Counts { created: 2001, ..Counts::default() });
    assert_eq!(report[0], "3001 created d/n2999");
    assert_eq!(rows(app, "purls").await, 5000);
    let (done, _) =
        import(app, file.path(), Options { resume: true, ..PLAIN }).await.expect("nothing to resume");
    assert_eq!((done.resumed_after, done.counts.unchanged), (None, 5000));
}

#[tokio::test]
async fn staged_lines_that_a_crash_has_emptied_are_staged_again() {
    let registry = Registry::start().await;
    let app = &registry.app;
    let file = numbered(3000);
    let pool = app.db().management();
    sqlx::raw_sql("ALTER TABLE purls ADD CONSTRAINT trap CHECK (name <> 'n2500')")
        .execute(pool)
        .await
        .expect("a trap");
    assert!(import(app, file.path(), PLAIN).await.is_err());
    sqlx::raw_sql("ALTER TABLE purls DROP CONSTRAINT trap; TRUNCATE import_rows")
        .execute(pool)
        .await
        .expect("gone");
    let (done, _) = import(app, file.path(), Options { resume: true, ..PLAIN }).await.expect("imported");
    assert_eq!(done.counts, Counts { created: 1001, unchanged: 1999, ..Counts::default() });
}

#[tokio::test]
async fn a_file_that_cannot_be_read_as_csv_names_line_and_column() {
    let registry = Registry::start().await;
    for (text, expected) in [
        ("domain,nmae,target\n", "line 1: unknown column \"nmae\" (column 2)"),
        ("domain,name\n", "line 1: the column \"target\" is missing"),
        ("", "line 1: the column \"domain\" is missing"),
        (
            "domain,name,target\nd,a,https://e.org/\nd,\"b,https://e.org/\nd,c,https://e.org/\n",
            "line 3: field 2 begins with a quote",
        ),
    ] {
        let error = import(&registry.app, file(text).path(), PLAIN).await.expect_err("refused").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(rows(&registry.app, "purls").await, 0);
}

#[tokio::test]
async fn another_tenants_domains_are_out_of_reach() {
    let registry = Registry::start().await;
    registry.app.tenant("umbra").await;
    let body = json!({"path": "theirs", "tenant": "umbra"});
    registry.app.operator().await.post("/api/v1/domains", body).await.expect(201);
    let text = "domain,name,target\ntheirs,n,https://e.org/\ntheirs/below,n,https://e.org/\n";
    let (done, report) =
        import(&registry.app, file(text).path(), Options { partial: true, ..PLAIN }).await.expect("read");
    assert_eq!(done.counts.refused, 2);
    assert!(report[0].contains("another tenant's"), "{report:?}");
    assert!(report[1].contains("not this tenant's"), "{report:?}");
}

#[tokio::test]
async fn a_name_that_another_domain_of_the_same_file_would_answer_is_refused() {
    let registry = Registry::start().await;
    let text = "domain,name,target\nd,go/x,https://e.org/\nd/go,y,https://e.org/\n";
    let (_, report) = import(&registry.app, file(text).path(), PLAIN).await.expect("read");
    assert!(report[0].starts_with("2 refused d/go/x: requests for it reach the domain `d/go`"), "{report:?}");
    assert_eq!(report[1], "3 held d/go/y");
}

#[tokio::test]
async fn single_writes_go_on_while_a_file_is_merged_and_a_domain_made_meanwhile_is_noticed() {
    let registry = Registry::start().await;
    let lines = (0..6000).map(|number| format!("d,c{}/n{number},https://e.org/{number}\n", number % 3));
    let file = file(format!("domain,name,target\n{}", lines.collect::<String>()));
    let run = import(&registry.app, file.path(), Options { partial: true, ..PLAIN });
    let beside = async {
        for number in 0..20 {
            registry.mint(&format!("single{number}"), "https://e.org/").await.expect(201);
        }
        registry.editor.post("/api/v1/domains", json!({"path": "d/c1", "shadow": true})).await.expect(201)
    };
    let (done, _) = tokio::join!(run, beside);
    let (done, _) = done.expect("imported");
    assert_eq!(done.counts.total(), 6000);
    let stored = rows(&registry.app, "purls").await;
    assert_eq!(u64::try_from(stored).expect("a count"), done.counts.created + 20, "counts equal stored rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_reports_every_line_and_its_exit_status_tells() {
    let registry = Registry::start().await;
    let url = url(registry.app.target());
    let environment = [("DATABASE_URL", url.as_str())];
    let good = file("domain,name,target\nd,n,https://e.org/\n");
    let bad = file("domain,name,target\nd,m,https://e.org/\nd,x,data:x\n");
    let (good, bad) = (good.path().to_str().expect("UTF-8"), bad.path().to_str().expect("UTF-8"));
    let run = |arguments: &[&str]| {
        let output = resolute(arguments, &environment).output().expect("runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), text, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text, stderr) = run(&["import", "csv", good, "--tenant", "acme"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        text,
        format!(
            "{good}:2: created d/n\n{good}: 1 lines: 1 created, 0 updated, 0 unchanged, 0 refused, 0 held\n"
        )
    );
    let (code, text, _) = run(&["import", "csv", good, "--tenant", "acme"]);
    assert_eq!(code, Some(0));
    assert!(text.ends_with("1 unchanged, 0 refused, 0 held; nothing to change\n"), "{text}");
    let (code, text, _) = run(&["import", "csv", bad, "--tenant", "acme", "--json"]);
    assert_eq!(code, Some(1));
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[1]["outcome"], "refused");
    assert_eq!(lines[1]["line"], 3);
    assert_eq!((&lines[2]["held"], &lines[2]["refused"]), (&json!(1), &json!(1)));
    assert_eq!(run(&["import", "csv", good, "--tenant", "nobody"]).0, Some(1));
    assert_eq!(run(&["import", "csv", good]).0, Some(2));
    assert_eq!(run(&["import", "csv", "/nowhere.csv", "--tenant", "acme"]).0, Some(1));
}

#[tokio::test]
async fn no_domain_is_made_for_lines_that_are_all_refused() {
    let registry = Registry::start().await;
    let file = file("domain,name,target\ntypo,a,javascript:x\ntypo/deep,a,x\ngood,b,https://e.org/\n");
    let partial = Options { partial: true, ..PLAIN };
    let (done, _) = import(&registry.app, file.path(), partial).await.expect("imported");
    assert_eq!(done.counts, Counts { created: 1, refused: 2, ..Counts::default() });
    let paths = sqlx::query_scalar::<_, String>("SELECT path FROM domains ORDER BY path");
    assert_eq!(paths.fetch_all(registry.app.db().management()).await.expect("paths"), ["d", "good"]);
}

#[tokio::test]
async fn a_file_with_a_header_alone_is_imported_and_changes_nothing() {
    let registry = Registry::start().await;
    let file = file("domain,name,target\n");
    let (done, report) = import(&registry.app, file.path(), PLAIN).await.expect("imported");
    assert_eq!((done.counts, report.len()), (Counts::default(), 0));
    assert_eq!(rows(&registry.app, "imports").await, 0);
}

#[tokio::test]
async fn what_cannot_be_read_twice_is_refused_before_anything_is_done() {
    let registry = Registry::start().await;
    for path in ["/dev/null", "/"] {
        let refused = import(&registry.app, Path::new(path), PLAIN).await.expect_err("refused");
        assert!(matches!(refused, ImportError::NotAFile), "{refused}");
    }
    assert_eq!(rows(&registry.app, "imports").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cell_can_forge_a_line_of_the_report() {
    let registry = Registry::start().await;
    let file = file("domain,name,target\nd,\"a\nx.csv:9: created d/b\x1b[2J\",https://e.org/\n");
    let path = file.path().to_str().expect("UTF-8");
    let url = url(registry.app.target());
    let ran = resolute(&["import", "csv", path, "--tenant", "acme"], &[("DATABASE_URL", &url)]).output();
    let report = String::from_utf8(ran.expect("ran").stdout).expect("UTF-8");
    assert_eq!(report.lines().count(), 2, "{report}");
    assert!(report.contains(r"a\nx.csv:9: created d/b\u{1b}[2J"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_hears_of_targets_that_an_import_has_changed() {
    let registry = Registry::start().await;
    let app = &registry.app;
    let hearing = app.twin();
    hearing.listen().await;
    import(app, numbered(3).path(), PLAIN).await.expect("imported");
    hearing.stranger().get("/d/n1").await.expect(302);
    let changed = file("domain,name,target\nd,n1,https://e.org/changed\n");
    import(app, changed.path(), PLAIN).await.expect("imported");
    // Without a word it would be remembered for a minute.
    let ask = || async { hearing.stranger().get("/d/n1").await };
    let heard = until(ask, |answer| answer.header("location") == "https://e.org/changed").await;
    assert_eq!(heard.header("location"), "https://e.org/changed");
}
