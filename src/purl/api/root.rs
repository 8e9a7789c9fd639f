//! Resolution: GET, HEAD and OPTIONS on every path that no route takes. The answer is decided by `rules`, `ruleset`
//! and `location`; here it gets its headers. Everything may be read by any origin: a redirect that a
//! script in a page cannot follow is of no use to it.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use metrics::counter;
use time::OffsetDateTime;

use super::by_rule::{self, Ruled};
use super::{Purls, by_variant, gone, info, problems};
use crate::db;
use crate::http::{Problem, problem_codes};
use crate::purl::model::{Domain, Purl, State as NameState};
use crate::purl::raw_path::RawPath;
use crate::purl::resolve::JUMPS;
use crate::purl::rules::{self, Match};
use crate::purl::ruleset::Again;
use crate::purl::{domain_path, location};
use crate::telemetry::metrics::RESOLUTIONS;

const ALLOWED: &str = "GET, HEAD, OPTIONS";

/// How long an unknown path may be remembered, in seconds: a name made now must soon be found.
const UNKNOWN_SECONDS: i64 = 1;

/// Longest life of a 410, in seconds: its owner can renew or restore the name.
const GONE_SECONDS: i64 = 60;

/// Answers one request.
pub async fn resolve(State(state): State<Purls>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = RawPath::parse(uri.path());
    if domain_path::is_reserved(path.first_segment()) {
        return Problem::not_found().into_response();
    }
    let mut response = match method {
        Method::GET | Method::HEAD => {
            match get(&state, &path, (uri.path(), uri.query()), &headers, JUMPS).await {
                Ok(response) => response,
                Err(problem) => problem.into_response(),
            }
        }
        Method::OPTIONS => preflight(&headers),
        _ => Problem::new(&problem_codes::METHOD_NOT_ALLOWED)
            .header(header::ALLOW, HeaderValue::from_static(ALLOWED))
            .into_response(),
    };
    if matches!(method, Method::GET | Method::HEAD) {
        // Labels that are written out are looked up without being put together.
        let counter = match response.status().as_u16() {
            200..=399 => counter!(RESOLUTIONS, "outcome" => "redirect"),
            410 => counter!(RESOLUTIONS, "outcome" => "gone"),
            400..=499 => counter!(RESOLUTIONS, "outcome" => "not_found"),
            _ => counter!(RESOLUTIONS, "outcome" => "unavailable"),
        };
        counter.increment(1);
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    response
}

/// A preflight asks about a method and headers; reading needs no more than these methods and any header.
fn preflight(headers: &HeaderMap) -> Response {
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    (
        StatusCode::NO_CONTENT,
        [
            (header::ALLOW, HeaderValue::from_static(ALLOWED)),
            (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED)),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or(HeaderValue::from_static("*"))),
            (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400")),
            (header::VARY, HeaderValue::from_static("Access-Control-Request-Headers")),
        ],
    )
        .into_response()
}

/// What GET answers. `sent` are the path and query as they were sent, or as a rule has made them; then `jumps` says how many more may.
pub(super) async fn get(
    state: &Purls,
    path: &RawPath<'_>,
    sent: (&str, Option<&str>),
    headers: &HeaderMap,
    jumps: usize,
) -> Result<Response, Problem> {
    let now = state.clock.now();
    let found = state.resolver.find(path, now).await.map_err(|error| unverified(&error))?;
    let answer = found.as_ref().and_then(|found| {
        let matched = rules::choose(path, &found.domain, &found.names, now)?;
        Some((&found.domain, matched))
    });
    if jumps == JUMPS
        && sent.1 == Some(info::QUERY)
        && let Some(found) = &found
        && let matched = answer.as_ref().map(|(_, matched)| matched)
        && let Some(response) = info::answer(state, found, matched, sent.0, headers, now)
    {
        return Ok(response);
    }
    let Some((domain, matched)) = answer else {
        match found.as_ref().and_then(|found| by_rule::answer(found, sent.0, sent.1, headers)) {
            Some(Ruled::Answered(response)) => return Ok(response),
            // Boxed, as it is rare: what is awaited here is a part of every request.
            Some(Ruled::Again(again)) => return Box::pin(jump(state, again, headers, jumps)).await,
            None => {}
        }
        if !path.is_well_formed() {
            return Err(Problem::new(&problem_codes::BAD_PATH));
        }
        if let Some(error) = found.and_then(|found| found.unverified) {
            return Err(unverified(&error));
        }
        return Ok(kept_for(gone::unknown(headers), UNKNOWN_SECONDS));
    };
    let purl = matched.purl();
    let chosen = by_variant::choose(purl, headers);
    let mut response = match purl.state(now) {
        NameState::Live => redirect(domain, &matched, sent.1, chosen, now)?,
        NameState::TemporarilyGone => {
            kept_for(gone::answer(headers, purl, NameState::TemporarilyGone), UNKNOWN_SECONDS)
        }
        state => {
            let seconds = GONE_SECONDS.min(domain.policies.cache_seconds.into());
            kept_for(gone::answer(headers, purl, state), seconds)
        }
    };
    response.headers_mut().insert(header::ETAG, entity_tag(domain, purl, chosen));
    Ok(response)
}

/// Begins again where a rule leads.
async fn jump(state: &Purls, to: Again, headers: &HeaderMap, jumps: usize) -> Result<Response, Problem> {
    let left = jumps.checked_sub(1).ok_or_else(|| Problem::new(&problems::RULES_GO_ROUND))?;
    let path = RawPath::parse(&to.path);
    let mut response = if domain_path::is_reserved(path.first_segment()) {
        kept_for(gone::unknown(headers), UNKNOWN_SECONDS)
    } else {
        get(state, &path, (&to.path, to.query.as_deref()), headers, left).await?
    };
    by_rule::varies(&mut response, &to.vary);
    Ok(response)
}

/// The database did not say whether the name exists, so it is not 404. Many requests may share the error.
pub(super) fn unverified(error: &db::Error) -> Problem {
    match error {
        db::Error::Unavailable(_) | db::Error::Timeout(_) | db::Error::Retryable(_) => {
            Problem::unavailable().source(error)
        }
        _ => Problem::new(&problem_codes::INTERNAL).source(error),
    }
}

fn redirect(
    domain: &Domain,
    matched: &Match<'_, '_>,
    query: Option<&str>,
    variant: Option<usize>,
    now: OffsetDateTime,
) -> Result<Response, Problem> {
    let purl = matched.purl();
    let broken =
        |what: &str| Problem::new(&problem_codes::INTERNAL).source(format!("purl {}: {what}", purl.purl_id));
    let location = location::of_match(matched, variant, query, domain.policies.query)
        .ok_or_else(|| broken("a redirect without target"))?;
    let location =
        HeaderValue::try_from(location).map_err(|_| broken("a target that no header can carry"))?;
    let status = StatusCode::from_u16(purl.status).map_err(|_| broken("a status that is none"))?;
    let left = purl.valid_until.map_or(i64::MAX, |until| (until - now).whole_seconds());
    let seconds = left.min(domain.policies.cache_seconds.into());
    let mut response = kept_for((status, [(header::LOCATION, location)]).into_response(), seconds);
    response.headers_mut().insert(header::LINK, info::LINK);
    by_variant::vary(&mut response, purl);
    Ok(response)
}

/// Where the name leads a request without query and headers, if it leads anywhere now.
pub(super) fn leads_to(domain: &Domain, matched: &Match<'_, '_>, now: OffsetDateTime) -> Option<String> {
    let is_live = matched.purl().state(now) == NameState::Live;
    is_live.then(|| location::of_match(matched, None, None, domain.policies.query)).flatten()
}

/// Says how long the answer may be reused without asking; a 301 without this would be kept for ever.
pub(super) fn kept_for(mut response: Response, seconds: i64) -> Response {
    let value = if seconds > 0 { format!("public, max-age={seconds}") } else { "no-cache".to_owned() };
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    response
}

/// Changes with the name and with the domain's settings, and each variant has its own; weak, because a page and a document share it.
fn entity_tag(domain: &Domain, purl: &Purl, variant: Option<usize>) -> HeaderValue {
    let Purl { purl_id, revision, .. } = purl;
    let tag = match variant {
        None => format!("W/\"{purl_id}.{revision}.{}\"", domain.generation),
        Some(place) => format!("W/\"{purl_id}.{revision}.{}.{place}\"", domain.generation),
    };
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"0\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<A, B, C, D, F>(_: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    /// It is made anew, and moved, for every redirect; what is rare is boxed.
    #[test]
    fn what_a_resolution_keeps_while_it_waits_is_small() {
        assert!(bytes(resolve) <= 1_024, "{}", bytes(resolve));
    }
}
