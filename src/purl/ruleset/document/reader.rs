//! Reads one rule of the document, and notes everything that is wrong with it.

use serde_json::{Map, Value};

use super::{unknown, word};
use crate::purl::model::{QueryPolicy, Status};
use crate::purl::ruleset::{
    Action, Fault, MAX_PATTERN_BYTES, Origin, Pattern, PatternKind, REFUSALS, Rule, Scope,
};

/// Reads one object of the document, and notes what is wrong with it.
pub(super) struct Reader<'f> {
    at: String,
    faults: &'f mut Vec<Fault>,
}

impl<'f> Reader<'f> {
    /// A reader of the object at this JSON pointer.
    pub fn at(at: String, faults: &'f mut Vec<Fault>) -> Self {
        Self { at, faults }
    }

    /// A reader of an object inside.
    pub fn inside(&mut self, field: &str) -> Reader<'_> {
        Reader { at: format!("{}{field}", self.at), faults: self.faults }
    }

    /// Notes fields that are none.
    pub fn only(&mut self, fields: &Map<String, Value>, known: &[&str]) {
        self.faults.extend(unknown(fields, &self.at, known));
    }

    pub fn fault(&mut self, field: &str, detail: impl Into<String>) {
        self.faults.push(Fault::new(format!("{}{field}", self.at), detail));
    }

    /// A rule.
    pub fn rule(&mut self, value: &Value) -> Option<Rule> {
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
            "rewrite",
            "leave",
            "go_on",
            "untouched",
            "raw_captures",
            "query",
            "origin",
        ];
        self.only(fields, &known);
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
        let go_on = self.flag(fields, "go_on");
        if go_on == Some(true) && matches!(action, Some(Action::Refuse(_) | Action::Leave)) {
            self.fault("/go_on", "belongs to rules with a target or a rewrite");
        }
        let untouched = self.flag(fields, "untouched");
        let raw_captures = self.flag(fields, "raw_captures");
        if raw_captures == Some(true) && !matches!(action, None | Some(Action::Redirect(..))) {
            self.fault("/raw_captures", "belongs to rules with a target");
        }
        let origin = fields.get("origin").map(|value| self.origin(value));
        Some(Rule {
            pattern: pattern?,
            conditions: conditions?,
            action: action?,
            go_on: go_on?,
            untouched: untouched?,
            raw_captures: raw_captures?,
            query: query.map_or(Some(None), |query| query.map(Some))?,
            origin: origin.map_or(Some(None), |origin| origin.map(Some))?,
        })
    }

    pub fn object<'v>(&mut self, value: &'v Value) -> Option<&'v Map<String, Value>> {
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

    fn action(&mut self, fields: &Map<String, Value>) -> Option<Action> {
        let leave = self.flag(fields, "leave")?;
        let rewrite = fields.contains_key("rewrite");
        if !leave && !rewrite {
            return self.answer(fields);
        }
        for other in ["status", "target"].into_iter().chain(leave.then_some("rewrite")) {
            if fields.contains_key(other) {
                let detail = format!("does not go with `{}`", if leave { "leave" } else { "rewrite" });
                self.fault(&format!("/{other}"), detail);
                return None;
            }
        }
        match fields.get("rewrite") {
            Some(value) => Some(Action::Rewrite(self.text("/rewrite", value)?)),
            None => Some(Action::Leave),
        }
    }

    fn answer(&mut self, fields: &Map<String, Value>) -> Option<Action> {
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
                let refusals = REFUSALS.map(|status| status.to_string()).join(", ");
                self.fault(
                    "/status",
                    format!("must be one of 301, 302, 303, 307, 308 (redirects), {refusals}"),
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

    pub fn text(&mut self, field: &str, value: &Value) -> Option<String> {
        let text = value.as_str().filter(|text| !text.chars().any(char::is_control));
        if text.is_none() {
            self.fault(field, "must be a text without control characters");
        }
        text.map(str::to_owned)
    }

    pub fn flag(&mut self, fields: &Map<String, Value>, name: &str) -> Option<bool> {
        let flag = fields.get(name).map_or(Some(false), Value::as_bool);
        if flag.is_none() {
            self.fault(&format!("/{name}"), "must be true or false");
        }
        flag
    }
}
