//! Whether a client would rather have a page or a document (RFC 9110, 12.5.1). Only for the server's own
//! answers; variants of a target are another matter.

use http::{HeaderMap, header};

/// Whether `Accept` puts HTML above JSON. Without a preference it is JSON, as everywhere else.
pub fn prefers_html(headers: &HeaderMap) -> bool {
    let values: Vec<&str> =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accept = values.join(",");
    let html = quality(&accept, "text", &["html"]);
    let json = quality(&accept, "application", &["problem+json", "json"]);
    html > json
}

/// The quality of a type in thousandths: of its most specific range, 0 where none covers it.
fn quality(accept: &str, main: &str, subs: &[&str]) -> u16 {
    let mut best = (0, 0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some((range_main, range_sub)) = parts.next().and_then(|range| range.split_once('/')) else {
            continue;
        };
        let specificity = if range_main.eq_ignore_ascii_case(main) {
            if subs.iter().any(|sub| range_sub.eq_ignore_ascii_case(sub)) {
                3
            } else if range_sub == "*" {
                2
            } else {
                continue;
            }
        } else if range_main == "*" && range_sub == "*" {
            1
        } else {
            continue;
        };
        let quality = parts
            .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .map_or(1000, thousandths);
        best = best.max((specificity, quality));
    }
    best.1
}

/// `0.5` is 500. A malformed weight counts as nothing.
fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = format!("{whole}{fraction:0<3}");
    if fraction.len() > 3 { 0 } else { digits.parse().ok().filter(|quality| *quality <= 1000).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(accept: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        prefers_html(&headers)
    }

    #[test]
    fn browsers_get_a_page_and_programs_a_document() {
        assert!(html("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(html("text/html"));
        assert!(!html("*/*"));
        assert!(!html("application/json"));
        assert!(!html("application/ld+json"));
        assert!(!html(""));
        assert!(!prefers_html(&HeaderMap::new()));
    }

    #[test]
    fn the_higher_quality_wins_and_the_specific_range_over_the_wildcard() {
        assert!(!html("text/html;q=0.3, application/json;q=0.9, */*;q=0.1"));
        assert!(html("application/json;q=0.2, text/*;q=0.25"));
        assert!(!html("text/html;q=0, */*"));
        assert!(!html("text/html;q=x"));
    }
}
