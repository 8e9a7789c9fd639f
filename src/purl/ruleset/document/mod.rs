//! Rules as a document: `{"rules": [{"prefix": "releases/", "target": "https://example.org/"}]}`. Reading is strict, and
//! names every fault; what was written is read back as it was.

mod conditions;
mod reader;

use serde_json::{Map, Value, json};

use self::reader::Reader;
use super::{Action, Condition, Fault, MAX_RULES, Origin, Pattern, PatternKind, Rule, Scope, Variable};

/// Reads rules. Every fault at once. Patterns and targets are not judged here but by
/// [`Program::compile`](super::Program::compile).
pub fn read(document: &Value) -> Result<Vec<Rule>, Vec<Fault>> {
    let Some(fields) = document.as_object() else {
        return Err(vec![Fault::new("", "must be an object with `rules`")]);
    };
    let mut faults = unknown(fields, "", &["rules"]);
    let Some(values) = fields.get("rules").and_then(Value::as_array) else {
        faults.push(Fault::new("/rules", "must be an array of rules"));
        return Err(faults);
    };
    if values.len() > MAX_RULES {
        faults.push(Fault::new(
            "/rules",
            format!("has {} rules; at most {MAX_RULES} are allowed", values.len()),
        ));
        return Err(faults);
    }
    let mut rules = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        rules.extend(Reader::at(format!("/rules/{place}"), &mut faults).rule(value));
    }
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

/// Writes rules; what is as usual is left out.
pub fn write<'r>(rules: impl IntoIterator<Item = &'r Rule>) -> Value {
    json!({ "rules": rules.into_iter().map(written).collect::<Vec<Value>>() })
}

fn written(rule: &Rule) -> Value {
    let Pattern { kind, text, on, ignore_case, merge_tail } = &rule.pattern;
    let mut fields = Map::new();
    fields.insert(word(*kind).to_owned(), text.as_str().into());
    if *on == Scope::Path {
        fields.insert("on".to_owned(), "path".into());
    }
    for (name, flag) in [("ignore_case", *ignore_case), ("merge_tail", *merge_tail)] {
        if flag {
            fields.insert(name.to_owned(), true.into());
        }
    }
    if !rule.conditions.is_empty() {
        let conditions: Vec<Value> = rule.conditions.iter().map(|any| written_alternatives(any)).collect();
        fields.insert("conditions".to_owned(), conditions.into());
    }
    match &rule.action {
        Action::Redirect(status, target) => {
            fields.insert("status".to_owned(), status.code().into());
            fields.insert("target".to_owned(), target.as_str().into());
        }
        Action::Refuse(status) => {
            fields.insert("status".to_owned(), (*status).into());
        }
        Action::Rewrite(path) => {
            fields.insert("rewrite".to_owned(), path.as_str().into());
        }
        Action::Leave => {
            fields.insert("leave".to_owned(), true.into());
        }
    }
    for (name, flag) in
        [("go_on", rule.go_on), ("untouched", rule.untouched), ("raw_captures", rule.raw_captures)]
    {
        if flag {
            fields.insert(name.to_owned(), true.into());
        }
    }
    if let Some(query) = rule.query {
        fields.insert("query".to_owned(), query.as_str().into());
    }
    if let Some(Origin { file, part, key }) = &rule.origin {
        fields.insert("origin".to_owned(), json!({"file": file, "part": part, "key": key}));
    }
    Value::Object(fields)
}

fn written_alternatives(alternatives: &[Condition]) -> Value {
    match alternatives {
        [condition] => written_condition(condition),
        _ => json!({ "any": alternatives.iter().map(written_condition).collect::<Vec<Value>>() }),
    }
}

fn written_condition(condition: &Condition) -> Value {
    let Condition { of, regex, ignore_case, not } = condition;
    let mut fields = Map::new();
    match of {
        Variable::Header(name) => fields.insert("header".to_owned(), name.as_str().into()),
        Variable::Text(text) => fields.insert("text".to_owned(), text.as_str().into()),
        other => {
            let word = conditions::PARTS.iter().find(|(_, part)| part == other).map(|(word, _)| *word);
            fields.insert("of".to_owned(), word.into())
        }
    };
    fields.insert("matches".to_owned(), regex.as_str().into());
    if *ignore_case {
        fields.insert("ignore_case".to_owned(), true.into());
    }
    if *not {
        fields.insert("not".to_owned(), true.into());
    }
    Value::Object(fields)
}

fn word(kind: PatternKind) -> &'static str {
    match kind {
        PatternKind::Exact => "exact",
        PatternKind::Prefix => "prefix",
        PatternKind::Regex => "regex",
    }
}

fn unknown(fields: &Map<String, Value>, at: &str, known: &[&str]) -> Vec<Fault> {
    let unknown = fields.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| Fault::new(format!("{at}/{}", escaped(key)), "is no known field")).collect()
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
