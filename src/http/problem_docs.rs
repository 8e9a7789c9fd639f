//! `/docs/problems`: where the `type` of every problem leads. Made from the same constants as the answers.

use std::fmt::Write;

use axum::Router;
use axum::response::Html;
use axum::routing::get;

use super::describe::Answer;
use super::problem::ProblemCode;
use super::route::{Access, Route};

/// The routes.
pub const ROUTES: &[Route] = &[Route::new("GET", "/docs/problems", Access::Public)
    .about("Documentation", "Every problem code: where the `type` of a problem leads")
    .answers(&[Answer::page(200, "The page.")])];

/// The router, over the page of these codes.
pub fn router(codes: &[&'static ProblemCode]) -> Router {
    let page = page(codes);
    Router::new().route("/docs/problems", get(move || std::future::ready(Html(page.clone()))))
}

fn page(codes: &[&'static ProblemCode]) -> String {
    let mut rows = String::new();
    for code in codes {
        let ProblemCode { code, status, title, help } = code;
        let _ = writeln!(
            rows,
            "<section id=\"{code}\"><h2><code>{code}</code> · {status}</h2><p><strong>{title}.</strong> {help}</p></section>"
        );
    }
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Problem codes · resolute</title><style>body{{font:1rem/1.5 system-ui;max-width:45rem;margin:2rem auto;padding:0 1rem}}\
         h2{{font-size:1.1rem;margin:1.5rem 0 0}}:target{{outline:2px solid}}@media(prefers-color-scheme:dark){{body{{background:#111;color:#eee}}}}</style>\
         <h1>Problem codes</h1><p>Every error of this server is a problem document (RFC 9457). Its <code>code</code> is one of these.</p>\n{rows}</html>"
    )
}
