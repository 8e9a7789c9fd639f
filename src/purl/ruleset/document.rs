//! Rules as a document: `{"rules": [{"prefix": "releases/", "target": "https://example.org/"}]}`. Reading is strict, and
//! names every fault; what was written is read back as it was.

use serde_json::{Map, Value, json};

use super::{
    Action, Condition, Fault, MAX_CONDITIONS, MAX_PATTERN_BYTES, MAX_RULES, Origin, Pattern, PatternKind,
    Rule, Scope, Variable,
};
use crate::purl::model::{QueryPolicy, Status};

/// Statuses that need no target.
const REFUSALS: [u16; 4] = [403, 404, 406, 410];

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
        let mut reader = Reader { at: format!("/rules/{place}"), faults: &mut faults };
        rules.extend(reader.rule(value));
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
        let conditions: Vec<Value> = rule.conditions.iter().map(written_condition).collect();
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
    }
    if let Some(query) = rule.query {
        fields.insert("query".to_owned(), query.as_str().into());
    }
    if let Some(Origin { file, part, key }) = &rule.origin {
        fields.insert("origin".to_owned(), json!({"file": file, "part": part, "key": key}));
    }
    Value::Object(fields)
}

fn written_condition(condition: &Condition) -> Value {
    let Condition { of, regex, ignore_case, not } = condition;
    let mut fields = Map::new();
    match of {
        Variable::Header(name) => fields.insert("header".to_owned(), name.as_str().into()),
        Variable::Query => fields.insert("of".to_owned(), "query".into()),
        Variable::Path => fields.insert("of".to_owned(), "path".into()),
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

/// Reads one object of the document, and notes what is wrong with it.
struct Reader<'f> {
    at: String,
    faults: &'f mut Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, field: &str, detail: impl Into<String>) {
        self.faults.push(Fault::new(format!("{}{field}", self.at), detail));
    }

    fn rule(&mut self, value: &Value) -> Option<Rule> {
        let fields = self.object(value)?;
        let known = [
            "exact",
            "prefix",
            "regex",
            "on",
            "ignore_case",
            "merge_tail",
            "conditions",
            "status",
            "target",
            "query",
            "origin",
        ];
        let faults = unknown(fields, &self.at, &known);
        self.faults.extend(faults);
        let pattern = self.pattern(fields);
        let conditions = self.conditions(fields);
        let query = fields.get("query").map(|value| {
            let policy = value.as_str().and_then(|word| QueryPolicy::parse(word).ok());
            if policy.is_none() {
                self.fault("/query", "must be one of drop, forward, merge");
            }
            policy
        });
        let action = self.action(fields);
        let origin = fields.get("origin").map(|value| self.origin(value));
        Some(Rule {
            pattern: pattern?,
            conditions: conditions?,
            action: action?,
            query: query.map_or(Some(None), |query| query.map(Some))?,
            origin: origin.map_or(Some(None), |origin| origin.map(Some))?,
        })
    }

    fn object<'v>(&mut self, value: &'v Value) -> Option<&'v Map<String, Value>> {
        let fields = value.as_object();
        if fields.is_none() {
            self.fault("", "must be an object");
        }
        fields
    }

    fn pattern(&mut self, fields: &Map<String, Value>) -> Option<Pattern> {
        let kinds = [PatternKind::Exact, PatternKind::Prefix, PatternKind::Regex];
        let mut given = kinds.into_iter().filter_map(|kind| Some((kind, fields.get(word(kind))?)));
        let (Some((kind, value)), None) = (given.next(), given.next()) else {
            self.fault("", "must have exactly one of exact, prefix, regex");
            return None;
        };
        let text = self.text(&format!("/{}", word(kind)), value)?;
        if text.len() > MAX_PATTERN_BYTES {
            let detail = format!("has {} bytes; at most {MAX_PATTERN_BYTES} are allowed", text.len());
            self.fault(&format!("/{}", word(kind)), detail);
            return None;
        }
        let on = match fields.get("on").map(Value::as_str) {
            None | Some(Some("name")) => Scope::Name,
            Some(Some("path")) => Scope::Path,
            Some(_) => {
                self.fault("/on", "must be one of name, path");
                return None;
            }
        };
        if kind != PatternKind::Regex && text.starts_with('/') != (on == Scope::Path) {
            let detail = match on {
                Scope::Path => "must begin with a slash: it is compared with the whole path",
                Scope::Name => {
                    "must not begin with a slash: it is compared with what follows the domain's slash"
                }
            };
            self.fault(&format!("/{}", word(kind)), detail);
            return None;
        }
        let ignore_case = self.flag(fields, "ignore_case")?;
        let merge_tail = self.flag(fields, "merge_tail")?;
        if merge_tail && kind != PatternKind::Prefix {
            self.fault("/merge_tail", "belongs to prefixes only");
            return None;
        }
        Some(Pattern { kind, text, on, ignore_case, merge_tail })
    }

    fn conditions(&mut self, fields: &Map<String, Value>) -> Option<Vec<Condition>> {
        let Some(value) = fields.get("conditions") else { return Some(Vec::new()) };
        let Some(values) = value.as_array().filter(|values| values.len() <= MAX_CONDITIONS) else {
            self.fault("/conditions", format!("must be an array of at most {MAX_CONDITIONS} conditions"));
            return None;
        };
        let mut conditions = Vec::with_capacity(values.len());
        for (place, value) in values.iter().enumerate() {
            let at = format!("{}/conditions/{place}", self.at);
            conditions.push(Reader { at, faults: self.faults }.condition(value));
        }
        conditions.into_iter().collect()
    }

    fn condition(&mut self, value: &Value) -> Option<Condition> {
        let fields = self.object(value)?;
        let faults = unknown(fields, &self.at, &["header", "of", "matches", "ignore_case", "not"]);
        self.faults.extend(faults);
        let of = match (fields.get("header").map(Value::as_str), fields.get("of").map(Value::as_str)) {
            (Some(Some(name)), None) if http::HeaderName::from_bytes(name.as_bytes()).is_ok() => {
                Variable::Header(name.to_ascii_lowercase())
            }
            (None, Some(Some("query"))) => Variable::Query,
            (None, Some(Some("path"))) => Variable::Path,
            _ => {
                self.fault("", "must have either `header`, the name of one, or `of`, which is query or path");
                return None;
            }
        };
        let Some(value) = fields.get("matches") else {
            self.fault("/matches", "is missing");
            return None;
        };
        let regex = self.text("/matches", value)?;
        if regex.len() > MAX_PATTERN_BYTES {
            self.fault(
                "/matches",
                format!("has {} bytes; at most {MAX_PATTERN_BYTES} are allowed", regex.len()),
            );
            return None;
        }
        Some(Condition {
            of,
            regex,
            ignore_case: self.flag(fields, "ignore_case")?,
            not: self.flag(fields, "not")?,
        })
    }

    fn action(&mut self, fields: &Map<String, Value>) -> Option<Action> {
        let number = fields.get("status").map_or(Some(302), Value::as_u64);
        let refusal =
            number.and_then(|number| u16::try_from(number).ok()).filter(|number| REFUSALS.contains(number));
        let status = number.and_then(|number| Status::parse(i64::try_from(number).ok()?).ok());
        let target = match fields.get("target") {
            Some(value) => Some(self.text("/target", value)?),
            None => None,
        };
        match (refusal, status.filter(|status| status.is_redirect()), target) {
            (Some(status), _, None) => Some(Action::Refuse(status)),
            (Some(_), _, Some(_)) => {
                self.fault("/target", "belongs to redirects only");
                None
            }
            (None, Some(status), Some(target)) => Some(Action::Redirect(status, target)),
            (None, Some(_), None) => {
                self.fault("/target", "is missing");
                None
            }
            (None, None, _) => {
                self.fault(
                    "/status",
                    "must be one of 301, 302, 303, 307, 308 (redirects), 403, 404, 406, 410",
                );
                None
            }
        }
    }

    fn origin(&mut self, value: &Value) -> Option<Origin> {
        let fields = value.as_object();
        let part = |name: &str| Some(fields?.get(name)?.as_str()?.to_owned());
        let origin = part("file").zip(part("part")).zip(part("key"));
        if origin.is_none() {
            self.fault("/origin", "must be an object with the texts file, part and key");
        }
        origin.map(|((file, part), key)| Origin { file, part, key })
    }

    fn text(&mut self, field: &str, value: &Value) -> Option<String> {
        let text = value.as_str().filter(|text| !text.chars().any(char::is_control));
        if text.is_none() {
            self.fault(field, "must be a text without control characters");
        }
        text.map(str::to_owned)
    }

    fn flag(&mut self, fields: &Map<String, Value>, name: &str) -> Option<bool> {
        let flag = fields.get(name).map_or(Some(false), Value::as_bool);
        if flag.is_none() {
            self.fault(&format!("/{name}"), "must be true or false");
        }
        flag
    }
}
