//! `?info`: what is known of a path instead of where it leads, as a page, as JSON, as JSON-LD or as text in the manner
//! of ARKs. It tells what everybody may know: no keys, no authors.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use time::OffsetDateTime;

use super::by_rule::{self, Ruled};
use super::info_forms::{Answering, Info};
use super::root::{self, kept_for};
use super::{Purls, negotiate};
use crate::purl::location;
use crate::purl::resolve::Found;
use crate::purl::rules::Match;

/// The whole query of a request for it.
pub const QUERY: &str = "info";

/// What a redirect says of it: relative to the request, so that it is right whatever the request was.
pub const LINK: HeaderValue = HeaderValue::from_static("<?info>; rel=\"describedby\"");

/// Longest time that an answer may be reused without asking, in seconds.
const SECONDS: i64 = 60;

/// What is known of a path; `None`: neither a name nor a rule answers it, so there is nothing.
pub fn answer(
    state: &Purls,
    found: &Found,
    matched: Option<&Match<'_, '_>>,
    path: &str,
    headers: &HeaderMap,
    now: OffsetDateTime,
) -> Option<Response> {
    let domain = &found.domain;
    let answering = match matched {
        Some(matched) => {
            let leads_to = root::leads_to(domain, matched, now);
            Answering::Name { purl: matched.purl(), state: matched.purl().state(now), leads_to }
        }
        None => by_a_rule(found, path, headers)?,
    };
    let info =
        Info { origin: &state.origin, path: location::header_safe(path).into_owned(), domain, answering };
    let seconds = SECONDS.min(domain.policies.cache_seconds.into());
    Some(kept_for(render(&info, headers), seconds))
}

/// What a rule says without a query; nothing where it says that there is nothing.
fn by_a_rule(found: &Found, path: &str, headers: &HeaderMap) -> Option<Answering<'static>> {
    match by_rule::answer(found, path, None, headers)? {
        Ruled::Answered(response) if response.status() == StatusCode::NOT_FOUND => None,
        Ruled::Answered(response) => {
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let leads_to = location.map(str::to_owned);
            Some(Answering::Rule { status: Some(response.status().as_u16()), leads_to })
        }
        Ruled::Again(_) => Some(Answering::Rule { status: None, leads_to: None }),
    }
}

fn render(info: &Info<'_>, headers: &HeaderMap) -> Response {
    const FORMS: [&str; 4] = ["application/json", "text/html", "application/ld+json", "text/plain"];
    let (media_type, body) = match negotiate::preferred(headers, &FORMS) {
        1 => ("text/html; charset=utf-8", info.page()),
        2 => ("application/ld+json", info.json_ld().to_string()),
        3 => ("text/plain; charset=utf-8", info.erc()),
        _ => ("application/json", info.json().to_string()),
    };
    let mut response = ([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))], body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}
