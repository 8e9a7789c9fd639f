//! GET /api/v1/explain: how a request would be answered, and why, without a redirect and without being counted. The answer is the one
//! that resolution gives; the way to it is walked a second time, and told.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Map, Value, json};

use super::{Purls, by_rule, root};
use crate::http::auth::{Caller, InDomains, MayRead};
use crate::http::query::QueryObject;
use crate::http::{Problem, fields};
use crate::purl::domain_path;
use crate::purl::raw_path::RawPath;
use crate::purl::resolve::{Found, JUMPS};
use crate::purl::rules::{self, Match};
use crate::purl::ruleset::{self, Outcome, Tried, Verdict};

/// Headers that are read from parameters of the same name.
const HEADERS: [(&str, HeaderName); 3] = [
    ("accept", header::ACCEPT),
    ("accept_language", header::ACCEPT_LANGUAGE),
    ("user_agent", header::USER_AGENT),
];

/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 8_192;

/// Which domains were reached, which names and rules were looked at there, what decided, and the answer. Domains of other tenants are
/// named, and no more.
pub async fn explain(
    State(state): State<Purls>,
    InDomains(MayRead(caller)): InDomains<MayRead>,
    query: QueryObject,
) -> Result<Response, Problem> {
    let mut reader = query.fields();
    let asked = reader.required("path", path);
    let mut headers = HeaderMap::new();
    for (parameter, name) in HEADERS {
        let value = reader.optional(parameter, |value| {
            let text = fields::string(value)?;
            HeaderValue::from_str(text).map_err(|_| "must be what a header can carry".to_owned())
        });
        if let Ok(Some(value)) = value {
            headers.insert(name, value);
        }
    }
    reader.finish()?;
    let (mut path, mut sent) = asked?;
    let (first_path, first_query) = (path.clone(), sent.clone());
    let now = state.clock.now();
    let mut steps = Vec::new();
    for _ in 0..=JUMPS {
        let raw = RawPath::parse(&path);
        if domain_path::is_reserved(raw.first_segment()) {
            steps.push(json!({"path": path, "reserved": true}));
            break;
        }
        let found = state.resolver.find(&raw, now).await.map_err(|error| root::unverified(&error))?;
        let Some(found) = found else {
            steps.push(json!({"path": path, "domain": null}));
            break;
        };
        let matched = rules::choose(&raw, &found.domain, &found.names, now);
        let (step, again) = step(&caller, &found, (&path, sent.as_deref()), matched.as_ref(), &headers, now);
        steps.push(step);
        let Some((next, query)) = again else { break };
        (path, sent) = (next, query);
    }
    let raw = RawPath::parse(&first_path);
    let answer = if domain_path::is_reserved(raw.first_segment()) {
        Problem::not_found().into_response()
    } else {
        let sent = (first_path.as_str(), first_query.as_deref());
        root::get(&state, &raw, sent, &headers, JUMPS).await.unwrap_or_else(IntoResponse::into_response)
    };
    Ok(Json(json!({"steps": steps, "answer": told(&answer)})).into_response())
}

/// A path as it is sent, and its query.
fn path(value: &Value) -> Result<(String, Option<String>), String> {
    let text = fields::string(value)?;
    let is_sent = text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if !is_sent || text.len() > MAX_PATH_BYTES {
        return Err("must be a path as it is sent, with its leading slash and, it may be, a query".to_owned());
    }
    Ok(match text.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (text.to_owned(), None),
    })
}

type Again = Option<(String, Option<String>)>;

/// One domain on the way, and the path that is asked for after it.
fn step(
    caller: &Caller,
    found: &Found,
    (path, query): (&str, Option<&str>),
    matched: Option<&Match<'_, '_>>,
    headers: &HeaderMap,
    now: time::OffsetDateTime,
) -> (Value, Again) {
    let domain = &found.domain;
    let mut told =
        json!({"path": path, "domain": domain.path.as_str(), "verified": found.unverified.is_none()});
    let is_own = domain.owner_tenant_id == caller.tenant_id;
    if is_own {
        let name = |name: &str, state: &str| json!({"name": name, "state": state});
        let names = found.names.iter().map(|purl| name(&purl.name, purl.state(now).as_str()));
        told["names"] = names.collect();
        told["name"] = matched.map_or(Value::Null, |matched| {
            let mut of = name(&matched.purl().name, matched.purl().state(now).as_str());
            of["met_as"] =
                if matches!(matched, Match::Exact(_)) { "itself".into() } else { "a prefix".into() };
            of
        });
    }
    if matched.is_some() {
        return (told, None);
    }
    let Some(program) = &found.rules else { return (told, None) };
    let header = by_rule::by_name(headers);
    let request = ruleset::Request { path, query, header: &header };
    let (outcome, tried) = program.explain(&request, domain.policies.query);
    if is_own {
        let rules: Vec<&ruleset::Rule> = program.rules().collect();
        told["rules"] = tried.iter().map(|tried| rule(tried, rules.get(tried.rule))).collect();
    }
    match outcome {
        Some(Outcome::Again(again)) => {
            told["leads_to"] = again.path.as_str().into();
            (told, Some((again.path, again.query)))
        }
        _ => (told, None),
    }
}

/// A rule whose pattern was met, and what came of it.
fn rule(tried: &Tried, rule: Option<&&ruleset::Rule>) -> Value {
    let mut told = json!({"pointer": format!("/rules/{}", tried.rule), "met": tried.verdict == Verdict::Met});
    match tried.verdict {
        Verdict::Unmet(condition) => {
            told["condition"] = format!("/rules/{}/conditions/{condition}", tried.rule).into();
        }
        Verdict::PassedOver => told["passed_over"] = true.into(),
        Verdict::Met => {}
    }
    if let Some(rule) = rule {
        told["rule"] = ruleset::write([*rule])["rules"][0].take();
    }
    told
}

/// Status and headers of an answer, as far as they say where it leads and how long it holds.
fn told(answer: &Response) -> Value {
    let kept = [header::LOCATION, header::VARY, header::CACHE_CONTROL, header::ETAG];
    let mut headers = Map::new();
    for name in kept {
        let values = answer.headers().get_all(&name).iter();
        let text =
            values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect::<Vec<_>>().join(", ");
        if !text.is_empty() {
            headers.insert(name.as_str().to_owned(), text.into());
        }
    }
    json!({"status": answer.status().as_u16(), "headers": headers})
}
