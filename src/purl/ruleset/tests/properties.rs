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
    ) {
        let rules = json!([
            {"prefix": "a", "target": "https://e.org"},
            {"regex": "^(.)(.*)$", "target": "https://e.org/$2$1"},
            {"prefix": "", "target": "https://e.org/x"},
        ]);
        if let Some(location) = answer_with(&rules, &path, query.as_deref(), &[]).and_then(|answer| answer.location) {
            prop_assert!(location.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{}", location);
            let rest = location.strip_prefix("https://e.org").expect("the host");
            prop_assert!(rest.is_empty() || rest.starts_with(['/', '?', '#']), "{}", location);
        }
    }
}
