//! Driven by the route table: what holds for every route, also for one that is added tomorrow.

use http::Method;
use resolute::app;
use resolute::http::auth::Scope;
use resolute::http::describe::Body;
use resolute::http::route::{Access, Route};

use crate::support::{Actor, TestApp};

/// The template with its parameters filled in by something that is well-formed and does not exist.
fn path(route: &Route) -> String {
    let filled = route
        .path
        .replace("{id}", "4611686018427387904")
        .replace("{slug}", "nobody")
        .replace("{participant}", "4611686018427387904");
    filled.replace("{*path}", "nowhere/at-all")
}

async fn call(actor: &Actor, route: &Route) -> crate::support::Answer {
    let method = Method::from_bytes(route.method.as_bytes()).expect("a method");
    let body = matches!(route.method, "POST" | "PUT").then(|| "{}".to_owned());
    actor.send(method, &path(route), body).await
}

fn guarded() -> Vec<Route> {
    app::routes().into_iter().filter(|route| route.access != Access::Public).collect()
}

#[tokio::test]
async fn without_a_key_or_with_a_wrong_one_every_guarded_route_answers_401() {
    let app = TestApp::start().await;
    assert!(guarded().len() >= 20);
    for route in guarded() {
        for actor in [
            app.stranger(),
            app.bearer("rsl_nonsense"),
            app.bearer("rsb_1_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ] {
            let answer = call(&actor, &route).await;
            assert_eq!(answer.status, 401, "{route:?}: {}", answer.text());
            assert_eq!(answer.json()["code"], "unauthenticated", "{route:?}");
        }
    }
}

#[tokio::test]
async fn exactly_the_scopes_of_the_table_may_call_a_route_and_others_get_403_before_the_body_is_looked_at() {
    let app = TestApp::start().await;
    let tenant = app.tenant("acme").await;
    for scope in Scope::ALL {
        let actor = match scope {
            Scope::Operator => app.operator().await,
            _ => tenant.with_scope(scope.as_str()).await,
        };
        for route in guarded() {
            let status = call(&actor, &route).await.status.as_u16();
            if route.access == Access::BallotToken {
                assert_eq!(status, 401, "a key is no ballot token: {route:?}");
            } else {
                let may = route.access.scopes().contains(&scope);
                assert_eq!(status != 403, may, "{scope:?}, {} {}: {status}", route.method, route.path);
            }
        }
    }
}

#[tokio::test]
async fn every_route_is_in_the_router_and_a_wrong_method_is_a_problem_with_allow() {
    let app = TestApp::start().await;
    for route in app::routes() {
        let answer = app.stranger().send(Method::PATCH, &path(&route), None).await;
        let answer = answer.expect_problem(405, "method_not_allowed");
        let allowed: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        assert!(allowed.contains(&route.method), "{route:?}: {allowed:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_404_and_bad_bodies_are_problems_on_every_route() {
    let app = TestApp::start().await;
    let admin = app.tenant("acme").await.admin().await;
    for route in guarded() {
        if matches!(route.access, Access::Operate | Access::BallotToken) {
            continue;
        }
        let answer = call(&admin, &route).await;
        let status = answer.status.as_u16();
        let listing = route.method == "GET" && !route.path.contains('{') && !route.path.ends_with('/');
        let fine = matches!(status, 404 | 422 | 428) || (listing && status == 200);
        assert!(fine, "{route:?}: {status} {}", answer.text());
        if route.method == "GET" && !listing {
            assert_eq!(status, 404, "{route:?}");
        }
        if matches!(route.method, "POST" | "PUT") {
            let method = Method::from_bytes(route.method.as_bytes()).expect("a method");
            let broken = admin
                .with("if-match", "\"r1\"")
                .send(method, &path(&route), Some("{\"a\":".to_owned()))
                .await;
            assert!(matches!(broken.status.as_u16(), 400 | 404), "{route:?}: {}", broken.text());
            assert_eq!(broken.header("content-type"), "application/problem+json", "{route:?}");
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_on_every_route_that_takes_one() {
    let app = TestApp::start().await;
    let (admin, operator) = (app.tenant("acme").await.admin().await, app.operator().await);
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(app.app.config.server.body_limit_bytes));
    let mut seen = 0;
    for route in guarded().into_iter().filter(|route| matches!(route.body, Body::Required(_))) {
        if route.access == Access::BallotToken {
            continue;
        }
        let caller = if route.access == Access::Operate { &operator } else { &admin };
        let method = Method::from_bytes(route.method.as_bytes()).expect("a method");
        let answer = caller.with("if-match", "\"r1\"").send(method, &path(&route), Some(large.clone())).await;
        assert_eq!(answer.status, 413, "{route:?}: {}", answer.text());
        assert_eq!(answer.json()["code"], "body_too_large", "{route:?}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen} routes");
}

#[tokio::test]
async fn a_parameter_that_is_no_text_names_nothing_on_every_route() {
    let app = TestApp::start().await;
    let (admin, operator) = (app.tenant("acme").await.admin().await, app.operator().await);
    for route in app::routes() {
        let caller = if route.access == Access::Operate { &operator } else { &admin };
        let method = Method::from_bytes(route.method.as_bytes()).expect("a method");
        for nonsense in ["%FF", "a%00b", "%C3%28"] {
            let path = route
                .path
                .replace("{id}", nonsense)
                .replace("{slug}", nonsense)
                .replace("{participant}", nonsense);
            if path == route.path || route.access == Access::BallotToken {
                continue;
            }
            let path = path.replace("{*path}", "nowhere");
            let answer =
                caller.with("if-match", "*").send(method.clone(), &path, Some("{}".to_owned())).await;
            assert!(matches!(answer.status.as_u16(), 404 | 422), "{route:?} {nonsense}: {}", answer.text());
            assert_eq!(answer.header("content-type"), "application/problem+json", "{route:?} {nonsense}");
        }
    }
}
