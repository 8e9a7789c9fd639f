//! Names with several targets, told apart by media type and language.

use serde_json::{Value, json};

use super::Registry;
use crate::support::Answer;

const PATH: &str = "/api/v1/purls/d/v";

async fn with_variants(variants: Value) -> Registry {
    let registry = Registry::start().await;
    let body =
        json!({"domain": "d", "name": "v", "target": "https://e.org/", "status": 303, "variants": variants});
    registry.mint_as(body).await.expect(201);
    registry
}

async fn ask(registry: &Registry, path: &str, headers: &[(&str, &str)]) -> Answer {
    let asking = headers.iter().fold(registry.app.stranger(), |actor, (name, value)| actor.with(name, value));
    asking.get(path).await
}

fn rdf() -> Value {
    json!([
        {"type": "text/html", "target": "https://e.org/page"},
        {"type": "text/turtle", "target": "https://e.org/ttl#%2B"},
        {"type": "application/rdf+xml", "target": "https://e.org/rdf"},
    ])
}

#[tokio::test]
async fn the_type_with_the_most_weight_answers_and_vary_says_that_there_are_others() {
    let registry = with_variants(rdf()).await;
    let twelve = "application/n-triples, application/n-quads, application/trig, text/n3, application/n3, \
                  application/trix, application/rdf+json, application/hdt, application/x-turtle, text/rdf+n3, \
                  application/x-trig, application/rdf+xml;q=0.5";
    let mut tags = std::collections::BTreeSet::new();
    for (accept, location) in [
        ("text/html;q=0.3, text/turtle;q=0.9, */*;q=0.1", "https://e.org/ttl#%2B"),
        (twelve, "https://e.org/rdf"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "https://e.org/page"),
        ("application/pdf", "https://e.org/"),
        ("*/*", "https://e.org/"),
        ("", "https://e.org/"),
    ] {
        let answer = ask(&registry, "/d/v", &[("accept", accept)]).await;
        assert_eq!(Registry::location(&answer), location, "{accept}");
        assert_eq!(answer.status, 303);
        assert_eq!(answer.header("vary"), "Accept");
        tags.insert(answer.header("etag").to_owned());
    }
    assert_eq!(tags.len(), 4, "each variant has a tag of its own, and so has the default");
    let without = registry.ask("/d/v").await;
    assert_eq!(Registry::location(&without), "https://e.org/");
    assert_eq!(without.header("vary"), "Accept");
    registry.mint("plain", "https://e.org/").await.expect(201);
    let plain = ask(&registry, "/d/plain", &[("accept", "text/turtle")]).await;
    assert!(plain.headers.get("vary").is_none());
}

#[tokio::test]
async fn languages_are_told_apart_as_well_and_a_query_goes_along() {
    let registry = with_variants(json!([
        {"type": "text/html", "language": "en", "target": "https://e.org/en"},
        {"type": "text/html", "language": "de-CH", "target": "https://e.org/de"},
    ]))
    .await;
    for (accept, languages, location) in [
        ("text/html", "de, en;q=0.5", "https://e.org/de?x"),
        ("*/*", "en-GB", "https://e.org/en?x"),
        ("text/html", "it", "https://e.org/?x"),
        ("text/turtle", "de", "https://e.org/?x"),
    ] {
        let answer = ask(&registry, "/d/v?x", &[("accept", accept), ("accept-language", languages)]).await;
        assert_eq!(Registry::location(&answer), location, "{accept} {languages}");
        assert_eq!(answer.header("vary"), "Accept, Accept-Language");
    }
}

#[tokio::test]
async fn the_tail_of_a_prefix_goes_behind_the_variant() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "p/", "target": "https://e.org/html/", "kind": "partial",
                      "variants": [{"type": "text/turtle", "target": "https://e.org/ttl/"}]});
    registry.mint_as(body).await.expect(201);
    let answer = ask(&registry, "/d/p/a%2Fb", &[("accept", "text/turtle")]).await;
    assert_eq!(Registry::location(&answer), "https://e.org/ttl/a%2Fb");
}

#[tokio::test]
async fn every_variant_is_checked_as_a_target_is_and_every_fault_is_named() {
    let registry = Registry::start().await;
    let mint = async |variants: Value| {
        let body = json!({"domain": "d", "name": "v", "target": "https://e.org/", "variants": variants});
        registry.mint_as(body).await.expect_problem(422, "invalid").pointers()
    };
    let bad = json!([
        {"type": "text/turtle", "target": "javascript:alert(1)"},
        {"type": "text/*", "language": "e n", "target": "https://e.org/"},
        {"target": "https://e.org/"},
        {"type": "text/html"},
        {"type": "text/html", "target": "https://e.org/\r\nSet-Cookie: a", "weight": 1},
        "text/html",
    ]);
    assert_eq!(
        mint(bad).await,
        [
            "/variants/0/target",
            "/variants/1/type",
            "/variants/1/language",
            "/variants/2",
            "/variants/3/target",
            "/variants/4/target",
            "/variants/4/weight",
            "/variants/5",
        ]
    );
    let twice = json!([{"type": "text/html", "target": "https://e.org/1"}, {"type": "TEXT/html", "target": "https://e.org/2"}]);
    assert_eq!(mint(twice).await, ["/variants"]);
    let one = |number: usize| json!({"type": format!("text/x{number}"), "target": "https://e.org/"});
    assert_eq!(mint((0..25).map(one).collect()).await, ["/variants"]);
    let long = |number: usize| json!({"type": format!("text/x{number}"), "target": format!("https://e.org/{}", "a".repeat(6_000))});
    assert_eq!(mint((0..3).map(long).collect()).await, ["/variants"]);
    let off = json!({"domain": "d", "name": "v", "status": 404, "variants": rdf()});
    assert_eq!(registry.mint_as(off).await.expect_problem(422, "invalid").pointers(), ["/variants"]);
}

#[tokio::test]
async fn variants_are_a_part_of_the_name_of_its_history_and_of_its_copies() {
    let registry = with_variants(rdf()).await;
    let shown = registry.editor.get(PATH).await.expect(200).json();
    assert_eq!(
        shown["variants"][1],
        json!({"type": "text/turtle", "language": null, "target": "https://e.org/ttl#%2B"})
    );
    let copy = json!({"domain": "d", "name": "copy", "copy_of": "d/v"});
    assert_eq!(registry.mint_as(copy).await.expect(201).json()["variants"], shown["variants"]);

    let anyhow = registry.editor.with("if-match", "*");
    let mut same = json!({"target": "https://e.org/", "status": 303, "variants": rdf()});
    assert_eq!(anyhow.put(PATH, same.clone()).await.expect(200).json()["revision"], 1, "nothing changes");
    same["variants"] = json!([]);
    assert_eq!(anyhow.put(PATH, same).await.expect(200).json()["variants"], json!([]));
    let turtle = [("accept", "text/turtle")];
    assert_eq!(Registry::location(&ask(&registry, "/d/v", &turtle).await), "https://e.org/");
    registry.editor.delete(PATH).await.expect(200);
    anyhow.post("/api/v1/purl-revisions/d/v", json!({"revision": 1})).await.expect(200);
    assert_eq!(Registry::location(&ask(&registry, "/d/v", &turtle).await), "https://e.org/ttl#%2B");
    let history = registry.editor.get("/api/v1/purl-revisions/d/v").await.expect(200).json();
    let numbers: Vec<usize> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["variants"].as_array().unwrap().len())
        .collect();
    assert_eq!(numbers, [3, 0, 0, 3]);
}
