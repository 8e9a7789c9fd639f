//! Which variant of a name a request gets: proactive negotiation by media type (RFC 9110, 12.5.1) and language (RFC 4647).
//! Pure. Nothing here answers 406: who asks for what there is not gets the default, which is better than nothing to
//! somebody who followed a link.

use super::accept::{self, Rank};
use super::variant::Variant;

/// The weight, in thousandths, of a variant that does not say its language, where others do and the client asks for
/// one. Half: it comes after what is in the language, and data that are in none still come before a page that is
/// hardly acceptable.
const UNSPOKEN: u16 = 500;

/// How well a variant suits: first the weights together, then how exactly type and language were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    weight: u32,
    exactness: (u8, u8),
}

/// The place of the variant for these headers; none: the default. An absent header is `None` or empty.
///
/// The highest weight wins; of equal ones what was asked for most exactly; then the owner's order. What is covered by
/// nothing but `*/*` and `*` was not asked for, so there the default answers, unless it is itself listed with a lower
/// weight.
pub fn choose(
    variants: &[Variant],
    default: Option<&str>,
    accept: Option<&str>,
    languages: Option<&str>,
) -> Option<usize> {
    let ranges = accept::media_ranges(accept.unwrap_or_default());
    let tongues = accept::language_ranges(languages.unwrap_or_default());
    if ranges.is_empty() && tongues.is_empty() {
        return None;
    }
    let fits: Vec<Option<Fit>> = variants.iter().map(|variant| fit(variant, &ranges, &tongues)).collect();
    let best = fits.iter().copied().flatten().max()?;
    let chosen = fits.iter().position(|fit| *fit == Some(best))?;
    let asked_for = best.exactness != (0, 0);
    let default_is_worse = || {
        let listed =
            variants.iter().zip(&fits).filter(|(variant, _)| Some(variant.target.as_str()) == default);
        let best_of_default = listed.map(|(_, fit)| fit.map_or(0, |fit| fit.weight)).max();
        best_of_default.is_some_and(|weight| weight < best.weight)
    };
    (asked_for || default_is_worse()).then_some(chosen)
}

/// None: the client does not want it.
fn fit(
    variant: &Variant,
    ranges: &[(accept::MediaRange, u16)],
    tongues: &[(accept::LanguageRange, u16)],
) -> Option<Fit> {
    let of_type = match &variant.media_type {
        Some(media_type) if !ranges.is_empty() => accept::rank_of_type(media_type, ranges)?,
        _ => Rank::UNASKED,
    };
    let of_language = match &variant.language {
        Some(language) if !tongues.is_empty() => accept::rank_of_language(language, tongues)?,
        None if !tongues.is_empty() => Rank { weight: UNSPOKEN, exactness: 0 },
        _ => Rank::UNASKED,
    };
    let weight = u32::from(of_type.weight) * u32::from(of_language.weight);
    (weight > 0).then_some(Fit { weight, exactness: (of_type.exactness, of_language.exactness) })
}

/// Whether any of them is told apart by type, and whether any by language: what `Vary` must name.
pub fn varies_by(variants: &[Variant]) -> (bool, bool) {
    (
        variants.iter().any(|variant| variant.media_type.is_some()),
        variants.iter().any(|variant| variant.language.is_some()),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::purl::accept::MediaType;

    fn variants(of: &[(&str, &str)]) -> Vec<Variant> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        of.iter()
            .map(|(media_type, language)| Variant {
                media_type: some(media_type).map(|text| MediaType::parse(&text).unwrap()),
                language: some(language),
                target: format!("https://e.org/{media_type}/{language}"),
            })
            .collect()
    }

    /// What is chosen, as type and language; the default is `default`.
    fn choice(of: &[(&str, &str)], accept: &str, languages: &str) -> String {
        let variants = variants(of);
        let chosen = choose(&variants, Some("https://e.org/"), Some(accept), Some(languages));
        chosen.map_or_else(|| "default".to_owned(), |place| [of[place].0, of[place].1].concat())
    }

    const RDF: &[(&str, &str)] =
        &[("text/html", ""), ("text/turtle", ""), ("application/rdf+xml", ""), ("application/ld+json", "")];

    #[test]
    fn the_highest_weight_wins_and_the_specific_range_over_the_wildcard() {
        let of = |accept| choice(RDF, accept, "");
        assert_eq!(of("text/html;q=0.3, text/turtle;q=0.9, */*;q=0.1"), "text/turtle");
        assert_eq!(of("text/*;q=0.5, text/turtle;q=0.4, application/ld+json;q=0.45"), "text/html");
        assert_eq!(of("application/rdf+xml"), "application/rdf+xml");
        assert_eq!(of("Text/Turtle"), "text/turtle");
        assert_eq!(of("text/html, text/turtle"), "text/html", "the owner's order");
        assert_eq!(of("*/*, text/turtle"), "text/turtle", "what is named before what is not");
        assert_eq!(of("text/html;q=0, text/*;q=0.1"), "text/turtle");
        let many = "application/n-triples, application/n-quads, application/trig, text/n3, application/n3, \
                    application/trix, application/rdf+json, application/hdt, application/x-turtle, text/rdf+n3, \
                    application/x-trig, text/turtle;q=0.2";
        assert_eq!(of(many), "text/turtle");
    }

    #[test]
    fn what_was_not_asked_for_gets_the_default() {
        for accept in
            ["", "*/*", "application/pdf", "application/pdf, */*;q=0.1", "nonsense", "text/turtle;q=0", ",,;"]
        {
            assert_eq!(choice(RDF, accept, ""), "default", "{accept}");
        }
        assert_eq!(choose(&variants(RDF), None, None, None), None);
    }

    #[test]
    fn a_default_that_is_listed_yields_to_what_anything_else_stands_for() {
        let variants = variants(RDF);
        let html = Some(variants[0].target.as_str());
        assert_eq!(choose(&variants, html, Some("text/html;q=0.1, */*"), None), Some(1));
        assert_eq!(choose(&variants, html, Some("*/*"), None), None);
        assert_eq!(choose(&variants, html, Some("text/html;q=0, */*"), None), Some(1));
    }

    #[test]
    fn a_parameter_tells_variants_apart_and_one_that_is_not_stated_excludes_none() {
        let of: &[(&str, &str)] = &[
            ("application/ld+json", ""),
            (r#"application/ld+json;profile="http://www.w3.org/ns/json-ld#flattened""#, ""),
        ];
        assert_eq!(choice(of, "application/ld+json", ""), of[0].0);
        assert_eq!(choice(of, of[1].0, ""), of[1].0);
        let compacted = r#"application/ld+json; Profile="http://www.w3.org/ns/json-ld#compacted, x;y""#;
        assert_eq!(choice(of, compacted, ""), of[0].0);
        assert_eq!(choice(RDF, "text/turtle;charset=utf-8", ""), "text/turtle");
    }

    #[test]
    fn languages_go_by_ranges() {
        let of: &[(&str, &str)] = &[("", "en"), ("", "de-CH"), ("", "fr")];
        assert_eq!(choice(of, "", "de"), "de-CH", "a range covers what is below it");
        assert_eq!(choice(of, "", "fr-CA, en;q=0.9"), "fr", "and stands for what is above it");
        assert_eq!(choice(of, "", "EN-gb, de;q=0.5"), "en");
        assert_eq!(choice(of, "*/*", "fr;q=0.2, en;q=0.1"), "fr");
        assert_eq!(choice(of, "", "it"), "default");
        assert_eq!(choice(of, "", "*"), "default");
        assert_eq!(choice(of, "", "en;q=0, *"), "default");
        assert_eq!(choice(of, "", "d"), "default", "a part of a subtag is none");
    }

    #[test]
    fn type_and_language_weigh_together() {
        let of: &[(&str, &str)] = &[("text/html", "en"), ("text/html", "de"), ("text/turtle", "")];
        assert_eq!(choice(of, "text/html", "de"), "text/htmlde");
        assert_eq!(choice(of, "text/turtle, */*;q=0.6", "de"), "text/htmlde");
        assert_eq!(choice(of, "text/turtle, */*;q=0.4", "de"), "text/turtle");
        assert_eq!(choice(of, "text/turtle", "de"), "text/turtle");
        assert_eq!(choice(of, "text/html", ""), "text/htmlen");
        assert_eq!(choice(of, "text/html, text/turtle;q=0.9", "it"), "text/turtle");
    }

    proptest! {
        #[test]
        fn any_headers_choose_one_of_the_variants_or_none(accept in "\\PC{0,60}", languages in "[a-zA-Z*;,=q.0-9 -]{0,40}") {
            let variants = variants(RDF);
            let chosen = choose(&variants, None, Some(&accept), Some(&languages));
            prop_assert!(chosen.is_none_or(|place| place < variants.len()));
        }

        #[test]
        fn of_named_types_the_one_with_the_most_weight_wins(weights in proptest::collection::vec(0_u16..=1000, 4)) {
            let accept: Vec<String> = RDF.iter().zip(&weights)
                .map(|((media_type, _), weight)| format!("{media_type};q={}.{:03}", weight / 1000, weight % 1000)).collect();
            let variants = variants(RDF);
            let most = weights.iter().max().copied().unwrap_or_default();
            let expected = weights.iter().position(|weight| *weight == most).filter(|_| most > 0);
            prop_assert_eq!(choose(&variants, None, Some(&accept.join(", ")), None), expected);
            let reversed: Vec<String> = accept.into_iter().rev().collect();
            prop_assert_eq!(choose(&variants, None, Some(&reversed.join(",")), None), expected);
        }
    }
}
