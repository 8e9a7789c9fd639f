//! The operator sets quotas, and a tenant's admins see them.

use resolute::config::Quotas;
use serde_json::{Value, json};

use super::{configured, domain, mint, set};

const PATH: &str = "/api/v1/tenants/acme/quotas";

#[tokio::test]
async fn what_is_set_beats_the_configuration_and_what_is_left_out_goes_back_to_it() {
    let quotas = Quotas { names: 7, meetings: 0, requests_per_second: 0, ..Quotas::default() };
    let (app, operator) = configured(quotas).await;
    app.tenant("acme").await;
    let before = operator.get(PATH).await.expect(200);
    assert_eq!(before.header("etag"), "\"r1\"");
    let unset: Value = json!(null);
    assert_eq!((&before.json()["names"], &before.json()["in_force"]["names"]), (&unset, &json!(7)));
    assert_eq!(before.json()["in_force"]["meetings"], json!(null), "no limit");

    let wanted = json!({"names": 9, "domains": 0, "requests_per_second": 50});
    let after = operator.with("if-match", "\"r1\"").put(PATH, wanted).await.expect(200);
    assert_eq!(after.header("etag"), "\"r2\"");
    assert_eq!(operator.get(PATH).await.expect(200).body, after.body);
    let after = after.json();
    assert_eq!((&after["names"], &after["in_force"]["names"]), (&json!(9), &json!(9)));
    assert_eq!((&after["domains"], &after["in_force"]["domains"]), (&json!(0), &json!(null)));
    assert_eq!((&after["api_keys"], &after["in_force"]["api_keys"]), (&unset, &json!(1_000)));
    assert_eq!(after["in_force"]["requests_per_second"], 50);
    assert_eq!(after["in_force"]["requests_burst"], 10_000, "as configured");

    let back =
        operator.with("if-match", "\"r2\"").put(PATH, json!({"domains": null})).await.expect(200).json();
    assert_eq!((&back["names"], &back["in_force"]["names"]), (&unset, &json!(7)));
}

#[tokio::test]
async fn a_change_needs_the_revision_that_was_read_and_is_in_the_log_of_the_tenant() {
    let (app, operator) = configured(Quotas::default()).await;
    let admin = app.tenant("acme").await.admin().await;
    operator.put(PATH, json!({"names": 1})).await.expect_problem(428, "precondition_required");
    let stale = operator.with("if-match", "\"r2\"").put(PATH, json!({"names": 1})).await;
    assert_eq!(stale.expect_problem(412, "precondition_failed").header("etag"), "\"r1\"");
    let (one, two) = (operator.with("if-match", "\"r1\""), app.twin());
    let two = two.bearer(operator.token()).with("if-match", "\"r1\"");
    let (one, two) = tokio::join!(one.put(PATH, json!({"names": 1})), two.put(PATH, json!({"names": 2})));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);

    set(&operator, json!({"names": 3})).await.expect(200);
    let newest = admin.get("/api/v1/audit-log?limit=1").await.expect(200).json()["items"][0].clone();
    assert_eq!(newest["action"], "tenant.quotas_changed");
    assert_eq!(newest["subject"], json!({"kind": "tenant", "reference": "acme"}));
    assert!(newest["before"]["names"].as_i64().is_some_and(|names| names < 3));
    assert_eq!((&newest["after"]["names"], &newest["after"]["domains"]), (&json!(3), &json!(null)));
}

#[tokio::test]
async fn a_change_whose_entry_cannot_be_written_does_not_happen() {
    let (app, operator) = configured(Quotas::default()).await;
    app.tenant("acme").await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''full''; END';
                  CREATE TRIGGER refuse BEFORE INSERT ON audit_log EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refuse).execute(app.db().management()).await.expect("a trigger");
    set(&operator, json!({"names": 3})).await.expect_problem(500, "internal");
    assert_eq!(operator.get(PATH).await.expect(200).header("etag"), "\"r1\"");
}

#[tokio::test]
async fn every_fault_is_reported_at_once() {
    let (app, operator) = configured(Quotas::default()).await;
    app.tenant("acme").await;
    let body = json!({"names": -1, "domains": "5", "meetings": 9_007_199_254_740_992_i64, "requests_burst": 0,
                      "requests_per_second": 1_000_001, "rules": 1});
    let mut pointers = set(&operator, body).await.expect_problem(422, "invalid").pointers();
    pointers.sort();
    let all = ["/domains", "/meetings", "/names", "/requests_burst", "/requests_per_second", "/rules"];
    assert_eq!(pointers, all);
    let most = json!({"names": 9_007_199_254_740_991_i64});
    assert_eq!(set(&operator, most).await.expect(200).json()["names"], 9_007_199_254_740_991_i64);
    operator.get("/api/v1/tenants/nobody/quotas").await.expect_problem(404, "not_found");
    let nobody = operator.with("if-match", "*").put("/api/v1/tenants/nobody/quotas", json!({})).await;
    nobody.expect_problem(404, "not_found");
}

#[tokio::test]
async fn admins_see_limits_and_use_and_set_nothing() {
    let (app, operator) = configured(Quotas { names: 10, ..Quotas::default() }).await;
    let acme = app.tenant("acme").await;
    let admin = acme.admin().await;
    domain(&operator, "d").await.expect(201);
    for name in 0..3 {
        mint(&admin, "d", name).await.expect(201);
    }
    let made = admin.post("/api/v1/meetings", json!({"title": "M"})).await.expect(201).json();
    let people = format!("/api/v1/meetings/{}/participants", made["id"].as_str().expect("an id"));
    admin.post(&people, json!({"name": "Ada"})).await.expect(201);
    let seen = admin.get("/api/v1/quotas").await.expect(200);
    assert_eq!(seen.header("cache-control"), "no-store");
    let expected = json!({
        "domains": {"limit": 10_000, "used": 1},
        "names": {"limit": 10, "used": 3},
        "meetings": {"limit": 100_000, "used": 1},
        "participants": {"limit": 1_000_000, "used": 1},
        "api_keys": {"limit": 1_000, "used": 1},
        "requests": {"per_second": null, "burst": null},
    });
    assert_eq!(seen.json(), expected);
    let other = app.tenant("other").await.admin().await.get("/api/v1/quotas").await.expect(200).json();
    assert_eq!((&other["names"]["used"], &other["domains"]["used"]), (&json!(0), &json!(0)));
    admin.get(PATH).await.expect_problem(403, "forbidden");
    set(&admin, json!({"names": 0})).await.expect_problem(403, "forbidden");
    acme.editor().await.get("/api/v1/quotas").await.expect_problem(403, "forbidden");
}
