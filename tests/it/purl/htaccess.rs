//! Rules of `.htaccess` files: what they answer, that each directory is whole or as it was, and what is said of the others.

use std::fs;
use std::path::Path;
use std::time::Duration;

use resolute::db::quota::Defaults;
use resolute::purl::import::htaccess::run::{self, Imported, Report};
use resolute::purl::import::htaccess::tree;
use resolute::purl::import::rule_files::Ground;
use resolute::purl::target::OwnAddress;

use crate::support::TestApp;

const ORIGIN: &str = "https://w3id.example";

/// A tree of files, and what its import says.
async fn import_as(app: &TestApp, slug: &str, top: &Path, dry_run: bool) -> Vec<Report> {
    let own = OwnAddress::new(ORIGIN);
    let (clock, quotas) = (&app.app.clock, Defaults::from(&app.app.config.quotas));
    let tenant_id = app.tenant(slug).await.id;
    let ground = Ground { db: app.db(), clock, own: &own, tenant_id, quotas, dry_run };
    let mut reports = Vec::new();
    for directory in tree::read(top).expect("a tree") {
        reports.push(run::import(&ground, ORIGIN, &directory).await.expect("an outcome"));
    }
    // Another process did it: this one sees it within a second.
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    reports
}

async fn import(app: &TestApp, top: &Path) -> Vec<Report> {
    import_as(app, "acme", top, false).await
}

fn write(top: &Path, directory: &str, text: &str) {
    let directory = top.join(directory);
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join(".htaccess"), text).expect("a file");
}

const VOCABULARY: &str = r"
Options +FollowSymLinks
RewriteEngine on
# the newest
RewriteCond %{HTTP_ACCEPT} text/turtle [OR]
RewriteCond %{HTTP_ACCEPT} application/rdf\+xml
RewriteCond %{HTTP_USER_AGENT} !^Mozilla
RewriteRule ^$ https://e.org/voc.ttl [R=303,L]
RewriteRule ^$ https://e.org/voc.html [R=303,L]
RewriteCond %{QUERY_STRING} ^id=([0-9]+)
RewriteRule ^term$ https://e.org/terms/%1? [R=302,L]
RewriteRule ^old/(.*)$ new/$1 [L]
RewriteRule ^new/(.*)$ https://e.org/new/$1#top [NE,L]
RewriteRule ^latest$ /voc/new/1 [R=307,L]
RewriteRule ^step/(.*)$ https://e.org/step/$1
RewriteRule ^https://e.org/step/2$ https://e.org/second [R=301]
RewriteRule ^q$ https://e.org/q?a=1 [QSA,R,L]
RewriteRule ^city/([a-z]+)$ https://$1.e.org/ [R=301,L]
RewriteRule ^gone - [G]
RewriteRule ^secret - [F]
RewriteRule ^here - [L]
Redirect 301 /voc/docs https://docs.e.org
RedirectMatch 302 ^/voc/m/(.+)/?$ https://e.org/m?of=$1
ErrorDocument 404 https://e.org/none
";

fn expected() -> Vec<(&'static str, &'static str, u16, &'static str)> {
    vec![
        ("/voc", "text/turtle", 303, "https://e.org/voc.ttl"),
        ("/voc/", "text/html", 303, "https://e.org/voc.html"),
        ("/voc/", "text/html,application/rdf+xml", 303, "https://e.org/voc.ttl"),
        ("/voc/term?id=12&x", "", 302, "https://e.org/terms/12"),
        ("/voc/term", "", 302, "https://e.org/none"),
        ("/voc/old/a%20b?x=%2F", "", 302, "https://e.org/new/a b?x=%2F#top"),
        ("/voc//new//c", "", 302, "https://e.org/new/c#top"),
        ("/voc/latest", "", 307, "/voc/new/1"),
        ("/voc/step/1", "", 302, "https://e.org/step/1"),
        ("/voc/step/2?a", "", 301, "https://e.org/second?a"),
        ("/voc/q?b=2", "", 302, "https://e.org/q?a=1&b=2"),
        ("/voc/city/paris", "", 301, "https://paris.e.org/"),
        ("/voc/gone", "", 410, ""),
        ("/voc/secret", "", 403, ""),
        ("/voc/docs", "", 301, "https://docs.e.org"),
        ("/voc/docs/a%2Fb?c", "", 301, "https://docs.e.org/a%2Fb?c"),
        ("/voc/docsx", "", 302, "https://e.org/none"),
        ("/voc/m/x/", "", 302, "https://e.org/m?of=x/"),
        ("/voc/deep/x", "", 302, "https://deep.e.org/x"),
        ("/voc/deep/", "", 404, ""),
        ("/voc/deep/term?id=1", "", 302, "https://deep.e.org/term?id=1"),
    ]
}

async fn check(app: &TestApp) {
    for (path, accept, status, place) in expected() {
        let answer = app.stranger().with("accept", accept).get(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (status, place), "{path} {accept}");
    }
}

#[tokio::test]
async fn a_tree_answers_as_apache_would_in_whatever_order_it_comes() {
    let app = TestApp::start().await;
    let top = tempfile::tempdir().expect("a directory");
    write(top.path(), "voc", VOCABULARY);
    write(
        top.path(),
        "voc/deep",
        "RewriteEngine on\nRewriteRule ^([a-z]+)$ https://deep.e.org/$1 [R=302,L]\n",
    );
    write(top.path(), ".git/voc", "Nonsense");
    let reports = import(&app, top.path()).await;
    let outcomes: Vec<_> =
        reports.iter().map(|report| (report.path.as_str(), report.outcome.clone())).collect();
    let imported = |rules, changed| Ok(Imported { rules, made_domain: changed, changed });
    assert_eq!(outcomes, [("voc", imported(17, true)), ("voc/deep", imported(1, true))]);
    check(&app).await;
    let again = import(&app, top.path()).await;
    assert_eq!(again[0].outcome, imported(17, false), "the same files change nothing");
    check(&app).await;

    let other = TestApp::start().await;
    let deep = tempfile::tempdir().expect("a directory");
    write(
        deep.path(),
        "voc/deep",
        &fs::read_to_string(top.path().join("voc/deep/.htaccess")).expect("a file"),
    );
    import(&other, deep.path()).await;
    import(&other, top.path()).await;
    check(&other).await;
}

#[tokio::test]
async fn a_directory_with_one_bad_line_is_as_it_was_and_the_others_are_imported() {
    let app = TestApp::start().await;
    let top = tempfile::tempdir().expect("a directory");
    write(top.path(), "a", "RewriteEngine on\nRewriteRule ^x$ https://e.org/first [R=302,L]\n");
    write(top.path(), "b", "RewriteEngine on\nRewriteRule ^x$ https://e.org/b [R=302,L]\n");
    import(&app, top.path()).await;
    write(
        top.path(),
        "a",
        "RewriteEngine on\nRewriteRule ^x$ https://e.org/second [R=302, L]\nRewriteCond %{HTTP_ACCEPT} */*\nRewriteRule ^y$ https://e.org/y\nRewriteRule ^(.*)$ https://$1/ [L]\n",
    );
    write(top.path(), "b", "RewriteEngine on\nRewriteRule ^x$ https://e.org/c [R=302,L]\n");
    write(top.path(), "api", "RewriteEngine on\n");
    fs::create_dir_all(top.path().join("latin")).expect("a directory");
    fs::write(top.path().join("latin/.htaccess"), b"# one\n# caf\xe9\n").expect("a file");
    let reports = import(&app, top.path()).await;
    let lines = |report: &Report| -> Vec<Option<usize>> {
        report.outcome.clone().expect_err("refused").iter().map(|fault| fault.line).collect()
    };
    assert_eq!(
        reports.iter().map(|report| report.path.as_str()).collect::<Vec<_>>(),
        ["a", "api", "b", "latin"]
    );
    assert_eq!(lines(&reports[0]), [Some(2), Some(4), Some(5)], "{reports:?}");
    assert_eq!((lines(&reports[1]), lines(&reports[3])), (vec![None], vec![None]), "{reports:?}");
    assert_eq!(app.stranger().get("/a/x").await.header("location"), "https://e.org/first");
    assert_eq!(app.stranger().get("/b/x").await.header("location"), "https://e.org/c");

    write(top.path(), "a", "RewriteEngine on\nRewriteRule ^(.*)$ https://$1/ [L]\n");
    let faults =
        import_as(&app, "acme", &top.path().join("."), true).await[0].outcome.clone().expect_err("refused");
    assert!(faults[0].line == Some(2) && faults[0].detail.contains("host"), "{faults:?}");
    let foreign = import_as(&app, "other", top.path(), false).await;
    assert!(
        foreign[2].outcome.clone().expect_err("refused")[0].detail.contains("another tenant"),
        "{foreign:?}"
    );
}

#[tokio::test]
async fn paths_that_lead_to_each_other_end() {
    let app = TestApp::start().await;
    let top = tempfile::tempdir().expect("a directory");
    write(top.path(), "a", "RewriteEngine on\nRewriteRule ^(.*)$ /b/$1 [L]\n");
    write(top.path(), "b", "RewriteEngine on\nRewriteRule ^(.*)$ /a/$1x [L]\n");
    write(top.path(), "c", "RewriteEngine on\nRewriteRule ^(.*)$ /health/ready [L]\n");
    write(
        top.path(),
        "d",
        "RewriteEngine on\nRewriteCond %{HTTP_ACCEPT} turtle\nRewriteRule ^(.*)$ /e/$1 [L]\n",
    );
    write(top.path(), "e", "RewriteEngine on\nRewriteRule ^(.*)$ https://e.org/$1 [R=303,L]\n");
    import(&app, top.path()).await;
    let answer = app.stranger().get("/a/x").await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (508, Some("rules_go_round")));
    app.stranger().get("/c/x").await.expect(404);
    let answer = app.stranger().with("accept", "text/turtle").get("/d/x").await;
    assert_eq!((answer.header("location"), answer.header("vary")), ("https://e.org/x", "accept"));
}
