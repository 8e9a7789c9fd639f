//! Domains, names, resolution and imports, through the real router.

mod changes;
mod concurrency;
mod domains;
mod handover;
mod htaccess;
mod import;
mod info;
mod names;
mod obo;
mod outage;
mod resolution;
mod restoration;
mod rules;
mod staleness;
mod targets;
mod variants;

use serde_json::{Value, json};

use crate::support::{Actor, Answer, TestApp};

/// A tenant's editor, with a top-level domain of that tenant.
pub struct Registry {
    pub app: TestApp,
    pub editor: Actor,
}

impl Registry {
    /// Tenant `acme` with the domain `d`.
    pub async fn start() -> Self {
        Self::with_domain(json!({"path": "d"})).await
    }

    /// Tenant `acme` with this domain.
    pub async fn with_domain(domain: Value) -> Self {
        let app = TestApp::start().await;
        let editor = app.tenant("acme").await.editor().await;
        let registry = Self { app, editor };
        registry.top_level(domain).await;
        registry
    }

    /// Makes a top-level domain of `acme`; its answer.
    pub async fn top_level(&self, mut domain: Value) -> Value {
        domain["tenant"] = "acme".into();
        self.app.operator().await.post("/api/v1/domains", domain).await.expect(201).json()
    }

    /// Mints a name in `d`.
    pub async fn mint(&self, name: &str, target: &str) -> Answer {
        self.mint_as(json!({"domain": "d", "name": name, "target": target})).await
    }

    /// Mints from a whole body.
    pub async fn mint_as(&self, body: Value) -> Answer {
        self.editor.post("/api/v1/purls", body).await
    }

    /// Where a raw path leads; the answer must be a redirect with CORS and explicit caching.
    #[track_caller]
    pub fn location(answer: &Answer) -> &str {
        assert!(answer.status.is_redirection(), "{} {}", answer.status, answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert!(!answer.header("cache-control").is_empty());
        assert_eq!(answer.headers.get_all("location").iter().count(), 1);
        answer.header("location")
    }

    /// Asserts where a raw path leads.
    pub async fn leads(&self, path: &str, to: &str) {
        let answer = self.app.stranger().get(path).await;
        assert_eq!(Self::location(&answer), to, "{path}");
    }

    /// Asks for a raw path without a key.
    pub async fn ask(&self, path: &str) -> Answer {
        self.app.stranger().get(path).await
    }
}
