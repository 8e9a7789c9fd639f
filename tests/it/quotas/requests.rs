//! The quota of requests: all keys of a tenant together, at each server.

use resolute::config::Quotas;
use serde_json::json;

use super::{configured, set};
use crate::support::{Actor, Answer, until};
use crate::voting::Hall;

async fn ask(actor: &Actor) -> Answer {
    actor.get("/api/v1/meetings").await
}

#[tokio::test]
async fn all_keys_of_a_tenant_share_its_allowance_and_other_tenants_have_their_own() {
    let quotas = Quotas { requests_per_second: 1, requests_burst: 4, ..Quotas::default() };
    let (app, operator) = configured(quotas).await;
    let acme = app.tenant("acme").await;
    let (one, two) = (acme.reader().await, acme.editor().await);
    let other = app.tenant("other").await.reader().await;
    let first = ask(&one).await.expect(200);
    assert_eq!(first.header("ratelimit-policy"), "\"tenant\";q=4;w=4");
    assert_eq!(first.header("ratelimit"), "\"tenant\";r=3;t=1");
    for actor in [&two, &one, &two] {
        ask(actor).await.expect(200);
    }
    let refused = ask(&one).await.expect_problem(429, "rate_limited");
    assert_eq!((refused.header("retry-after"), refused.header("ratelimit")), ("1", "\"tenant\";r=0;t=4"));
    ask(&other).await.expect(200);
    for _ in 0..10 {
        operator.get("/api/v1/tenants/acme").await.expect(200);
    }
    app.app.clock.advance(time::Duration::SECOND);
    ask(&two).await.expect(200);
    ask(&one).await.expect(429);
}

#[tokio::test]
async fn a_tenant_s_own_allowance_is_in_force_within_a_second_and_off_by_default() {
    let (app, operator) = configured(Quotas::default()).await;
    let reader = app.tenant("acme").await.reader().await;
    assert!(ask(&reader).await.expect(200).header("ratelimit").starts_with("\"key\""));
    set(&operator, json!({"requests_per_second": 1, "requests_burst": 2})).await.expect(200);
    until(async || ask(&reader).await, |answer| answer.status == 429)
        .await
        .expect_problem(429, "rate_limited");
    set(&operator, json!({"requests_per_second": 0})).await.expect(200);
    until(async || ask(&reader).await, |answer| answer.status == 200).await.expect(200);
    for _ in 0..5 {
        ask(&reader).await.expect(200);
    }
}

#[tokio::test]
async fn voters_vote_whatever_the_tenant_has_used_up() {
    let (app, operator) = configured(Quotas::default()).await;
    let hall = Hall::seated(&app, 3).await;
    let poll = hall.poll(&["A", "B"], json!({})).await;
    set(&operator, json!({"requests_per_second": 1, "requests_burst": 1})).await.expect(200);
    until(async || ask(&hall.chair).await, |answer| answer.status == 429).await.expect(429);
    for voter in &hall.voters {
        poll.cast(voter, 0).await.expect(201);
    }
}
