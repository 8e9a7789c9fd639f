//! Who calls, and what they may do. A handler's signature is its access policy: it takes one of the `May…`
//! extractors. How a key is checked is passed in by `app` as an [`Authenticator`].

use std::sync::Arc;

use axum::extract::FromRequestParts;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use uuid::Uuid;

use super::arrival::Arrival;
use super::problem::Problem;
use super::problem_codes as codes;
use super::rate_limit::Policy;
use crate::db::audit::{Actor, Author, SERVICE};
use crate::telemetry::request;

/// What a key may do; `operator` acts on the service, all others within their tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Tenants and top-level domains, nothing else.
    Operator,
    /// All of its tenant.
    Admin,
    /// Domains, rules, names, meetings, polls, participants.
    Editor,
    /// Creates names.
    Minter,
    /// Reports, blocks, freezes, tombstones.
    Moderator,
    /// Reads, unpublished included.
    Reader,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 6] =
        [Self::Operator, Self::Admin, Self::Editor, Self::Minter, Self::Moderator, Self::Reader];

    /// The word in keys, commands and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Editor => "editor",
            Self::Minter => "minter",
            Self::Moderator => "moderator",
            Self::Reader => "reader",
        }
    }

    /// The scope of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// A caller within a tenant.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant that everything this caller does belongs to.
    pub tenant_id: i64,
    /// The key, for the record of who did what.
    pub key_id: Uuid,
    /// What it may do.
    pub scope: Scope,
    /// Ids of the domains it is limited to (with all below them); None: no limit.
    pub domains: Option<Arc<[i64]>>,
    /// How often all callers of the tenant together may come; None: no limit.
    pub requests: Option<Policy>,
}

impl Caller {
    /// The caller as the author of what happens in its tenant.
    pub fn author(&self) -> Author {
        Author { tenant_id: self.tenant_id, actor: Actor::Key(self.key_id) }
    }
}

/// Whom a valid key belongs to.
#[derive(Clone, Debug)]
pub enum Identity {
    /// The operator of the service.
    Operator {
        /// The key.
        key_id: Uuid,
    },
    /// Somebody within a tenant.
    Tenant(Caller),
}

impl Identity {
    /// The key.
    pub fn key_id(&self) -> Uuid {
        match self {
            Self::Operator { key_id } | Self::Tenant(Caller { key_id, .. }) => *key_id,
        }
    }

    /// The tenant that shares a limit of requests, with the limit; None where there is none.
    fn shared_limit(&self) -> Option<(i64, Policy)> {
        match self {
            Self::Operator { .. } => None,
            Self::Tenant(caller) => caller.requests.map(|policy| (caller.tenant_id, policy)),
        }
    }

    /// The caller as the author of what happens in its tenant, or to the service itself.
    pub fn author(&self) -> Author {
        match self {
            Self::Operator { key_id } => Operator { key_id: *key_id }.author(),
            Self::Tenant(caller) => caller.author(),
        }
    }
}

/// Checks a bearer token: None if it is no valid key, for whatever reason.
pub type Check = dyn Fn(String) -> BoxFuture<'static, Result<Option<Identity>, Problem>> + Send + Sync;

/// The check, as handlers are given it.
#[derive(Clone)]
pub struct Authenticator(pub Arc<Check>);

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authenticator")
    }
}

/// The token of `Authorization: Bearer …`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// 401, naming the scheme.
pub fn unauthenticated() -> Problem {
    Problem::new(&codes::UNAUTHENTICATED)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"resolute\""))
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or_else(unauthenticated)?.to_owned();
        let Authenticator(check) = Arrival::tools(&parts.extensions)
            .map(|tools| &tools.authenticator)
            .ok_or_else(|| Problem::new(&codes::INTERNAL).source("no authenticator on this route"))?;
        let identity = check(token).await?.ok_or_else(unauthenticated)?;
        if let Some(visit) = Arrival::find(&parts.extensions).and_then(|arrival| arrival.visit.as_ref()) {
            visit.admit(identity.key_id(), identity.shared_limit())?;
        }
        if let Self::Tenant(caller) = &identity {
            request::note_tenant(caller.tenant_id);
        }
        Ok(identity)
    }
}

fn within(identity: Identity, allowed: &[Scope]) -> Result<Caller, Problem> {
    match identity {
        Identity::Tenant(caller) if allowed.contains(&caller.scope) => Ok(caller),
        _ => {
            let words: Vec<&str> = allowed.iter().map(|scope| scope.as_str()).collect();
            Err(Problem::new(&codes::FORBIDDEN)
                .detail(format!("this needs a key of scope {}", words.join(" or "))))
        }
    }
}

/// What a `May…` extractor allows.
pub trait Permission: Sized {
    /// The scopes that have it.
    const SCOPES: &'static [Scope];

    /// The permission of this caller, who has one of the scopes.
    fn of(caller: Caller) -> Self;
}

/// A permission that also a key limited to domains has. Without this a limited key is refused: a handler that takes
/// it must check the limits itself.
#[derive(Clone, Debug)]
pub struct InDomains<P>(pub P);

impl<S: Send + Sync, P: Permission> FromRequestParts<S> for InDomains<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let identity = Identity::from_request_parts(parts, state).await?;
        within(identity, P::SCOPES).map(|caller| Self(P::of(caller)))
    }
}

/// Refuses a key that is limited to domains: it works in these and nowhere else.
fn everywhere(caller: Caller) -> Result<Caller, Problem> {
    if caller.domains.is_none() {
        return Ok(caller);
    }
    Err(Problem::new(&codes::FORBIDDEN).detail("the key is limited to domains, and this is outside of them"))
}

macro_rules! permission {
    ($(#[$doc:meta] $name:ident = $($scope:ident)|+;)*) => {$(
        #[$doc]
        #[derive(Clone, Debug)]
        pub struct $name(pub Caller);

        impl Permission for $name {
            const SCOPES: &'static [Scope] = &[$(Scope::$scope),+];

            fn of(caller: Caller) -> Self {
                Self(caller)
            }
        }

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
                let InDomains(Self(caller)) = InDomains::from_request_parts(parts, state).await?;
                everywhere(caller).map(Self)
            }
        }
    )*};
}

permission! {
    /// A caller who may read, unpublished things included.
    MayRead = Admin | Editor | Minter | Moderator | Reader;
    /// A caller who may read meetings with their people, and results that are not published.
    MayObserve = Admin | Editor | Reader;
    /// A caller who may change domains, names, meetings, polls and participants.
    MayEdit = Admin | Editor;
    /// A caller who may create names.
    MayMint = Admin | Editor | Minter;
    /// A caller who may withdraw names.
    MayTombstone = Admin | Editor | Moderator;
    /// A caller who may manage the tenant itself.
    MayAdminister = Admin;
}

/// The operator of the service.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// The key, for the record of who did what.
    pub key_id: Uuid,
}

impl Operator {
    /// The operator as the author of what happens to the service itself.
    pub fn author(self) -> Author {
        Author { tenant_id: SERVICE, actor: Actor::Key(self.key_id) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Identity::from_request_parts(parts, state).await? {
            Identity::Operator { key_id } => Ok(Self { key_id }),
            Identity::Tenant(_) => {
                Err(Problem::new(&codes::FORBIDDEN).detail("this needs a key of scope operator"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_tokens_are_taken_in_any_case_of_the_scheme_and_nothing_else_is() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(of("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!((of("Basic abc"), of("Bearer "), of("Bearer")), (None, None, None));
    }
}
