//! Answers for names that do not redirect: withdrawn, expired, switched off, unknown. A problem document, or
//! a page for those who ask for one. Everything stored is escaped: it was written by somebody else.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{negotiate, problems};
use crate::http::html::escape;
use crate::http::{Problem, ProblemCode, problem_codes};
use crate::purl::model::{Purl, State};

/// What is known of a name that is gone, in the order in which it is told.
struct Facts<'a> {
    code: &'static ProblemCode,
    rows: Vec<(&'static str, &'static str, Option<String>)>,
    successor: Option<&'a str>,
}

/// The answer for a name in this state; `State::Live` has no answer here and counts as unknown.
pub fn answer(headers: &HeaderMap, purl: &Purl, state: State) -> Response {
    let at = |instant: OffsetDateTime| instant.format(&Rfc3339).ok();
    let target = ("last_target", "Last target", purl.target.clone());
    let facts = match state {
        State::Withdrawn => Facts {
            code: &problems::WITHDRAWN,
            rows: vec![
                ("reason", "Reason", purl.tombstone_reason.clone()),
                ("withdrawn_at", "Withdrawn", at(purl.updated_at)),
                ("successor", "Use instead", purl.successor.clone()),
                target,
            ],
            successor: purl.successor.as_deref(),
        },
        State::Expired => Facts {
            code: &problems::EXPIRED,
            rows: vec![("valid_until", "Valid until", purl.valid_until.and_then(at)), target],
            successor: None,
        },
        State::TemporarilyGone => {
            Facts { code: &problems::TEMPORARILY_GONE, rows: Vec::new(), successor: None }
        }
        State::Live => return unknown(headers),
    };
    let mut response = render(headers, &facts);
    if let Some(successor) = facts.successor
        && let Ok(link) =
            HeaderValue::try_from(format!("<{}>; rel=\"successor-version\"", link_safe(successor)))
    {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// An address as a link's target, which ends at the first `>`. A URI has neither bracket, so the encoded form is the
/// one that clients would send anyway.
fn link_safe(address: &str) -> String {
    address.replace('<', "%3C").replace('>', "%3E")
}

/// The answer for a path that no name covers.
pub fn unknown(headers: &HeaderMap) -> Response {
    render(headers, &Facts { code: &problem_codes::NOT_FOUND, rows: Vec::new(), successor: None })
}

fn render(headers: &HeaderMap, facts: &Facts<'_>) -> Response {
    let mut problem = Problem::new(facts.code);
    for (member, _, value) in &facts.rows {
        if let Some(value) = value {
            problem = problem.member(member, value.clone());
        }
    }
    let mut response = problem.into_response();
    if negotiate::prefers_html(headers) {
        let status = StatusCode::from_u16(facts.code.status).unwrap_or(StatusCode::NOT_FOUND);
        let trace = response.extensions().get::<crate::http::problem::ProblemTrace>().cloned();
        response = (status, Html(page(facts))).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
        if let Some(trace) = trace {
            response.extensions_mut().insert(trace);
        }
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn page(facts: &Facts<'_>) -> String {
    let title = escape(facts.code.title);
    let mut rows = String::new();
    for (member, label, value) in &facts.rows {
        let Some(value) = value else { continue };
        let text = escape(value);
        // Only checked http and https addresses are stored in these two.
        let shown = if matches!(*member, "successor" | "last_target") {
            format!("<a rel=\"nofollow\" href=\"{text}\">{text}</a>")
        } else {
            text
        };
        rows.push_str("<dt>");
        rows.push_str(label);
        rows.push_str("</dt><dd>");
        rows.push_str(&shown);
        rows.push_str("</dd>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body>\n<h1>{title}</h1>\n<dl>\n{rows}</dl>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_escaped() {
        let facts = Facts {
            code: &problems::WITHDRAWN,
            rows: vec![
                ("reason", "Reason", Some("<script>alert('x')</script>".into())),
                ("last_target", "Last target", Some("https://e.org/\"onmouseover=\"x&y".into())),
            ],
            successor: None,
        };
        let page = page(&facts);
        assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), "{page}");
        assert!(page.contains("href=\"https://e.org/&quot;onmouseover=&quot;x&amp;y\""), "{page}");
    }
}
