//! Checks: answers that the owner of a domain states, kept with it and asked again before a change is let through. Pure: the
//! document and what counts as kept; they are asked by `judge`.

use serde_json::{Map, Value, json};

use super::domain_path::DomainPath;
use super::model::Status;
use super::ruleset::{Fault, REFUSALS};

/// Most checks of a domain.
pub const MAX_CHECKS: usize = 20_000;
/// Most headers of a check.
const MAX_HEADERS: usize = 20;
/// Longest path, address or header value, in bytes.
const MAX_BYTES: usize = 8_192;

/// An answer that is stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is asked for: a path with its leading slash and, it may be, a query, as they are sent.
    pub from: String,
    /// Headers of the request, by name in lower case.
    pub headers: Vec<(String, String)>,
    /// The status; none: any redirect.
    pub status: Option<u16>,
    /// Where it leads, byte for byte; none: that is not stated.
    pub to: Option<String>,
    /// The file that an import found it in.
    pub origin: Option<String>,
}

/// What a request is answered, as far as a check can state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The status.
    pub status: u16,
    /// Where it leads.
    pub location: Option<String>,
}

impl Check {
    /// The path and the query.
    pub fn asked(&self) -> (&str, Option<&str>) {
        match self.from.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&self.from, None),
        }
    }

    /// The value of a header; empty where it is not sent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Whether an answer is the one that is stated.
    pub fn is_kept(&self, given: &Given) -> bool {
        let status = self.status.map_or((300..400).contains(&given.status), |status| status == given.status);
        status && self.to.as_ref().is_none_or(|to| given.location.as_ref() == Some(to))
    }
}

/// Reads the checks of the domain at `path`. Every fault at once.
pub fn read(document: &Value, path: &DomainPath) -> Result<Vec<Check>, Vec<Fault>> {
    let fault = |pointer: &str, detail: String| Fault { pointer: pointer.to_owned(), detail };
    let Some(fields) = document.as_object() else {
        return Err(vec![fault("", "must be an object with `checks`".to_owned())]);
    };
    let mut faults = unknown(fields, "", &["checks"]);
    let Some(values) = fields.get("checks").and_then(Value::as_array) else {
        faults.push(fault("/checks", "must be an array of checks".to_owned()));
        return Err(faults);
    };
    if values.len() > MAX_CHECKS {
        faults
            .push(fault("/checks", format!("has {} checks; at most {MAX_CHECKS} are allowed", values.len())));
        return Err(faults);
    }
    let mut checks = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        let at = format!("/checks/{place}");
        match read_one(value, path, &at) {
            Ok(check) => checks.push(check),
            Err(mut found) => faults.append(&mut found),
        }
    }
    if faults.is_empty() { Ok(checks) } else { Err(faults) }
}

/// Writes checks; what is not stated is left out.
pub fn write(checks: &[Check]) -> Value {
    json!({ "checks": checks.iter().map(written).collect::<Vec<Value>>() })
}

/// One check as the document has it.
pub fn written(check: &Check) -> Value {
    let mut fields = Map::new();
    fields.insert("from".to_owned(), check.from.as_str().into());
    if !check.headers.is_empty() {
        let headers: Map<String, Value> =
            check.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        fields.insert("headers".to_owned(), headers.into());
    }
    if let Some(status) = check.status {
        fields.insert("status".to_owned(), status.into());
    }
    if let Some(to) = &check.to {
        fields.insert("to".to_owned(), to.as_str().into());
    }
    if let Some(origin) = &check.origin {
        fields.insert("origin".to_owned(), origin.as_str().into());
    }
    Value::Object(fields)
}

fn unknown(fields: &Map<String, Value>, at: &str, known: &[&str]) -> Vec<Fault> {
    let unknown = fields.keys().filter(|key| !known.contains(&key.as_str()));
    let pointer = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    unknown.map(|key| Fault { pointer: pointer(key), detail: "is no known field".to_owned() }).collect()
}

fn read_one(value: &Value, path: &DomainPath, at: &str) -> Result<Check, Vec<Fault>> {
    let fault =
        |field: &str, detail: &str| Fault { pointer: format!("{at}{field}"), detail: detail.to_owned() };
    let Some(fields) = value.as_object() else { return Err(vec![fault("", "must be an object")]) };
    let mut faults = unknown(fields, at, &["from", "headers", "status", "to", "origin"]);
    let from = fields.get("from").and_then(Value::as_str).filter(|from| is_line(from)).map(str::to_owned);
    let inside = if path.is_root() { "/".to_owned() } else { format!("/{path}") };
    if !from.as_ref().is_some_and(|from| is_in(from, &inside)) {
        faults.push(fault(
            "/from",
            &format!("must be a path in this domain: {inside} or below, as it is sent"),
        ));
    }
    let headers = match fields.get("headers") {
        None => Some(Vec::new()),
        Some(value) => value.as_object().filter(|found| found.len() <= MAX_HEADERS).and_then(|found| {
            let header = |(name, value): (&String, &Value)| {
                let name = http::HeaderName::from_bytes(name.as_bytes()).ok()?;
                let value = value.as_str().filter(|value| is_line(value))?;
                Some((name.as_str().to_owned(), value.to_owned()))
            };
            found.iter().map(header).collect()
        }),
    };
    if headers.is_none() {
        faults.push(fault("/headers", "must be an object of at most 20 headers, each a text of one line"));
    }
    let status =
        fields.get("status").map(|value| value.as_u64().and_then(|status| u16::try_from(status).ok()));
    let is_status = |status: u16| {
        REFUSALS.contains(&status) || Status::parse(status.into()).is_ok_and(Status::is_redirect)
    };
    if status.is_some_and(|status| !status.is_some_and(is_status)) {
        faults.push(fault("/status", "must be a status that a name or a rule can answer"));
    }
    let to = fields.get("to").map(|value| value.as_str().filter(|to| is_line(to)).map(str::to_owned));
    if to == Some(None) {
        faults.push(fault("/to", "must be an address, byte for byte"));
    }
    let origin =
        fields.get("origin").map(|value| value.as_str().filter(|file| is_line(file)).map(str::to_owned));
    if origin == Some(None) {
        faults.push(fault("/origin", "must be the name of a file"));
    }
    if status.is_none() && to.is_none() {
        faults.push(fault("", "must state a `status` or where it leads `to`"));
    }
    match (from, headers) {
        (Some(from), Some(headers)) if faults.is_empty() => {
            Ok(Check { from, headers, status: status.flatten(), to: to.flatten(), origin: origin.flatten() })
        }
        _ => Err(faults),
    }
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_BYTES && !text.chars().any(char::is_control)
}

fn is_in(from: &str, inside: &str) -> bool {
    from.strip_prefix(inside.trim_end_matches('/')).is_some_and(|rest| {
        rest.starts_with('/') || (inside != "/" && (rest.is_empty() || rest.starts_with('?')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> DomainPath {
        DomainPath::parse("obo/go").expect("a path")
    }

    #[test]
    fn what_is_written_is_read_back() {
        let document = json!({"checks": [
            {"from": "/obo/go", "status": 302},
            {"from": "/obo/go?x=%20", "headers": {"accept": "text/turtle"}, "to": "https://e.org/"},
            {"from": "/obo/go/a", "status": 410, "origin": "go"},
        ]});
        let checks = read(&document, &path()).expect("checks");
        assert_eq!(write(&checks), document);
        assert_eq!(
            (checks[1].asked(), checks[1].header("accept")),
            (("/obo/go", Some("x=%20")), "text/turtle")
        );
    }

    #[test]
    fn every_fault_has_its_place() {
        let document = json!({"checks": [
            {"from": "/obo/gox", "status": 302},
            {"from": "/obo/go/a"},
            {"from": "/obo/go/a", "status": 200},
            {"from": "/obo/go/a", "to": 7, "x": 1},
            {"from": "/obo/go/a", "to": "https://e.org/", "headers": {"a b": "x"}},
            1,
        ]});
        let faults = read(&document, &path()).expect_err("faults");
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/checks/0/from",
                "/checks/1",
                "/checks/2/status",
                "/checks/3/x",
                "/checks/3/to",
                "/checks/4/headers",
                "/checks/5"
            ]
        );
        assert!(read(&json!([]), &path()).is_err() && read(&json!({}), &path()).is_err());
    }

    #[test]
    fn a_check_is_kept_by_what_it_states() {
        let check = |status, to: Option<&str>| Check {
            from: "/x".to_owned(),
            headers: Vec::new(),
            status,
            to: to.map(str::to_owned),
            origin: None,
        };
        let given = |status, location: Option<&str>| Given { status, location: location.map(str::to_owned) };
        assert!(check(None, Some("https://e.org/")).is_kept(&given(307, Some("https://e.org/"))));
        assert!(!check(None, Some("https://e.org/")).is_kept(&given(307, Some("https://e.org"))));
        assert!(!check(Some(302), Some("https://e.org/")).is_kept(&given(307, Some("https://e.org/"))));
        assert!(check(Some(410), None).is_kept(&given(410, None)));
        assert!(!check(None, None).is_kept(&given(404, None)));
    }
}
