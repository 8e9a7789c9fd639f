//! Rules that can never answer, because one before them takes every path that they are about. What is found is certain; not
//! everything that is so is found: a rule with conditions takes nothing for certain, and of two expressions only equal ones are
//! compared, those that begin with a fixed text, and those that everything meets.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind, Look};

use super::{Pattern, PatternKind, Rule, Scope};
use crate::purl::domain_path::DomainPath;

/// Expressions that every path meets.
const EVERYTHING: [&str; 8] = ["", "^", ".*", "^.*", "^.*$", "(.*)", "^(.*)", "^(.*)$"];

/// Places of rules that can never answer, each with the place of one that takes what it is about.
pub fn find(rules: &[Rule], domain: &DomainPath) -> Vec<(usize, usize)> {
    let covers: Vec<Cover<'_>> = rules.iter().map(|rule| Cover::of(&rule.pattern, domain)).collect();
    let mut takers: Vec<usize> = Vec::new();
    let (mut found, mut goes_on) = (Vec::new(), false);
    for (place, rule) in rules.iter().enumerate() {
        let taker = takers.iter().find(|taker| covers[**taker].takes(&covers[place]));
        if let Some(taker) = taker {
            found.push((place, *taker));
        } else if rule.conditions.is_empty() && !rule.go_on && !(rule.untouched && goes_on) {
            takers.push(place);
        }
        // After such a rule others see another path than was sent: nothing is certain any more.
        if rule.go_on {
            goes_on = true;
            takers.clear();
        }
    }
    found
}

/// What is certain of the paths that meet a pattern.
struct Cover<'r> {
    pattern: &'r Pattern,
    /// The whole path, or its beginning, that all of them have.
    text: String,
}

impl<'r> Cover<'r> {
    fn of(pattern: &'r Pattern, domain: &DomainPath) -> Self {
        let before = match pattern.on {
            Scope::Path => String::new(),
            Scope::Name if domain.is_root() => "/".to_owned(),
            Scope::Name => format!("/{domain}/"),
        };
        let text = match pattern.kind {
            PatternKind::Regex if pattern.ignore_case => before,
            PatternKind::Regex => before + &beginning(&pattern.text),
            PatternKind::Exact | PatternKind::Prefix => before + &pattern.text,
        };
        Self { pattern, text }
    }

    /// Whether every path that meets `other` meets this one.
    fn takes(&self, other: &Cover<'_>) -> bool {
        let (own, theirs) = (self.pattern, other.pattern);
        match own.kind {
            PatternKind::Regex => {
                let everything = EVERYTHING.contains(&own.text.as_str());
                let whole = everything && (own.on == Scope::Path || theirs.on == Scope::Name);
                whole || (theirs.kind == PatternKind::Regex && own == theirs)
            }
            PatternKind::Exact => {
                theirs.kind == PatternKind::Exact && self.same(&other.text, theirs)
                    // The domain's own address is one more than its text says.
                    && (own.on == theirs.on || !own.text.is_empty() && !theirs.text.is_empty())
            }
            PatternKind::Prefix => {
                let beginning = other.text.get(..self.text.len());
                // The domain's own address is asked for without its slash, too, and then no prefix takes it.
                let own_address = theirs.on == Scope::Name
                    && theirs.kind != PatternKind::Prefix
                    && (theirs.kind == PatternKind::Regex || theirs.text.is_empty());
                beginning.is_some_and(|beginning| self.same(beginning, theirs))
                    && !(own_address && self.text.ends_with('/') && other.text.len() <= self.text.len())
            }
        }
    }

    fn same(&self, text: &str, of: &Pattern) -> bool {
        if self.pattern.ignore_case {
            self.text.eq_ignore_ascii_case(text)
        } else {
            !of.ignore_case && self.text == text
        }
    }
}

/// The text that everything begins with that an expression finds; it is bound to the beginning, or there is none.
fn beginning(expression: &str) -> String {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let Ok(parsed) = parser.parse(expression) else { return String::new() };
    let HirKind::Concat(parts) = parsed.kind() else { return String::new() };
    match parts.as_slice() {
        [first, second, ..] if *first.kind() == HirKind::Look(Look::Start) => literal(second),
        _ => String::new(),
    }
}

fn literal(part: &Hir) -> String {
    match part.kind() {
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::purl::model::QueryPolicy;
    use crate::purl::ruleset::{Outcome, Program, Request, read, samples};

    fn domain() -> DomainPath {
        DomainPath::parse("d").expect("a path")
    }

    fn found(rules: &Value) -> Vec<(usize, usize)> {
        find(&read(&json!({ "rules": rules })).expect("rules"), &domain())
    }

    fn to(mut rule: Value) -> Value {
        rule["target"] = "https://e.org/".into();
        rule
    }

    #[test]
    fn what_is_taken_before_can_never_answer() {
        let pairs = [
            (json!({"exact": "a"}), json!({"exact": "a"})),
            (json!({"exact": "A", "ignore_case": true}), json!({"exact": "a"})),
            (json!({"exact": "a"}), json!({"exact": "/d/a", "on": "path"})),
            (json!({"prefix": "a/"}), json!({"exact": "a/b"})),
            (json!({"prefix": "a/"}), json!({"prefix": "a/b"})),
            (json!({"prefix": "a/"}), json!({"regex": "^a/b(.*)$"})),
            (json!({"regex": "^(.*)$"}), json!({"exact": "x"})),
            (json!({"regex": "^(.*)$"}), json!({"regex": "x"})),
            (json!({"regex": "^a(.)$"}), json!({"regex": "^a(.)$"})),
        ];
        for (first, second) in pairs {
            assert_eq!(found(&json!([to(first.clone()), to(second.clone())])), [(1, 0)], "{first} {second}");
        }
    }

    #[test]
    fn what_may_answer_is_not_called_shadowed() {
        let condition = json!([{"header": "accept", "matches": "x"}]);
        let pairs = [
            (json!({"exact": "a"}), json!({"exact": "A", "ignore_case": true})),
            (json!({"prefix": "a/"}), json!({"exact": "a"})),
            (json!({"prefix": "a/b"}), json!({"prefix": "a/"})),
            (json!({"prefix": ""}), json!({"exact": ""})),
            (json!({"prefix": "a/"}), json!({"regex": "a/b"})),
            (json!({"prefix": "a/"}), json!({"regex": "^a/b", "ignore_case": true})),
            (json!({"regex": "^(.*)$"}), json!({"prefix": "/e", "on": "path"})),
            (json!({"regex": "^(.+)$"}), json!({"exact": ""})),
            (json!({"exact": "a", "conditions": condition}), json!({"exact": "a"})),
            (json!({"exact": "a", "go_on": true}), json!({"exact": "a"})),
        ];
        for (first, second) in pairs {
            assert_eq!(found(&json!([to(first.clone()), to(second.clone())])), [], "{first} {second}");
        }
    }

    proptest! {
        /// Of rules without conditions: whoever is called shadowed answers none of the requests that it is about.
        #[test]
        fn who_is_called_shadowed_never_answers(kinds in proptest::collection::vec((0..3, "[ab/]{0,3}", any::<bool>()), 1..8)) {
            let rules: Vec<Value> = kinds.iter().map(|(kind, text, ignore_case)| {
                let text = text.trim_start_matches('/');
                let mut rule = match kind {
                    0 => json!({"exact": text}),
                    1 => json!({"prefix": text}),
                    _ => json!({"regex": format!("^{text}")}),
                };
                rule["ignore_case"] = (*ignore_case).into();
                to(rule)
            }).collect();
            let rules = read(&json!({ "rules": rules })).expect("rules");
            let shadowed: Vec<usize> = find(&rules, &domain()).into_iter().map(|(place, _)| place).collect();
            let asked = samples::of(&rules, &domain()).into_iter().map(|sample| sample.path);
            let asked: Vec<String> = asked.chain(["/d".to_owned(), "/d/".to_owned(), "/d/A/B".to_owned()]).collect();
            let program = Program::compile(rules, &domain(), None).expect("they compile");
            for path in asked {
                let request = Request { path: &path, query: None, header: &|_| Vec::new() };
                let answer = program.answer(&request, QueryPolicy::Forward).and_then(Outcome::answer);
                prop_assert!(!answer.as_ref().is_some_and(|answer| shadowed.contains(&answer.rule)), "{} {:?}", path, answer);
            }
        }
    }
}
