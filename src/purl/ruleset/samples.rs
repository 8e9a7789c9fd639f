//! Requests that rules are about: for each pattern a path that meets it, and headers that meet its conditions. They show what a
//! change of rules does to answers, without being all that could be asked.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{Pattern, PatternKind, Rule, Scope, Variable};
use crate::purl::domain_path::DomainPath;
use crate::purl::raw_path;

/// Longest text made of an expression, in bytes.
const MAX_BYTES: usize = 256;
/// Most alternatives of an expression that are tried.
const MAX_ALTERNATIVES: usize = 4;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sample {
    /// The path as it is sent.
    pub path: String,
    /// The query as it is sent.
    pub query: Option<String>,
    /// Headers by name in lower case.
    pub headers: Vec<(String, String)>,
}

/// Requests that the rules of the domain at `domain` are about, those of the first rules first.
pub fn of<'r>(rules: impl IntoIterator<Item = &'r Rule>, domain: &DomainPath) -> Vec<Sample> {
    let mut samples = Vec::new();
    for rule in rules {
        let (headers, query) = asked_for(rule);
        for path in paths(&rule.pattern, domain) {
            samples.push(Sample { path: path.clone(), query: None, headers: Vec::new() });
            if !headers.is_empty() || query.is_some() {
                samples.push(Sample { path, query: query.clone(), headers: headers.clone() });
            }
        }
    }
    samples
}

/// Paths that meet a pattern, as they are sent.
fn paths(pattern: &Pattern, domain: &DomainPath) -> Vec<String> {
    let before = match pattern.on {
        Scope::Path => String::new(),
        Scope::Name if domain.is_root() => "/".to_owned(),
        Scope::Name => format!("/{domain}/"),
    };
    let texts = match pattern.kind {
        PatternKind::Exact => vec![pattern.text.clone()],
        PatternKind::Prefix => vec![pattern.text.clone(), format!("{}sample/tail", pattern.text)],
        PatternKind::Regex => texts(&pattern.text),
    };
    texts.into_iter().map(|text| encoded(&format!("{before}{text}"))).collect()
}

/// A path as it is sent, with its leading slash.
fn encoded(path: &str) -> String {
    format!("/{}", raw_path::encode(path.trim_start_matches('/')))
}

/// Headers and a query that meet those conditions of a rule that ask for something.
fn asked_for(rule: &Rule) -> (Vec<(String, String)>, Option<String>) {
    let (mut headers, mut query) = (Vec::new(), None);
    for condition in rule.conditions.iter().filter_map(|any| any.first()).filter(|condition| !condition.not) {
        let Some(text) = texts(&condition.regex).into_iter().next().filter(|text| text.is_ascii()) else {
            continue;
        };
        match &condition.of {
            Variable::Header(name) => headers.push((name.clone(), text)),
            Variable::Query => query = Some(raw_path::encode(&text)),
            _ => {}
        }
    }
    headers.sort();
    headers.dedup_by(|later, first| later.0 == first.0);
    (headers, query)
}

/// A few texts that an expression finds; none where it is too much.
fn texts(expression: &str) -> Vec<String> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let Ok(parsed) = parser.parse(expression) else { return Vec::new() };
    let written = write(&parsed);
    written
        .into_iter()
        .filter(|bytes| bytes.len() <= MAX_BYTES)
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect()
}

/// One text for each of the first alternatives on the way.
fn write(expression: &Hir) -> Vec<Vec<u8>> {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Literal(literal) => vec![literal.0.to_vec()],
        HirKind::Class(class) => member(class).into_iter().collect(),
        HirKind::Capture(capture) => write(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = usize::try_from(repetition.min.max(1)).unwrap_or(usize::MAX).min(MAX_BYTES + 1);
            write(&repetition.sub).into_iter().map(|once| once.repeat(times)).collect()
        }
        HirKind::Alternation(parts) => {
            parts.iter().take(MAX_ALTERNATIVES).flat_map(write).take(MAX_ALTERNATIVES).collect()
        }
        HirKind::Concat(parts) => {
            let mut texts = vec![Vec::new()];
            for part in parts {
                let ends = write(part);
                texts = texts
                    .iter()
                    .flat_map(|text: &Vec<u8>| ends.iter().map(move |end| [text.as_slice(), end].concat()))
                    .filter(|text| text.len() <= MAX_BYTES)
                    .take(MAX_ALTERNATIVES)
                    .collect();
            }
            texts
        }
    }
}

/// A character of a class, a letter or a digit where it has one.
fn member(class: &Class) -> Option<Vec<u8>> {
    let good = |byte: &u8| byte.is_ascii_alphanumeric();
    match class {
        Class::Bytes(class) => {
            let all = || class.ranges().iter().flat_map(|range| range.start()..=range.end());
            all()
                .find(good)
                .or_else(|| all().find(u8::is_ascii_graphic))
                .or_else(|| all().next())
                .map(|byte| vec![byte])
        }
        Class::Unicode(class) => {
            let first = class.ranges().iter().flat_map(|range| range.start()..=range.end()).take(512);
            let found = first.clone().find(char::is_ascii_alphanumeric).or_else(|| first.clone().next())?;
            Some(found.to_string().into_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::purl::model::QueryPolicy;
    use crate::purl::ruleset::{Outcome, Program, Request, read};

    #[test]
    fn each_pattern_has_a_path_that_meets_it_and_conditions_are_met() {
        let rules = json!({"rules": [
            {"exact": "a b", "target": "https://e.org/"},
            {"prefix": "p/", "target": "https://e.org/"},
            {"regex": "^([A-Z]{2,}|x)_(\\d+)(/.*)?$", "target": "https://e.org/"},
            {"regex": "^c$", "target": "https://e.org/", "conditions": [
                {"header": "accept", "matches": "text/(turtle|n3)"}, {"of": "query", "matches": "^id=[0-9]"}]},
        ]});
        let rules = read(&rules).expect("rules");
        let domain = DomainPath::parse("d").expect("a path");
        let samples: Vec<(String, Option<String>)> =
            of(&rules, &domain).into_iter().map(|sample| (sample.path, sample.query)).collect();
        let expected = ["/d/a%20b", "/d/p/", "/d/p/sample/tail", "/d/AA_0/0", "/d/x_0/0", "/d/c"];
        let paths: Vec<&str> = samples.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths[..6], expected);
        assert_eq!(samples[6], ("/d/c".to_owned(), Some("id=0".to_owned())));
        let program = Program::compile(rules.clone(), &domain, None).expect("they compile");
        for (place, rule) in rules.iter().enumerate() {
            let met = of([rule], &domain).iter().any(|sample| {
                let header = |name: &str| {
                    let found = sample.headers.iter().find(|(known, _)| known == name);
                    found.map_or(Vec::new(), |(_, value)| value.clone().into_bytes())
                };
                let request = Request { path: &sample.path, query: sample.query.as_deref(), header: &header };
                let outcome = program.answer(&request, QueryPolicy::Forward);
                outcome.and_then(Outcome::answer).is_some_and(|answer| answer.rule == place)
            });
            assert!(met, "{rule:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_of_an_expression_is_found_by_it(expression in "(([a-c]|[.]|\\[a-f0-9\\]|\\\\d|\\(x\\|y\\))[*+?]?){0,6}") {
            let regex = regex::bytes::Regex::new(&format!("(?-u)^(?:{expression})$")).expect("an expression");
            for text in texts(&expression) {
                prop_assert!(regex.is_match(text.as_bytes()), "{} {}", expression, text);
            }
        }
    }
}
