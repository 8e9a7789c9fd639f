//! What rules answer, read from documents as users write them.

mod going_on;
mod properties;

use serde_json::{Value, json};

use super::*;
use crate::purl::domain_path::DomainPath;
use crate::purl::target::OwnAddress;

fn program(rules: &Value) -> Result<Program, Vec<Fault>> {
    let rules = read(&json!({ "rules": rules }))?;
    let path = DomainPath::parse("obo").expect("a domain");
    Program::compile(rules, &path, Some(&OwnAddress::new("https://purl.example")))
}

fn answer(rules: &Value, path: &str) -> Option<Answer> {
    answer_with(rules, path, None, &[])
}

fn answer_with(rules: &Value, path: &str, query: Option<&str>, headers: &[(&str, &str)]) -> Option<Answer> {
    let header = |name: &str| {
        let found = headers.iter().find(|(of, _)| *of == name);
        found.map_or(Vec::new(), |(_, value)| value.as_bytes().to_vec())
    };
    let program = program(rules).expect("good rules");
    program.answer(&Request { path, query, header: &header }, QueryPolicy::Forward).and_then(Outcome::answer)
}

fn location(rules: &Value, path: &str) -> Option<String> {
    answer(rules, path)?.location
}

#[test]
fn exact_prefix_and_expression_answer_in_their_order() {
    let rules = json!([
        {"exact": "go.owl", "target": "https://e.org/go"},
        {"prefix": "go/", "target": "https://e.org/tree/", "status": 303},
        {"regex": r"^GO_(\d+)$", "target": "https://e.org/term?id=GO:$1"},
        {"prefix": "", "target": "https://e.org/rest/"},
    ]);
    assert_eq!(location(&rules, "/obo/go.owl").as_deref(), Some("https://e.org/go"));
    assert_eq!(location(&rules, "/obo/go/a/b").as_deref(), Some("https://e.org/tree/a/b"));
    assert_eq!(answer(&rules, "/obo/go/a").map(|answer| answer.status), Some(303));
    assert_eq!(location(&rules, "/obo/GO_0001").as_deref(), Some("https://e.org/term?id=GO:0001"));
    assert_eq!(location(&rules, "/obo/GO_x").as_deref(), Some("https://e.org/rest/GO_x"));
    assert_eq!(location(&rules, "/obo/go.OWL").as_deref(), Some("https://e.org/rest/go.OWL"));
    assert_eq!(location(&rules, "/obo/").as_deref(), Some("https://e.org/rest/"));
    let turned: Value = rules.as_array().expect("rules").iter().rev().cloned().collect();
    assert_eq!(location(&turned, "/obo/go.owl").as_deref(), Some("https://e.org/rest/go.owl"));
}

#[test]
fn what_was_sent_survives_in_tails_and_is_encoded_again_in_captures() {
    let rules = json!([
        {"prefix": "t/", "target": "https://e.org/?of="},
        {"regex": "^c/(.*)$", "target": "https://e.org/$1"},
    ]);
    for tail in ["a%23b%2Fc%3Fd", "100%25", "x+y", "%0d%0aSet-Cookie:a"] {
        assert_eq!(location(&rules, &format!("/obo/t/{tail}")), Some(format!("https://e.org/?of={tail}")));
    }
    assert_eq!(location(&rules, "/obo//t//a//b").as_deref(), Some("https://e.org/?of=a//b"));
    let merged = json!([{"prefix": "t/", "merge_tail": true, "target": "https://e.org/"}]);
    assert_eq!(location(&merged, "/obo/t//a///b%2F%2Fc//").as_deref(), Some("https://e.org/a/b%2F%2Fc/"));
    assert_eq!(location(&rules, "/obo/c/a%23b%20c%0A").as_deref(), Some("https://e.org/a%23b%20c%0A"));
    assert_eq!(location(&rules, "/obo/c/%zz"), None, "an escape that is none meets no rule");
}

#[test]
fn case_is_ascii_case_and_only_where_it_is_asked_for() {
    let rules = json!([
        {"exact": "A/B", "ignore_case": true, "target": "https://e.org/exact"},
        {"prefix": "P/", "ignore_case": true, "target": "https://e.org/"},
        {"regex": "^r_[a-z]+$", "ignore_case": true, "target": "https://e.org/regex"},
    ]);
    assert_eq!(location(&rules, "/obo/a/b").as_deref(), Some("https://e.org/exact"));
    assert_eq!(location(&rules, "/obo/p/X").as_deref(), Some("https://e.org/X"));
    assert_eq!(location(&rules, "/obo/R_ABC").as_deref(), Some("https://e.org/regex"));
}

#[test]
fn digits_are_those_of_ascii() {
    let rules = json!([{"regex": r"^(\d+)$", "target": "https://e.org/$1"}]);
    assert_eq!(location(&rules, "/obo/12").as_deref(), Some("https://e.org/12"));
    assert_eq!(location(&rules, "/obo/%D9%A1"), None);
}

#[test]
fn conditions_look_at_headers_and_query_and_what_was_looked_at_is_told() {
    let rules = json!([
        {"exact": "x", "target": "https://e.org/html", "conditions": [
            {"header": "Accept", "matches": "text/html"}, {"of": "query", "matches": "^raw$", "not": true}]},
        {"exact": "x", "status": 406, "conditions": [{"header": "user-agent", "matches": "BOT", "ignore_case": true}]},
        {"exact": "x", "target": "https://e.org/data"},
    ]);
    let of =
        |query, headers: &[(&str, &str)]| answer_with(&rules, "/obo/x", query, headers).expect("an answer");
    let html = of(None, &[("accept", "text/html,*/*")]);
    assert_eq!(
        (html.location.as_deref(), html.vary),
        (Some("https://e.org/html"), vec!["accept".to_owned()])
    );
    let raw = of(Some("raw"), &[("accept", "text/html")]);
    assert_eq!(raw.location.as_deref(), Some("https://e.org/data?raw"));
    let bot = of(None, &[("user-agent", "a bot")]);
    assert_eq!((bot.status, bot.location, bot.rule), (406, None, 1));
    assert_eq!(bot.vary, ["accept", "user-agent"]);
}

#[test]
fn a_rule_on_the_whole_path_and_the_domains_own_address() {
    let rules = json!([
        {"exact": "", "target": "https://e.org/home"},
        {"regex": "^/obo/(GO|CL)_1$", "on": "path", "target": "https://e.org/$1"},
        {"prefix": "/obo/a", "on": "path", "target": "https://e.org/a"},
    ]);
    for path in ["/obo", "/obo/"] {
        assert_eq!(location(&rules, path).as_deref(), Some("https://e.org/home"), "{path}");
    }
    assert_eq!(location(&rules, "/obo/CL_1").as_deref(), Some("https://e.org/CL"));
    assert_eq!(location(&rules, "//obo///a/b").as_deref(), Some("https://e.org/a/b"));
}

#[test]
fn every_fault_is_named_with_its_place() {
    let faults = program(&json!([
        {"exact": "a", "prefix": "b", "target": "https://e.org/"},
        {"exact": "/a", "target": "https://e.org/"},
        {"exact": "a"},
        {"exact": "a", "status": 200, "target": "https://e.org/"},
        {"exact": "a", "status": 410, "target": "https://e.org/"},
        {"exact": "a", "target": "https://e.org/", "colour": 1},
        {"exact": "a", "target": "https://e.org/", "conditions": [{"matches": "x"}]},
        7,
    ]))
    .expect_err("faults");
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/rules/0",
            "/rules/1/exact",
            "/rules/2/target",
            "/rules/3/status",
            "/rules/4/target",
            "/rules/5/colour",
            "/rules/6/conditions/0",
            "/rules/7"
        ]
    );
}

#[test]
fn what_cannot_be_compiled_is_refused_with_the_byte() {
    let detail = |rule: Value| program(&json!([rule])).expect_err("a fault").remove(0);
    let fault = detail(json!({"regex": "^a(b", "target": "https://e.org/"}));
    assert_eq!(
        (fault.pointer.as_str(), fault.detail.contains("at byte 3")),
        ("/rules/0/regex", true),
        "{fault:?}"
    );
    let fault = detail(json!({"regex": "a(?!b)", "target": "https://e.org/"}));
    assert!(fault.detail.contains("look-around") && fault.detail.contains("at byte 2"), "{fault:?}");
    let fault = detail(json!({"regex": "(a{1000}){1000}", "target": "https://e.org/"}));
    assert!(fault.detail.contains("too large"), "{fault:?}");
    for target in
        ["https://$1.org/", "$1", "https://e.org/$2", "javascript:$1", "https://purl.example/$1", "//$1"]
    {
        let fault = detail(json!({"regex": "^(a)$", "target": target}));
        assert_eq!(fault.pointer, "/rules/0/target", "{target}");
    }
    for target in ["", "//e.org/", "javascript:alert(1)", "https://purl.example/"] {
        let fault = detail(json!({"prefix": "a", "target": target}));
        assert_eq!(fault.pointer, "/rules/0/target", "{target}");
    }
}

#[test]
fn an_expression_that_others_are_slow_at_is_not() {
    let rules = json!([{"regex": "^(a+)+$", "target": "https://e.org/"}]);
    let program = program(&rules).expect("good rules");
    let path = format!("/obo/{}!", "a".repeat(10_000));
    let request = Request { path: &path, query: None, header: &|_| Vec::new() };
    let begun = std::time::Instant::now();
    assert_eq!(program.answer(&request, QueryPolicy::Forward), None);
    assert!(begun.elapsed() < std::time::Duration::from_millis(100), "{:?}", begun.elapsed());
}
