//! Redirects of names that have variants.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::purl::model::Purl;
use crate::purl::negotiation;

/// The place of the variant that the request asks for; none: the name's own target answers.
pub fn choose(purl: &Purl, headers: &HeaderMap) -> Option<usize> {
    if purl.variants.is_empty() {
        return None;
    }
    let accept = joined(headers, &header::ACCEPT);
    let languages = joined(headers, &header::ACCEPT_LANGUAGE);
    negotiation::choose(&purl.variants, purl.target.as_deref(), accept.as_deref(), languages.as_deref())
}

/// Says what the answer of such a name depends on, whichever it was.
pub fn vary(response: &mut Response, purl: &Purl) {
    if purl.variants.is_empty() {
        return;
    }
    let value = match negotiation::varies_by(&purl.variants) {
        (true, true) => "Accept, Accept-Language",
        (true, false) => "Accept",
        (false, true) => "Accept-Language",
        (false, false) => return,
    };
    response.headers_mut().append(header::VARY, HeaderValue::from_static(value));
}

/// A header that may be sent in several lines, as one.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(","))
}
