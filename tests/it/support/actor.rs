//! Somebody who calls the API.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::Body;
use http::{Method, Request, header};
use http_body_util::BodyExt;
use resolute::http::arrival::Arrival;
use serde_json::Value;
use tower::ServiceExt;

use super::{Answer, TestApp, contract};

/// A caller, with or without a key.
#[derive(Clone)]
pub struct Actor {
    router: Router,
    token: Option<String>,
    headers: Vec<(String, String)>,
    peer: Option<SocketAddr>,
}

impl Actor {
    /// A caller of this router.
    pub fn new(router: Router, token: Option<String>) -> Self {
        Self { router, token, headers: Vec::new(), peer: None }
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a token")
    }

    /// The same caller, sending one more header.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut actor = self.clone();
        actor.headers.push((name.to_owned(), value.to_owned()));
        actor
    }

    /// The same caller, connected from this address.
    pub fn at(&self, address: &str) -> Self {
        let peer = (address.parse::<IpAddr>().expect("an address"), 50_000).into();
        Self { peer: Some(peer), ..self.clone() }
    }

    /// GET of a raw path.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    /// HEAD of a raw path.
    pub async fn head(&self, path: &str) -> Answer {
        self.send(Method::HEAD, path, None).await
    }

    /// OPTIONS of a raw path.
    pub async fn options(&self, path: &str) -> Answer {
        self.send(Method::OPTIONS, path, None).await
    }

    /// POST of JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    /// PUT of JSON.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, Some(body.to_string())).await
    }

    /// DELETE without a body.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// Any request; a body is sent as JSON unless a content type was set. Every answer must be one that the document
    /// of the API has.
    pub async fn send(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method.clone()).uri(path);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let typed = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if body.is_some() && !typed {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(peer) = self.peer {
            request = request.extension(Arrival { peer: Some(peer), ..Arrival::default() });
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        contract::check(&method, path, &answer);
        answer
    }
}

/// A tenant and its people.
pub struct Tenant<'a> {
    app: &'a TestApp,
    /// Its id.
    pub id: i64,
    /// Its slug.
    pub slug: String,
}

impl<'a> Tenant<'a> {
    /// A tenant that exists.
    pub fn new(app: &'a TestApp, id: i64, slug: String) -> Self {
        Self { app, id, slug }
    }

    /// Somebody with a fresh key of this scope.
    pub async fn with_scope(&self, scope: &str) -> Actor {
        self.app.key(Some(self.id), scope, &[]).await
    }

    /// An admin.
    pub async fn admin(&self) -> Actor {
        self.with_scope("admin").await
    }

    /// An editor.
    pub async fn editor(&self) -> Actor {
        self.with_scope("editor").await
    }

    /// A minter.
    pub async fn minter(&self) -> Actor {
        self.with_scope("minter").await
    }

    /// A moderator.
    pub async fn moderator(&self) -> Actor {
        self.with_scope("moderator").await
    }

    /// A reader.
    pub async fn reader(&self) -> Actor {
        self.with_scope("reader").await
    }

    /// Somebody limited to these domains.
    pub async fn limited(&self, scope: &str, domain_ids: &[i64]) -> Actor {
        self.app.key(Some(self.id), scope, domain_ids).await
    }
}
