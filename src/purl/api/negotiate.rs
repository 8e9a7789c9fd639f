//! Whether a client would rather have a page or a document (RFC 9110, 12.5.1). Only for the server's own
//! answers; variants of a target are another matter.

use http::{HeaderMap, header};

use crate::purl::accept::{self, MediaType};

/// Whether `Accept` puts HTML above JSON. Without a preference it is JSON, as everywhere else.
pub fn prefers_html(headers: &HeaderMap) -> bool {
    let ranges = accepted(headers);
    let weight = |of: &[&str]| {
        let types = of.iter().filter_map(|text| MediaType::parse(text).ok());
        let ranks = types.filter_map(|of_type| accept::rank_of_type(&of_type, &ranges));
        ranks.max_by_key(|rank| (rank.exactness, rank.weight)).map_or(0, |rank| rank.weight)
    };
    weight(&["text/html"]) > weight(&["application/problem+json", "application/json"])
}

/// The place of the form that is preferred among these media types; where nothing decides, the first.
pub fn preferred(headers: &HeaderMap, forms: &[&str]) -> usize {
    let ranges = accepted(headers);
    let rank = |form: &&str| {
        let of_type = MediaType::parse(form).ok()?;
        accept::rank_of_type(&of_type, &ranges).map(|rank| (rank.weight, rank.exactness))
    };
    let ranks: Vec<_> = forms.iter().map(|form| rank(form).filter(|(weight, _)| *weight > 0)).collect();
    let best = ranks.iter().max().copied().flatten();
    ranks.iter().position(|rank| *rank == best).unwrap_or_default()
}

fn accepted(headers: &HeaderMap) -> Vec<(accept::MediaRange, u16)> {
    let values: Vec<&str> =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    accept::media_ranges(&values.join(","))
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
