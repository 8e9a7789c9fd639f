//! Answers of a domain's rules, where none of its names answers.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::root::kept_for;
use super::{gone, info, problems};
use crate::http::{Problem, problem_codes};
use crate::purl::model::Domain;
use crate::purl::resolve::Found;
use crate::purl::ruleset::{Again, Answer, Outcome, Request};

/// What the rules of a domain make of a request.
pub enum Ruled {
    /// This is the answer.
    Answered(Response),
    /// The request begins again with another path.
    Again(Again),
}

/// What the first rule that the request meets makes of it.
pub fn answer(found: &Found, path: &str, query: Option<&str>, headers: &HeaderMap) -> Option<Ruled> {
    let header = by_name(headers);
    let request = Request { path, query, header: &header };
    let domain = &found.domain;
    let answer = match found.rules.as_ref()?.answer(&request, domain.policies.query)? {
        Outcome::Answered(answer) => answer,
        Outcome::Again(again) => return Some(Ruled::Again(again)),
    };
    let mut response = kept_for(body(&answer, headers), domain.policies.cache_seconds.into());
    response.headers_mut().insert(header::ETAG, entity_tag(domain, &answer));
    varies(&mut response, &answer.vary);
    Some(Ruled::Answered(response))
}

/// Headers as rules ask for them: several of one name are one, with commas between them.
pub fn by_name(headers: &HeaderMap) -> impl Fn(&str) -> Vec<u8> {
    |name: &str| {
        let values: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        values.join(&b", "[..])
    }
}

/// Says which headers were looked at.
pub fn varies(response: &mut Response, headers: &[String]) {
    if let Ok(vary) = HeaderValue::try_from(headers.join(", "))
        && !vary.is_empty()
    {
        response.headers_mut().append(header::VARY, vary);
    }
}

fn body(answer: &Answer, headers: &HeaderMap) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::NOT_FOUND);
    match (status, &answer.location) {
        (_, Some(location)) => match HeaderValue::try_from(location) {
            Ok(location) => {
                (status, [(header::LOCATION, location), (header::LINK, info::LINK)]).into_response()
            }
            Err(error) => Problem::new(&problem_codes::INTERNAL).source(error).into_response(),
        },
        (StatusCode::FORBIDDEN, None) => Problem::new(&problems::RULE_FORBIDS).into_response(),
        (StatusCode::NOT_ACCEPTABLE, None) => Problem::new(&problems::NOT_ACCEPTABLE).into_response(),
        (StatusCode::GONE, None) => Problem::new(&problems::RULE_GONE).into_response(),
        (StatusCode::NO_CONTENT, None) => status.into_response(),
        (StatusCode::BAD_REQUEST, None) => Problem::new(&problems::RULE_BAD_REQUEST).into_response(),
        _ => gone::unknown(headers),
    }
}

/// Changes with the domain, whose rules are a part of it; weak, because a page and a document may share it.
fn entity_tag(domain: &Domain, answer: &Answer) -> HeaderValue {
    let tag = format!("W/\"{}.{}.r{}\"", domain.domain_id, domain.generation, answer.rule);
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"0\""))
}
