//! Rules of OBO files: what they answer, in which order, however they came; and that what is wrong changes nothing.

use std::time::Duration;

use resolute::db::quota::Defaults;
use resolute::purl::import::obo::run::{CatchAll, Import, ImportError, Report, Source};
use resolute::purl::import::rule_files::{DomainError, Ground};
use resolute::purl::target::OwnAddress;

use super::Registry;
use crate::support::chaos::ChaosProxy;
use crate::support::{TestApp, until};

const SHARED: &str = "\
idspace: OBO
base_url: /obo
term_browser: custom
tests:
- from: /xy/about/1
  to: https://xy.example/about/1
entries:
- exact: /XY_0000001
  replacement: https://special.example/one
- regex: ^/obo/AB_([A-Z]*\\d+)$
  replacement: https://ab.example/term/$1?all=$$1
  status: see other
";

const XY: &str = "\
idspace: XY
base_url: /obo/xy
base_redirect: https://xy.example/
products:
- xy.owl: https://xy.example/xy.owl
- XY2.owl: https://xy.example/second.owl
term_browser: ontobee
example_terms:
- XY_0000007
entries:
- exact: /about/0
  replacement: https://xy.example/zero
- prefix: /about/
  replacement: https://xy.example/about/
  status: permanent
- regex: ^/obo/xy/releases/(\\d+-\\d+)/(\\S+)$
  replacement: https://xy.example/r/$1/$2#top
  tests:
  - from: /releases/2026-01/a.owl
    to: https://xy.example/r/2026-01/a.owl#top
";

const XYZ: &str = "\
idspace: XYZ
base_url: /obo/xyz
term_browser: ols
entries:
- regex: (?i)^/obo/(xy|xyz)/anything$
  replacement: https://xyz.example/own
";

fn source(name: &str, text: &str) -> Source {
    Source { file: format!("config/{name}.yml"), text: text.to_owned() }
}

fn all() -> Vec<Source> {
    vec![source("obo", SHARED), source("xy", XY), source("xyz", XYZ)]
}

async fn import_as(
    app: &TestApp,
    slug: &str,
    sources: &[Source],
    dry_run: bool,
) -> Result<Report, ImportError> {
    let own = OwnAddress::new("https://purl.example.org");
    let (clock, quotas) = (&app.app.clock, Defaults::from(&app.app.config.quotas));
    let tenant_id = app.tenant(slug).await.id;
    let catch_all = CatchAll::Keep;
    let ground = Ground { db: app.db(), clock, own: &own, tenant_id, quotas, dry_run };
    Import { ground, catch_all }.files(sources).await
}

async fn import_with(app: &TestApp, catch_all: CatchAll) -> Result<Report, ImportError> {
    let own = OwnAddress::new("https://purl.example.org");
    let (clock, quotas) = (&app.app.clock, Defaults::from(&app.app.config.quotas));
    let tenant_id = app.tenant("acme").await.id;
    let ground = Ground { db: app.db(), clock, own: &own, tenant_id, quotas, dry_run: false };
    Import { ground, catch_all }.files(&all()).await
}

async fn import(app: &TestApp, sources: &[Source]) -> Report {
    let report = import_as(app, "acme", sources, false).await.expect("imported");
    // Another process did it: this one sees it within a second.
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    report
}

/// Status and place of some addresses.
async fn answers(app: &TestApp) -> Vec<(String, u16, String)> {
    let paths = [
        "/obo/xy",
        "/obo/XY",
        "/obo/xy.owl",
        "/obo/XY.OWL",
        "/obo/xy2.owl",
        "/obo/xy/about/0",
        "/obo/xy/about/00",
        "/obo/XY/About/a%2Fb%23c?q=1",
        "/obo//xy/about//d//e",
        "/obo/xy/releases/2026-01/a%20b.owl?x",
        "/obo/XY/releases/2026-01/a.owl",
        "/obo/XY_0000001",
        "/obo/xy_0000001",
        "/obo/XY_0000002",
        "/obo/XYZ_5",
        "/obo/xy_5",
        "/obo/AB_X12",
        "/obo/xyz/anything",
        "/obo/xy/anything",
        "/obo/nothing",
        "/obo",
        "/obo/",
    ];
    let mut answers = Vec::new();
    for path in paths {
        let answer = app.stranger().get(path).await;
        let head = app.stranger().head(path).await;
        assert_eq!(
            (head.status, head.header("location")),
            (answer.status, answer.header("location")),
            "{path}"
        );
        answers.push((path.to_owned(), answer.status.as_u16(), answer.header("location").to_owned()));
    }
    answers
}

fn expected() -> Vec<(String, u16, String)> {
    let iri = "http://www.ontobee.org/browser/rdf.php?o=XY&iri=http://purl.obolibrary.org/obo/XY_0000002";
    let ols = "https://www.ebi.ac.uk/ols4/ontologies/xyz/entities/http%253A%252F%252Fpurl.obolibrary.org%252Fobo%252FXYZ_5";
    [
        ("/obo/xy", 302, "https://xy.example/"),
        ("/obo/XY", 302, "https://xy.example/"),
        ("/obo/xy.owl", 302, "https://xy.example/xy.owl"),
        ("/obo/XY.OWL", 302, "https://xy.example/xy.owl"),
        ("/obo/xy2.owl", 302, "https://xy.example/second.owl"),
        ("/obo/xy/about/0", 302, "https://xy.example/zero"),
        ("/obo/xy/about/00", 301, "https://xy.example/about/00"),
        ("/obo/XY/About/a%2Fb%23c?q=1", 301, "https://xy.example/about/a%2Fb%23c?q=1"),
        ("/obo//xy/about//d//e", 301, "https://xy.example/about/d/e"),
        ("/obo/xy/releases/2026-01/a%20b.owl?x", 404, ""),
        ("/obo/XY/releases/2026-01/a.owl", 404, ""),
        ("/obo/XY_0000001", 302, "https://special.example/one"),
        ("/obo/xy_0000001", 302, "https://special.example/one"),
        ("/obo/XY_0000002", 303, iri),
        ("/obo/XYZ_5", 303, ols),
        ("/obo/xy_5", 404, ""),
        ("/obo/AB_X12", 303, "https://ab.example/term/X12?all=$X12"),
        ("/obo/xyz/anything", 302, "https://xyz.example/own"),
        ("/obo/xy/anything", 404, ""),
        ("/obo/nothing", 404, ""),
        ("/obo", 404, ""),
        ("/obo/", 404, ""),
    ]
    .map(|(path, status, place)| (path.to_owned(), status, place.to_owned()))
    .to_vec()
}

#[tokio::test]
async fn the_rules_of_all_files_answer_in_their_order_however_they_came() {
    let app = TestApp::start().await;
    let first = import(&app, &all()).await;
    assert_eq!((first.rules, first.checks, first.made_domain, first.changed), (11, 2, true, true));
    assert_eq!(answers(&app).await, expected());

    let again = import_as(&app, "acme", &all(), false).await.expect("imported");
    assert_eq!((again.changed, again.made_domain), (false, false), "the same files change nothing");
    let alone = import_as(&app, "acme", &[source("xy", XY)], false).await.expect("imported");
    assert_eq!((alone.rules, alone.changed), (11, false), "one of them alone changes nothing");

    let other = TestApp::start().await;
    for file in [source("xyz", XYZ), source("obo", &SHARED.replace("tests:", "ignored:")), source("xy", XY)] {
        import_as(&other, "acme", &[file], false).await.expect("imported");
    }
    import(&other, &all()).await;
    assert_eq!(answers(&other).await, expected(), "one after the other, in another order");
}

#[tokio::test]
async fn a_file_that_is_imported_again_replaces_its_own_rules_only() {
    let app = TestApp::start().await;
    import(&app, &all()).await;
    let less = XY.replace("- xy.owl: https://xy.example/xy.owl\n", "");
    let report = import(&app, &[source("xy", &less)]).await;
    assert_eq!((report.rules, report.changed), (10, true));
    app.stranger().get("/obo/xy.owl").await.expect(404);
    let kept: Vec<_> =
        expected().into_iter().filter(|(path, ..)| !path.eq_ignore_ascii_case("/obo/xy.owl")).collect();
    let now = answers(&app).await.into_iter().filter(|(path, ..)| !path.eq_ignore_ascii_case("/obo/xy.owl"));
    assert_eq!(now.collect::<Vec<_>>(), kept);
}

#[tokio::test]
async fn what_is_wrong_names_file_and_line_and_changes_nothing() {
    let app = TestApp::start().await;
    import(&app, &all()).await;
    let bad = "\
idspace: XY
base_url: /obo/xy
term_browser: other
products:
- a: javascript:alert(1)
entries:
- exact: /a
  prefix: /b
  replacement: https://e.org/
- regex: ^/obo/xy/(a
  replacement: https://e.org/
- exact: /c
  replacement: https://e.org/
  status: 302
";
    let Err(ImportError::Faults(faults)) = import_as(&app, "acme", &[source("xy", bad)], false).await else {
        panic!("it is refused");
    };
    let told: Vec<String> =
        faults.iter().map(|fault| format!("{}:{:?}", fault.file, fault.line.unwrap_or_default())).collect();
    assert_eq!(told, ["config/xy.yml:3", "config/xy.yml:7", "config/xy.yml:14"], "{faults:?}");
    let mended = bad.replace("other", "custom").replace("  prefix: /b\n", "").replace("  status: 302\n", "");
    let Err(ImportError::Faults(faults)) = import_as(&app, "acme", &[source("xy", &mended)], false).await
    else {
        panic!("it is refused");
    };
    let lines: Vec<Option<usize>> = faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [Some(9), Some(5)], "{faults:?}");

    let untrue = XY.replace("a.owl#top", "b.owl#top");
    let Err(ImportError::Faults(faults)) = import_as(&app, "acme", &[source("xy", &untrue)], false).await
    else {
        panic!("an answer that it states is not given");
    };
    assert_eq!((faults.len(), faults[0].line), (1, Some(19)), "{faults:?}");
    for text in
        ["", "a: [", "- 1", "idspace: A\n", "idspace: A\nbase_url: /go\n", "idspace: 1\nbase_url: /obo/a\n"]
    {
        let refused = import_as(&app, "acme", &[source("a", text)], false).await;
        assert!(matches!(refused, Err(ImportError::Faults(_))), "{text:?}: {refused:?}");
    }
    let refused = import_as(&app, "other", &all(), false).await;
    assert!(matches!(refused, Err(ImportError::Domain(DomainError::NotOwner(_)))), "{refused:?}");
    let dry =
        import_as(&app, "acme", &[source("new", &XYZ.replace("xyz", "new"))], true).await.expect("checked");
    assert!(dry.changed, "a dry run says what would be");
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    assert_eq!(answers(&app).await, expected());
}

#[tokio::test]
async fn what_nothing_answers_is_sent_on_where_that_is_wanted() {
    let app = TestApp::start().await;
    let to = |target: &str| CatchAll::To(target.to_owned());
    for wrong in ["ftp://e.org/", "https://purl.example.org/obo/", "https://e.org/ "] {
        let refused = import_with(&app, to(wrong)).await;
        assert!(matches!(refused, Err(ImportError::Faults(_))), "{wrong}: {refused:?}");
    }
    let report = import_with(&app, to("https://old.example/obo/")).await.expect("imported");
    assert_eq!((report.rules, report.changed), (12, true));
    let alone = import(&app, &[source("xy", XY)]).await;
    assert_eq!((alone.rules, alone.changed), (12, false), "it stays until an import says otherwise");
    let sent_on =
        |path: &str| path.strip_prefix("/obo/").map(|rest| format!("https://old.example/obo/{rest}"));
    for (path, status, place) in expected() {
        let (status, place) = match sent_on(&path).filter(|_| status == 404) {
            Some(place) => (302, place),
            None => (status, place),
        };
        let answer = app.stranger().get(&path).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (status, place.as_str()), "{path}");
    }
    let report = import_with(&app, CatchAll::None).await.expect("imported");
    assert_eq!((report.rules, report.changed), (11, true));
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    assert_eq!(answers(&app).await, expected());
}

#[tokio::test]
async fn what_a_file_states_is_kept_whoever_changes_the_rules() {
    let registry = Registry::start().await;
    let app = &registry.app;
    import(app, &all()).await;
    let checks = registry.editor.get("/api/v1/domain-checks/obo").await.expect(200).json();
    let origins: Vec<&str> = checks["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter_map(|check| check["origin"].as_str())
        .collect();
    assert_eq!(origins, ["obo", "xy"]);
    let other =
        XY.replace("replacement: https://xy.example/about/", "replacement: https://xy.example/ueber/");
    let refused = import_as(app, "acme", &[source("xy", &other)], false).await;
    let Err(ImportError::Change(error)) = refused else { panic!("another file states it: {refused:?}") };
    assert!(
        error.to_string().contains("/obo/xy/about/1 would answer 301 https://xy.example/ueber/1"),
        "{error}"
    );
    let none = registry
        .editor
        .with("if-match", "*")
        .put("/api/v1/domain-rules/obo", serde_json::json!({"rules": []}))
        .await;
    none.expect_problem(409, "checks_broken");
    let both =
        [source("obo", &SHARED.replace("xy.example/about/1", "xy.example/ueber/1")), source("xy", &other)];
    assert!(import(app, &both).await.changed, "together they are right");
}

#[tokio::test]
async fn names_come_before_rules_and_tombstones_stay() {
    let registry = Registry::start().await;
    let app = &registry.app;
    import(app, &all()).await;
    let mint = |name: &str| {
        let body = serde_json::json!({"domain": "obo", "name": name, "target": "https://name.example/"});
        registry.mint_as(body)
    };
    mint("xy.owl").await.expect(201);
    mint("xy2.owl").await.expect(201);
    registry.editor.delete("/api/v1/purls/obo/xy2.owl").await.expect(200);
    assert_eq!(app.stranger().get("/obo/xy.owl").await.header("location"), "https://name.example/");
    app.stranger().get("/obo/xy2.owl").await.expect(410);
    assert_eq!(app.stranger().get("/obo/XY2.owl").await.header("location"), "https://xy.example/second.owl");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_answer_while_the_database_is_away() {
    let app = TestApp::start().await;
    import(&app, &all()).await;
    let proxy = ChaosProxy::start().await;
    let server = TestApp::over(&proxy.target(app.target()), resolute::config::Config::default());
    assert_eq!(answers(&server).await, expected());
    proxy.refuse(true);
    proxy.cut_all();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for (path, status, place) in expected() {
        let answer = server.stranger().get(&path).await;
        let status = if status == 404 { 503 } else { status };
        assert_eq!((answer.status.as_u16(), answer.header("location")), (status, place.as_str()), "{path}");
    }
    proxy.behave();
    let back =
        until(async || server.stranger().get("/obo/nothing").await, |answer| answer.status == 404).await;
    assert_eq!(back.status, 404);
}
