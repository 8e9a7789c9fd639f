//! The least that an HTTP server in this language does: axum, one handler, a fixed redirect. What the product's
//! resolution is compared with.

use anyhow::Context;
use axum::Router;
use http::{StatusCode, header};

/// Serves on a free port, which is printed, until the process is killed.
pub async fn serve() -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let answer =
        || std::future::ready((StatusCode::FOUND, [(header::LOCATION, "https://target.example.org/n7")]));
    axum::serve(listener, Router::new().fallback(answer)).await.context("the bare handler")
}
