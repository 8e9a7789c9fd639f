//! Conditions of a rule in the document: each one of its own, or several of which one must hold.

use serde_json::{Map, Value};

use super::reader::Reader;
use crate::purl::ruleset::{Condition, MAX_CONDITIONS, MAX_PATTERN_BYTES, Variable};

/// What `of` may say.
pub(super) const PARTS: [(&str, Variable); 5] = [
    ("query", Variable::Query),
    ("path", Variable::Path),
    ("name", Variable::Name),
    ("method", Variable::Method),
    ("request_line", Variable::RequestLine),
];

impl Reader<'_> {
    /// The conditions of a rule.
    pub fn conditions(&mut self, fields: &Map<String, Value>) -> Option<Vec<Vec<Condition>>> {
        let Some(value) = fields.get("conditions") else { return Some(Vec::new()) };
        let Some(values) = value.as_array() else {
            self.fault("/conditions", "must be an array of conditions");
            return None;
        };
        let count: usize = values.iter().map(|value| value["any"].as_array().map_or(1, Vec::len)).sum();
        if count > MAX_CONDITIONS {
            self.fault("/conditions", format!("are {count}; at most {MAX_CONDITIONS} are allowed"));
            return None;
        }
        let read: Vec<Option<Vec<Condition>>> = values
            .iter()
            .enumerate()
            .map(|(place, value)| self.inside(&format!("/conditions/{place}")).alternatives(value))
            .collect();
        read.into_iter().collect()
    }

    fn alternatives(&mut self, value: &Value) -> Option<Vec<Condition>> {
        let Some(any) = value.get("any") else { return Some(vec![self.condition(value)?]) };
        let fields = self.object(value)?;
        self.only(fields, &["any"]);
        let Some(values) = any.as_array().filter(|values| !values.is_empty()) else {
            self.fault("/any", "must be an array of at least one condition");
            return None;
        };
        let read: Vec<Option<Condition>> = values
            .iter()
            .enumerate()
            .map(|(place, value)| self.inside(&format!("/any/{place}")).condition(value))
            .collect();
        read.into_iter().collect()
    }

    fn condition(&mut self, value: &Value) -> Option<Condition> {
        let fields = self.object(value)?;
        self.only(fields, &["header", "of", "text", "matches", "ignore_case", "not"]);
        let of = self.variable(fields)?;
        let Some(value) = fields.get("matches") else {
            self.fault("/matches", "is missing");
            return None;
        };
        let regex = self.text("/matches", value)?;
        if regex.len() > MAX_PATTERN_BYTES {
            let detail = format!("has {} bytes; at most {MAX_PATTERN_BYTES} are allowed", regex.len());
            self.fault("/matches", detail);
            return None;
        }
        Some(Condition {
            of,
            regex,
            ignore_case: self.flag(fields, "ignore_case")?,
            not: self.flag(fields, "not")?,
        })
    }

    fn variable(&mut self, fields: &Map<String, Value>) -> Option<Variable> {
        let given = ["header", "of", "text"].map(|name| fields.get(name).map(Value::as_str));
        let part = |word: &str| PARTS.iter().find(|(known, _)| *known == word).map(|(_, part)| part.clone());
        let found = match given {
            [Some(Some(name)), None, None] if http::HeaderName::from_bytes(name.as_bytes()).is_ok() => {
                Some(Variable::Header(name.to_ascii_lowercase()))
            }
            [None, Some(Some(word)), None] => part(word),
            [None, None, Some(Some(text))] => Some(Variable::Text(text.to_owned())),
            _ => None,
        };
        if found.is_none() {
            let parts = PARTS.map(|(word, _)| word).join(", ");
            self.fault(
                "",
                format!("must have one of `header`, the name of one; `of`, one of {parts}; `text`"),
            );
        }
        found
    }
}
