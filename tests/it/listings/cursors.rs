//! A cursor is good for the listing, tenant and filters that it was made for, unchanged, and for nothing else.

use super::{domain, link, names};
use crate::support::{Actor, TestApp};

/// The cursor of the page after the first.
async fn cursor(actor: &Actor, path: &str) -> String {
    let next = link(&actor.get(path).await.expect(200), "next").expect("another page");
    let (_, query) = next.split_once('?').expect("a query");
    let cursor = query.split('&').find_map(|pair| pair.strip_prefix("cursor="));
    cursor.expect("a cursor").to_owned()
}

#[tokio::test]
async fn a_cursor_changed_in_any_one_byte_is_refused_with_a_stable_code() {
    let app = TestApp::start().await;
    names(&app, domain(&app, "acme").await, 3).await;
    let reader = app.tenant("acme").await.reader().await;
    let path = "/api/v1/purls?domain=acme&limit=1";
    let cursor = cursor(&reader, path).await;
    reader.get(&format!("{path}&cursor={cursor}")).await.expect(200);
    for at in 0..cursor.len() {
        let mut changed = cursor.clone();
        changed.replace_range(at..=at, if cursor.as_bytes()[at] == b'A' { "B" } else { "A" });
        let answer = reader.get(&format!("{path}&cursor={changed}")).await;
        answer.expect_problem(400, "cursor_invalid");
    }
    for wrong in [
        "",
        "x",
        "%00",
        &cursor[1..],
        &cursor[..cursor.len() - 1],
        &format!("{cursor}A"),
        &format!("{cursor}="),
    ] {
        reader.get(&format!("{path}&cursor={wrong}")).await.expect_problem(400, "cursor_invalid");
    }
}

#[tokio::test]
async fn a_cursor_of_another_listing_tenant_or_filter_is_refused() {
    let app = TestApp::start().await;
    names(&app, domain(&app, "acme").await, 3).await;
    names(&app, domain(&app, "acme2").await, 3).await;
    let (acme, umbra) = (app.tenant("acme").await, app.tenant("umbra").await);
    // A second domain of the same tenant, with the same names.
    let handed = "UPDATE domains SET owner_tenant_id = $1 WHERE path = 'acme2'";
    sqlx::query(handed).bind(acme.id).execute(app.db().management()).await.expect("handed over");
    let (admin, stranger) = (acme.admin().await, umbra.admin().await);
    acme.admin().await;
    umbra.admin().await;

    let names = cursor(&admin, "/api/v1/purls?domain=acme&limit=1").await;
    let keys = cursor(&admin, "/api/v1/keys?limit=1").await;
    let live = cursor(&admin, "/api/v1/purls?domain=acme&state=live&limit=1").await;
    let domains = cursor(&admin, "/api/v1/domains?limit=1").await;
    admin.get(&format!("/api/v1/keys?cursor={keys}")).await.expect(200);
    admin.get(&format!("/api/v1/purls?domain=acme&cursor={names}&limit=9")).await.expect(200);
    for (actor, path) in [
        (&admin, format!("/api/v1/keys?cursor={names}")),
        (&admin, format!("/api/v1/domains?cursor={names}")),
        (&admin, format!("/api/v1/purls?domain=acme&cursor={keys}")),
        (&admin, format!("/api/v1/purls?domain=acme&cursor={domains}")),
        (&admin, format!("/api/v1/purls?domain=acme2&cursor={names}")),
        (&admin, format!("/api/v1/purls?domain=acme&state=live&cursor={names}")),
        (&admin, format!("/api/v1/purls?domain=acme&cursor={live}")),
        (&admin, format!("/api/v1/meetings?cursor={keys}")),
        (&admin, format!("/api/v1/purl-revisions/acme/n00001?cursor={names}")),
        (&stranger, format!("/api/v1/keys?cursor={keys}")),
        (&stranger, format!("/api/v1/domains?cursor={domains}")),
    ] {
        actor.get(&path).await.expect_problem(400, "cursor_invalid");
    }
    // What is not the stranger's does not exist, with whatever cursor.
    let foreign = stranger.get(&format!("/api/v1/purls?domain=acme&cursor={names}")).await;
    foreign.expect_problem(404, "not_found");
}
