//! Rules that leave something to those after them, that begin again, and conditions with alternatives and captures.

use super::*;

fn outcome(rules: &Value, path: &str, query: Option<&str>) -> Option<Outcome> {
    let program = program(rules).expect("good rules");
    program.answer(&Request { path, query, header: &|_| Vec::new() }, QueryPolicy::Forward)
}

fn again(rules: &Value, path: &str, query: Option<&str>) -> Option<(String, Option<String>)> {
    match outcome(rules, path, query)? {
        Outcome::Again(again) => Some((again.path, again.query)),
        Outcome::Answered(answer) => panic!("{answer:?}"),
    }
}

#[test]
fn of_alternatives_one_must_hold() {
    let accepts = |types: &str| {
        let rules = json!([
            {"exact": "x", "target": "https://e.org/rdf", "conditions": [
                {"any": [{"header": "accept", "matches": "text/turtle"}, {"header": "accept", "matches": "rdf\\+xml"}]},
                {"header": "accept", "matches": "q=0", "not": true}]},
            {"exact": "x", "target": "https://e.org/html"},
        ]);
        answer_with(&rules, "/obo/x", None, &[("accept", types)]).and_then(|answer| answer.location)
    };
    assert_eq!(accepts("text/turtle").as_deref(), Some("https://e.org/rdf"));
    assert_eq!(accepts("application/rdf+xml").as_deref(), Some("https://e.org/rdf"));
    assert_eq!(accepts("application/rdf+xml;q=0").as_deref(), Some("https://e.org/html"));
    assert_eq!(accepts("").as_deref(), Some("https://e.org/html"));
}

#[test]
fn captures_of_the_last_condition_that_was_found_are_put_in() {
    let rules = json!([{"regex": "^(.*)$", "target": "https://e.org/${c1}/$1?${query}", "query": "drop", "conditions": [
        {"of": "query", "matches": "^id=([a-z ]+)"},
        {"any": [{"of": "path", "matches": "/none/(.*)"}, {"of": "path", "matches": "^/obo/(.)"}]},
        {"header": "accept", "matches": "(x)", "not": true}]}]);
    let found = answer_with(&rules, "/obo/a%20b", Some("id=q&z=%20"), &[]).and_then(|answer| answer.location);
    assert_eq!(found.as_deref(), Some("https://e.org/a/a%20b?id=q&z=%20"));
    let text = json!([{"regex": "^(.*)/(.*)$", "status": 410, "conditions": [
        {"text": "$1=$2", "matches": "^(a+)=a+$"}, {"text": "${c1}", "matches": "^aa$"}]}]);
    assert_eq!(answer(&text, "/obo/aa/a").map(|answer| answer.status), Some(410));
    assert_eq!(answer(&text, "/obo/aa/b"), None);
    assert_eq!(answer(&text, "/obo/a/a"), None);
}

#[test]
fn a_rule_that_goes_on_leaves_its_address_to_those_after_it() {
    let rules = json!([
        {"regex": "^a/(.*)$", "target": "https://e.org/$1?a=1", "status": 303, "go_on": true},
        {"regex": "^https://e.org/v1$", "target": "https://e.org/first", "status": 301},
        {"exact": "a/x", "target": "https://e.org/not-any-more"},
    ]);
    let of = |path: &str, query: Option<&str>| {
        answer_with(&rules, path, query, &[])
            .map(|answer| (answer.status, answer.location.unwrap_or_default()))
    };
    assert_eq!(of("/obo/a/x", Some("b=2")), Some((303, "https://e.org/x?a=1&b=2".to_owned())));
    assert_eq!(of("/obo/a/v1", None), Some((301, "https://e.org/first?a=1".to_owned())));
    let stopped = json!([
        {"prefix": "a", "target": "https://e.org/", "go_on": true},
        {"regex": "^https", "leave": true},
        {"prefix": "", "target": "https://e.org/rest"},
    ]);
    assert_eq!(location(&stopped, "/obo/ab").as_deref(), Some("https://e.org/b"));
    let rest = json!([
        {"prefix": "a", "target": "https://e.org/", "go_on": true},
        {"regex": "", "target": "https://e.org/rest", "untouched": true},
    ]);
    assert_eq!(location(&rest, "/obo/ab").as_deref(), Some("https://e.org/b"));
    assert_eq!(location(&rest, "/obo/b").as_deref(), Some("https://e.org/rest"));
    let left = json!([{"prefix": "a", "leave": true}, {"prefix": "", "target": "https://e.org/rest"}]);
    assert_eq!(location(&left, "/obo/ab"), None);
}

#[test]
fn a_path_that_is_rewritten_is_asked_for_again_as_if_it_had_been_sent() {
    let rules = json!([
        {"regex": "^old/(.*)$", "rewrite": "/obo/new/$1?v=1"},
        {"regex": "^two/(.*)$", "rewrite": "/obo/2/$1", "go_on": true},
        {"regex": "^2/x$", "target": "https://e.org/two"},
        {"regex": "^same$", "rewrite": "/obo/same"},
        {"prefix": "p/", "rewrite": "/net/"},
    ]);
    assert_eq!(
        again(&rules, "/obo/old/a%20b%23", Some("q")),
        Some(("/obo/new/a%20b%23".to_owned(), Some("v=1&q".to_owned())))
    );
    assert_eq!(location(&rules, "/obo/two/x").as_deref(), Some("https://e.org/two"));
    assert_eq!(again(&rules, "/obo/two/y", None), Some(("/obo/2/y".to_owned(), None)));
    assert_eq!(outcome(&rules, "/obo/same", None), None, "what is rewritten to itself is as it was");
    assert_eq!(again(&rules, "/obo/p/a%2Fb//c", None), Some(("/net/a%2Fb//c".to_owned(), None)));
}

#[test]
fn a_path_of_this_server_never_becomes_another_server() {
    let rules = json!([
        {"regex": "^r(.*)$", "target": "/$1"},
        {"regex": "^w(.*)$", "rewrite": "/$1"},
        {"prefix": "p", "target": "/"},
    ]);
    for evil in ["%2F%2Fevil.example", "/%2F/evil.example", "%5Cevil.example", "/\\evil.example"] {
        for path in [format!("/obo/r{evil}"), format!("/obo/p{evil}")] {
            let location = location(&rules, &path).expect("a redirect");
            assert!(
                location.starts_with('/') && !location[1..].starts_with(['/', '\\']),
                "{path}: {location}"
            );
        }
        let (path, _) = again(&rules, &format!("/obo/w{evil}"), None).expect("a rewrite");
        assert!(!path.starts_with("//"), "{path}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let faults = program(&json!([
        {"exact": "a", "rewrite": "/b", "status": 302},
        {"exact": "a", "rewrite": "/b", "leave": true},
        {"exact": "a", "status": 410, "go_on": true},
        {"exact": "a", "leave": 1},
        {"exact": "a", "leave": true, "conditions": [{"any": []}]},
        {"exact": "a", "leave": true, "conditions": [{"any": [{"of": "host", "matches": ""}]}]},
        {"exact": "a", "leave": true, "conditions": [{"any": [{"of": "path", "text": "x", "matches": ""}], "not": true}]},
    ]))
    .expect_err("faults");
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/rules/0/status",
            "/rules/1/rewrite",
            "/rules/2/go_on",
            "/rules/3/leave",
            "/rules/4/conditions/0/any",
            "/rules/5/conditions/0/any/0",
            "/rules/6/conditions/0/not",
            "/rules/6/conditions/0/any/0",
        ]
    );
    for rewrite in ["b", "//b", "https://e.org/", "/b#c", "/$1", "/\u{e9}"] {
        let refused = program(&json!([{"regex": "a", "rewrite": rewrite}])).expect_err(rewrite);
        assert_eq!(refused[0].pointer, "/rules/0/rewrite", "{rewrite}");
    }
    let refused = program(&json!([{"exact": "a", "leave": true, "conditions": [
        {"any": [{"of": "name", "matches": "a"}, {"of": "name", "matches": "("}]}]}]));
    assert_eq!(refused.expect_err("an expression")[0].pointer, "/rules/0/conditions/0/any/1/matches");
}
