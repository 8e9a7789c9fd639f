//! The quota of names, over all domains of a tenant.

use std::time::Duration;

use futures_util::future::{join, join_all};
use resolute::config::Quotas;
use resolute::purl::model::{Kind, Status};
use resolute::purl::name::Name;
use resolute::purl::resolve::list_domains;
use resolute::purl::write::quota::{Lack, allot};
use resolute::purl::write::{CreateVerdict, Creation, NewPurl};
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{configured, count, domain, mint, refused, set, told};
use crate::support::TestApp;
use crate::support::process::{resolute, url};

const NAMES: &str = "SELECT count(*) FROM purls";
const COUNTED: &str = "SELECT sum(names_count)::bigint FROM domain_state";
const WRONG: &str = "SELECT count(*) FROM domain_state s WHERE names_count <> (
    SELECT count(*) FROM purls p WHERE p.tenant_id = s.tenant_id AND p.domain_id = s.domain_id)";

#[tokio::test]
async fn the_last_name_can_be_made_and_no_other_in_any_domain_until_the_quota_is_raised() {
    let (app, operator) = configured(Quotas { names: 5, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    for path in ["d", "e"] {
        domain(&operator, path).await.expect(201);
    }
    for (place, path) in ["d", "e", "d", "e", "d"].into_iter().enumerate() {
        mint(&admin, path, place).await.expect(201);
    }
    for path in ["d", "e"] {
        refused(mint(&admin, path, "more").await, "names", 5, 5, 1);
    }
    assert_eq!(told(&admin, "names").await, (json!(5), json!(5)));
    mint(&admin, "d", 0).await.expect_problem(409, "name_taken");
    let change = admin.with("if-match", "*");
    change.put("/api/v1/purls/d/0", json!({"target": "https://e.org/2"})).await.expect(200);
    admin.delete("/api/v1/purls/d/0").await.expect(200);
    refused(mint(&admin, "d", "more").await, "names", 5, 5, 1);

    set(&operator, json!({"names": 6})).await.expect(200);
    mint(&admin, "e", "more").await.expect(201);
    refused(mint(&admin, "d", "yet-more").await, "names", 6, 6, 1);
    set(&operator, json!({"names": 0})).await.expect(200);
    mint(&admin, "d", "yet-more").await.expect(201);
    assert_eq!(told(&admin, "names").await, (json!(null), json!(7)));
    set(&operator, json!({"names": 3})).await.expect(200);
    refused(mint(&admin, "d", "again").await, "names", 3, 7, 1);
    assert_eq!(count(&app, WRONG).await, 0);
}

#[tokio::test]
async fn a_lowered_quota_voids_what_was_allotted_under_the_old_one() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    domain(&operator, "d").await.expect(201);
    set(&operator, json!({"names": 1_000_000})).await.expect(200);
    mint(&admin, "d", 1).await.expect(201);
    assert!(count(&app, "SELECT names_allotted FROM domain_state").await > 100);
    set(&operator, json!({"names": 2})).await.expect(200);
    mint(&admin, "d", 2).await.expect(201);
    refused(mint(&admin, "d", 3).await, "names", 2, 2, 1);
}

#[tokio::test]
async fn what_one_domain_was_allotted_and_has_not_used_another_can_use() {
    let (app, operator) = configured(Quotas { names: 100, ..Quotas::default() }).await;
    let acme = app.tenant("acme").await;
    let admin = acme.admin().await;
    for path in ["d", "e"] {
        domain(&operator, path).await.expect(201);
    }
    let d = count(&app, "SELECT domain_id FROM domains WHERE path = 'd'").await;
    let all = Lack { tenant_id: acme.id, domain_id: d, names: 100 };
    allot(app.db(), 100, &[all]).await.expect("allotted");
    assert_eq!(count(&app, "SELECT max(names_allotted) FROM domain_state").await, 100);
    for name in 0..100 {
        mint(&admin, "e", name).await.expect(201);
    }
    refused(mint(&admin, "d", 1).await, "names", 100, 100, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_domains_at_two_servers_at_once_make_exactly_as_many_names_as_there_may_be() {
    let (app, operator) = configured(Quotas { names: 60, ..Quotas::default() }).await;
    let acme = app.tenant("acme").await;
    let twin = app.twin();
    let here = acme.admin().await;
    let there = twin.bearer(here.token());
    let paths = ["a", "b", "c", "d"];
    for path in paths {
        domain(&operator, path).await.expect(201);
    }
    let mut made = 0;
    // In rounds, so that the end of the quota is met by many who still see room.
    for round in 0..8 {
        let calls = (0..16).map(|number| {
            let actor = if number % 2 == 0 { here.clone() } else { there.clone() };
            let path = paths[number / 2 % 4];
            async move { mint(&actor, path, format!("{round}-{number}")).await }
        });
        for answer in join_all(calls).await {
            match answer.status.as_u16() {
                201 => made += 1,
                409 => drop(answer.expect_problem(409, "quota_exceeded")),
                other => panic!("{other}: {}", answer.text()),
            }
        }
    }
    assert_eq!((made, count(&app, NAMES).await, count(&app, COUNTED).await), (60, 60, 60));
    assert_eq!(count(&app, WRONG).await, 0);
}

/// Names of one domain that come to the queue while it is held, so that they leave it together.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_batch_that_fits_in_part_as_many_are_made_as_there_is_room_for() {
    let (app, operator) = configured(Quotas { names: 29, ..Quotas::default() }).await;
    app.tenant("acme").await;
    domain(&operator, "d").await.expect(201);
    let d = list_domains(app.db(), &["d"]).await.expect("domains").remove(0);
    let creation = |name: String| Creation {
        new: NewPurl {
            name: Name::parse(&name).expect("a name"),
            status: Status::parse(404).expect("a status"),
            kind: Kind::Plain,
            variants: Vec::new(),
            target: None,
            valid_until: None,
        },
        name_key: name,
        generation: d.generation,
        has_names: d.has_names,
        by: Uuid::nil(),
        at: OffsetDateTime::UNIX_EPOCH,
        once: None,
    };
    let mut holder = app.db().begin().await.expect("a transaction");
    sqlx::query("SELECT FROM domain_state FOR UPDATE").execute(&mut *holder).await.expect("the lock");
    let creations = (0..60).map(|number| app.app.writer.create(&d, creation(format!("n{number}"))));
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        holder.rollback().await.expect("no longer held");
    };
    let (verdicts, ()) = join(join_all(creations), release).await;
    let made = verdicts.iter().filter(|verdict| matches!(verdict, Ok(CreateVerdict::Created(_)))).count();
    let lacking = verdicts.iter().filter(|verdict| matches!(verdict, Ok(CreateVerdict::Lacking(_)))).count();
    assert_eq!((made, lacking, count(&app, NAMES).await), (29, 31, 29));
}

#[tokio::test]
async fn a_creation_that_has_its_answer_gives_it_again_when_the_quota_is_used_up() {
    let (app, operator) = configured(Quotas { names: 1, ..Quotas::default() }).await;
    let admin = app.tenant("acme").await.admin().await;
    domain(&operator, "d").await.expect(201);
    let first = mint(&admin.with("idempotency-key", "k"), "d", "n").await.expect(201);
    let refused_one = admin.with("idempotency-key", "l");
    refused(mint(&refused_one, "d", "m").await, "names", 1, 1, 1);
    let again = mint(&admin.with("idempotency-key", "k"), "d", "n").await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &first.body));
    set(&operator, json!({"names": 2})).await.expect(200);
    mint(&refused_one, "d", "m").await.expect(201);
}

#[tokio::test]
async fn other_tenants_are_not_touched() {
    let (app, operator) = configured(Quotas { names: 1, ..Quotas::default() }).await;
    let (acme, other) = (app.tenant("acme").await.admin().await, app.tenant("other").await.admin().await);
    domain(&operator, "d").await.expect(201);
    operator.post("/api/v1/domains", json!({"path": "o", "tenant": "other"})).await.expect(201);
    mint(&acme, "d", "n").await.expect(201);
    refused(mint(&acme, "d", "m").await, "names", 1, 1, 1);
    mint(&other, "o", "n").await.expect(201);
}

/// Runs an import at the command line: whether it succeeded, and all that it said.
fn import(app: &TestApp, text: &str, settings: &[(&str, &str)], more: &[&str]) -> (bool, String) {
    import_into(&url(app.target()), text, settings, more)
}

fn import_into(database: &str, text: &str, settings: &[(&str, &str)], more: &[&str]) -> (bool, String) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let mut environment = vec![("DATABASE_URL", database)];
    environment.extend_from_slice(settings);
    let path = file.path().to_str().expect("UTF-8");
    let arguments = [&["import", "csv", path, "--tenant", "acme"], more].concat();
    let output = resolute(&arguments, &environment).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn lines(names: std::ops::Range<usize>) -> String {
    let lines = names.map(|name| format!("{},n{name},https://e.org/{name}\n", ["d", "e"][name % 2]));
    format!("domain,name,target\n{}", lines.collect::<String>())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_more_names_than_there_is_room_for_is_not_imported_at_all() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    domain(&operator, "d").await.expect(201);
    set(&operator, json!({"names": 10})).await.expect(200);
    mint(&admin, "d", "n0").await.expect(201);
    for more in [&[][..], &["--dry-run"], &["--partial"]] {
        let (done, said) = import(&app, &lines(0..11), &[], more);
        let told = "the tenant may have 10 names, has 1, and this needs 10 more; nothing of it was imported";
        assert!(!done && said.contains(told), "{said}");
    }
    assert_eq!((count(&app, NAMES).await, count(&app, "SELECT count(*) FROM domains").await), (1, 1));
    assert_eq!(count(&app, "SELECT count(*) FROM import_rows").await, 0);
    let (done, said) = import(&app, &lines(0..10), &[], &[]);
    assert!(done, "n0 exists: {said}");
    let (done, said) = import(&app, &lines(0..10), &[], &[]);
    assert!(done, "again needs no room: {said}");
    assert_eq!((count(&app, NAMES).await, count(&app, WRONG).await), (10, 0));
    refused(mint(&admin, "d", "more").await, "names", 10, 10, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_many_chunks_fills_the_quota_to_the_last_name() {
    let (app, _) = configured(Quotas::default()).await;
    app.tenant("acme").await;
    let (done, said) = import(&app, &lines(0..5_000), &[("RESOLUTE__QUOTAS__NAMES", "5000")], &[]);
    assert!(done, "{said}");
    assert_eq!((count(&app, NAMES).await, count(&app, WRONG).await), (5_000, 0));
    let (done, said) = import(&app, &lines(4_999..5_001), &[("RESOLUTE__QUOTAS__NAMES", "5000")], &[]);
    assert!(!done && said.contains("has 5000, and this needs 1 more"), "{said}");
}

/// One domain of the file has room left, the other has none: what the one needs must not be given to the other.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_into_a_domain_with_room_and_one_without_leaves_no_room_that_there_is_not() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    for path in ["d", "e"] {
        domain(&operator, path).await.expect(201);
    }
    set(&operator, json!({"names": 401})).await.expect(200);
    mint(&admin, "e", "first").await.expect(201);
    let line = |name: usize| format!("{},n{name},https://e.org/\n", if name < 40 { "e" } else { "d" });
    let file = format!("domain,name,target\n{}", (0..400).map(line).collect::<String>());
    let (done, said) = import(&app, &file, &[], &[]);
    assert!(done, "{said}");
    for path in ["d", "e"] {
        refused(mint(&admin, path, "more").await, "names", 401, 401, 1);
    }
    assert_eq!((count(&app, NAMES).await, count(&app, WRONG).await), (401, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_beside_others_who_make_names_domains_and_quotas_stops_at_the_quota_and_blocks_nobody() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    for path in ["d", "e", "f"] {
        domain(&operator, path).await.expect(201);
    }
    set(&operator, json!({"names": 4_100})).await.expect(200);
    let database = url(app.target());
    let importer = std::thread::spawn(move || import_into(&database, &lines(0..4_000), &[], &[]));
    let (mut made, mut round) = (0, 0);
    while !importer.is_finished() || round < 20 {
        let names = (0..12).map(|number| {
            let (admin, path) = (admin.clone(), ["d", "e", "f"][number % 3]);
            async move { mint(&admin, path, format!("{round}-{number}")).await }
        });
        // Few: an import gives up when the domains of its file change all the time.
        let path = format!("{}/below{round}", if round < 3 { "d" } else { "f" });
        let below = admin.post("/api/v1/domains", json!({ "path": path }));
        let same = set(&operator, json!({"names": 4_100}));
        let (names, below, same) = tokio::join!(join_all(names), below, same);
        below.expect(201);
        same.expect(200);
        for answer in names {
            match answer.status.as_u16() {
                201 => made += 1,
                409 => drop(answer.expect_problem(409, "quota_exceeded")),
                other => panic!("{other}: {}", answer.text()),
            }
        }
        round += 1;
    }
    let (done, said) = importer.join().expect("no panic");
    let all = count(&app, NAMES).await;
    assert_eq!((count(&app, COUNTED).await, count(&app, WRONG).await), (all, 0));
    assert!(all <= 4_100 && made > 0, "{all}, {made}");
    if done {
        assert_eq!(all, made + 4_000);
    } else {
        // The others were faster, or became so while it merged.
        let ends = ["nothing of it was imported", "--resume goes on once there is room"];
        assert!(ends.iter().any(|end| said.contains(end)), "{said}");
        set(&operator, json!({"names": 0})).await.expect(200);
        let (done, said) = import(&app, &lines(0..4_000), &[], &["--resume"]);
        assert!(done, "{said}");
        assert_eq!(count(&app, NAMES).await, made + 4_000);
    }
    assert_eq!(count(&app, WRONG).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_needs_more_domains_than_there_may_be_makes_none() {
    let (app, _) = configured(Quotas::default()).await;
    app.tenant("acme").await;
    let (done, said) = import(&app, &lines(0..4), &[("RESOLUTE__QUOTAS__DOMAINS", "1")], &[]);
    assert!(!done && said.contains("may have 1 domains, has 0, and this needs 2 more"), "{said}");
    assert_eq!(count(&app, "SELECT count(*) FROM domains").await, 0);
}

#[tokio::test]
async fn an_upgrade_counts_the_names_that_there_are() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    for path in ["d", "e", "empty"] {
        domain(&operator, path).await.expect(201);
    }
    for name in 0..3 {
        mint(&admin, "d", name).await.expect(201);
    }
    mint(&admin, "e", 0).await.expect(201);
    admin.delete("/api/v1/purls/e/0").await.expect(200);
    let back = "DROP TABLE tenant_quotas; DROP INDEX api_keys_valid_idx;
                ALTER TABLE domain_state DROP COLUMN names_count, DROP COLUMN names_allotted, DROP COLUMN names_limit";
    sqlx::raw_sql(back).execute(app.db().management()).await.expect("as it was before");
    let migration = include_str!("../../../migrations/0009_quotas.sql");
    sqlx::raw_sql(migration).execute(app.db().management()).await.expect("applied");
    assert_eq!((count(&app, COUNTED).await, count(&app, WRONG).await), (4, 0));
}
