//! What holds for whatever rules and requests.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn arbitrary_rules() -> impl Strategy<Value = Vec<Rule>> {
    let kind = prop_oneof![Just(PatternKind::Exact), Just(PatternKind::Prefix), Just(PatternKind::Regex)];
    let of = prop_oneof![
        "[a-z-]{1,8}".prop_map(Variable::Header),
        prop_oneof![
            Just(Variable::Query),
            Just(Variable::Path),
            Just(Variable::Name),
            Just(Variable::Method),
            Just(Variable::RequestLine)
        ],
        "([a-z]{0,3}[$][0-9{}c]{0,4}){0,3}".prop_map(Variable::Text),
    ];
    let flag = any::<bool>;
    let condition = (of, "[a-z.*/]{0,6}", flag(), flag())
        .prop_map(|(of, regex, ignore_case, not)| Condition { of, regex, ignore_case, not });
    let action = prop_oneof![
        (prop_oneof![Just(301), Just(302), Just(303), Just(307), Just(308)], "[a-z/$0-9?#]{0,9}").prop_map(
            |(status, rest)| Action::Redirect(
                Status::parse(status).expect("a redirect"),
                format!("https://e.org/{rest}")
            )
        ),
        proptest::sample::select(REFUSALS.as_slice()).prop_map(Action::Refuse),
        "/[a-z/$0-9?]{0,9}".prop_map(Action::Rewrite),
        Just(Action::Leave),
    ];
    let query = proptest::option::of(prop_oneof![
        Just(QueryPolicy::Drop),
        Just(QueryPolicy::Forward),
        Just(QueryPolicy::Merge)
    ]);
    let origin = proptest::option::of(("[a-z.]{1,6}", "[a-z]{1,6}", "[A-Z]{0,4}"))
        .prop_map(|origin| origin.map(|(file, part, key)| Origin { file, part, key }));
    let rule = (
        kind,
        "[a-zA-Z%. /]{0,6}",
        flag(),
        flag(),
        proptest::collection::vec(proptest::collection::vec(condition, 1..3), 0..3),
        (action, flag()),
        query,
        origin,
    )
        .prop_map(|(kind, text, whole, ignore_case, conditions, (action, go_on), query, origin)| {
            let on = if whole { Scope::Path } else { Scope::Name };
            let text = text.trim_start_matches('/');
            let text = if whole { format!("/{text}") } else { text.to_owned() };
            let merge_tail = ignore_case && kind == PatternKind::Prefix;
            Rule {
                pattern: Pattern { kind, text, on, ignore_case, merge_tail },
                conditions,
                go_on: go_on && matches!(action, Action::Redirect(..) | Action::Rewrite(_)),
                untouched: ignore_case,
                raw_captures: go_on && matches!(action, Action::Redirect(..)),
                action,
                query,
                origin,
            }
        });
    proptest::collection::vec(rule, 0..8)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rules in arbitrary_rules()) {
        prop_assert_eq!(read(&write(&rules)), Ok(rules));
    }

    /// The index and the sets find what trying each rule would find.
    #[test]
    fn the_first_rule_that_holds_answers(mut rules in arbitrary_rules(), path in "(/|/obo/?[a-zA-Z%./]{0,6}|(/[ -~]{0,4}){0,4})") {
        let domain = DomainPath::parse("obo").expect("a domain");
        let own = OwnAddress::new("https://purl.example");
        // Each by itself says what it answers where none of them leaves something to others.
        rules.retain(|rule| !rule.go_on && rule.action != Action::Leave);
        let Ok(all) = Program::compile(rules.clone(), &domain, Some(&own)) else { return Ok(()) };
        let request = Request { path: &path, query: Some("q"), header: &|_| Vec::new() };
        let found = all.answer(&request, QueryPolicy::Drop);
        let one_by_one = rules.into_iter().enumerate().find_map(|(place, rule)| {
            let alone = Program::compile(vec![rule], &domain, Some(&own)).expect("it compiled with others");
            Some((place, alone.answer(&request, QueryPolicy::Drop)?))
        });
        let told = |outcome: Outcome| match outcome {
            Outcome::Answered(answer) => (answer.status, answer.location),
            Outcome::Again(again) => (0, Some(again.path)),
        };
        prop_assert_eq!(found.map(told), one_by_one.map(|(_, outcome)| told(outcome)));
    }

    #[test]
    fn whatever_is_asked_no_location_leaves_its_host_or_has_a_control_character(
        path in "/obo/(\\PC|[\\x00-\\x7f]|%[0-9a-f]{2}){0,30}",
        query in proptest::option::of("(\\PC|[\\x00-\\x7f]){0,20}"),
        raw_captures: bool, go_on: bool,
    ) {
        let rules = json!([
            {"regex": "^h(.*)/(.*)$", "target": "https://$1.e.org/$2", "raw_captures": raw_captures},
            {"regex": "^o(.*)$", "target": "/$1", "raw_captures": raw_captures, "go_on": go_on},
            {"regex": "^w(.*)$", "rewrite": "/$1?$1", "go_on": go_on},
            {"prefix": "a", "target": "https://e.org"},
            {"regex": "^(.)(.*)$", "target": "https://e.org/$2$1?${name}${request_line}", "raw_captures": raw_captures},
            {"prefix": "", "target": "https://e.org/x"},
        ]);
        let program = program(&rules).expect("good rules");
        let request = Request { path: &path, query: query.as_deref(), header: &|_| Vec::new() };
        let location = match program.answer(&request, QueryPolicy::Forward) {
            Some(Outcome::Answered(answer)) => answer.location,
            Some(Outcome::Again(again)) => Some(again.path),
            None => None,
        };
        if let Some(location) = location {
            prop_assert!(location.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{}", location);
            prop_assert!(raw_captures || !location.contains(' '), "{}", location);
            prop_assert!(!location.starts_with("//") && !location.starts_with("/\\"), "{}", location);
            if !location.starts_with('/') {
                let url = url::Url::parse(&location).expect("an address");
                let host = url.host_str().unwrap_or_default();
                prop_assert!(host == "e.org" || host.ends_with(".e.org"), "{}", location);
                prop_assert_eq!(url.username(), "");
                prop_assert_eq!(url.port(), None);
            }
        }
    }

    #[test]
    fn no_rules_and_no_request_make_it_panic_or_lead_to_another_server(
        rules in arbitrary_rules(),
        path in "/(obo/?)?(\\PC|[\\x00-\\x7f]|%[0-9a-f]{2}|/|[.]){0,12}",
        query in proptest::option::of("\\PC{0,6}"),
    ) {
        let domain = DomainPath::parse("obo").expect("a domain");
        let Ok(program) = Program::compile(rules, &domain, Some(&OwnAddress::new("https://purl.example"))) else {
            return Ok(());
        };
        let request = Request { path: &path, query: query.as_deref(), header: &|_| b"text/html".to_vec() };
        match program.answer(&request, QueryPolicy::Merge) {
            Some(Outcome::Answered(Answer { location: Some(location), .. })) => {
                prop_assert!(location.bytes().all(|byte| !byte.is_ascii_control()), "{}", location);
                prop_assert!(location.starts_with("https://e.org"), "{}", location);
            }
            Some(Outcome::Again(again)) => {
                prop_assert!(again.path.starts_with('/') && !again.path.starts_with("//"), "{}", again.path);
            }
            _ => {}
        }
    }
}
