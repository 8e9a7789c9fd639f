//! `?info`: what everybody may know of a path.

use serde_json::json;

use super::Registry;
use crate::support::Answer;

async fn info(registry: &Registry, path: &str, accept: &str) -> Answer {
    registry.app.stranger().with("accept", accept).get(&format!("{path}?info")).await
}

#[tokio::test]
async fn a_name_tells_of_itself_in_the_form_that_is_asked_for() {
    let registry = Registry::start().await;
    let body = json!({"domain": "d", "name": "p/", "target": "https://e.org/\"<&/", "kind": "partial", "status": 303,
                      "variants": [{"type": "text/turtle", "target": "https://e.org/ttl/"}]});
    registry.mint_as(body).await.expect(201);
    let redirect = registry.ask("/d/p/a%2Fb").await;
    assert_eq!(redirect.header("link"), "<?info>; rel=\"describedby\"");

    let json = info(&registry, "/d/p/a%2Fb", "*/*").await.expect(200);
    assert_eq!(json.header("vary"), "Accept");
    assert_eq!(json.header("access-control-allow-origin"), "*");
    let told = json.json();
    assert!(told["url"].as_str().unwrap().ends_with("/d/p/a%2Fb"));
    for (member, value) in [
        ("answered_by", json!("name")),
        ("leads_to", json!("https://e.org/\"<&/a%2Fb")),
        ("status", json!(303)),
        ("state", json!("live")),
        ("name", json!("p/")),
        ("kind", json!("partial")),
        ("target", json!("https://e.org/\"<&/")),
        ("revision", json!(1)),
    ] {
        assert_eq!(told[member], value, "{member}");
    }
    assert_eq!(told["domain"]["normalization"], "NFC");
    assert_eq!(told["domain"]["case_insensitive"], false);
    for key in ["created_by", "updated_by", "written_by"] {
        assert!(told.get(key).is_none(), "{key} is nobody's business");
    }

    let page = info(&registry, "/d/p/a%2Fb", "text/html").await.expect(200);
    assert_eq!(page.header("content-security-policy"), "default-src 'none'");
    assert!(page.text().contains("href=\"https://e.org/&quot;&lt;&amp;/a%2Fb\""), "{}", page.text());
    let linked = info(&registry, "/d/p/", "application/ld+json").await.expect(200);
    assert_eq!(linked.header("content-type"), "application/ld+json");
    assert_eq!(linked.json()["rdfs:seeAlso"]["@id"], "https://e.org/\"<&/");
    assert_eq!(linked.json()["dcterms:hasFormat"][0]["dcterms:format"], "text/turtle");
    let text = info(&registry, "/d/p/", "text/plain, */*;q=0.1").await.expect(200);
    assert!(
        text.text().starts_with("erc:\nwho: (:unav)\nwhat: p/\nwhen: 2026-11-30T20:00:00Z\nwhere: "),
        "{}",
        text.text()
    );
    let head = registry.app.stranger().head("/d/p/?info").await.expect(200);
    assert!(head.body.is_empty());
}

#[tokio::test]
async fn only_a_query_that_is_info_and_nothing_else_asks_for_it() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    for query in ["info=", "info&x", "x&info", "Info", "%69nfo", "info%20"] {
        registry.leads(&format!("/d/n?{query}"), &format!("https://e.org/?{query}")).await;
    }
}

#[tokio::test]
async fn a_tombstone_tells_why_and_what_is_unknown_tells_nothing() {
    let registry = Registry::start().await;
    registry.mint("n", "https://e.org/").await.expect(201);
    let address = "/api/v1/purls/d/n?reason=%3Cscript%3Ealert(1)%3C/script%3E&successor=https://e.org/new";
    registry.editor.delete(address).await.expect(200);
    let told = info(&registry, "/d/n", "application/json").await.expect(200).json();
    assert_eq!((&told["state"], &told["leads_to"]), (&json!("withdrawn"), &json!(null)));
    assert_eq!(
        (&told["reason"], &told["successor"]),
        (&json!("<script>alert(1)</script>"), &json!("https://e.org/new"))
    );
    let page = info(&registry, "/d/n", "text/html").await.expect(200).text();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    info(&registry, "/d/none", "*/*").await.expect_problem(404, "not_found");
    info(&registry, "/nowhere/x", "*/*").await.expect_problem(404, "not_found");
    info(&registry, "/api/v1/nothing", "*/*").await.expect_problem(404, "not_found");
}
