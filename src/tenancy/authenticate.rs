//! Checks a key against the directory. Every kind of wrong key looks the same to the caller.

use std::sync::Arc;

use time::OffsetDateTime;

use super::key::ApiKey;
use super::store;
use crate::clock::Clock;
use crate::db::{Db, Error};
use crate::http::auth::{Authenticator, Caller, Identity, Scope};

/// The check that `http` calls, over this database.
pub fn authenticator(db: Db, clock: Clock) -> Authenticator {
    Authenticator(Arc::new(move |token| {
        let (db, clock) = (db.clone(), clock.clone());
        Box::pin(async move { Ok(identify(&db, clock.now(), &token).await?) })
    }))
}

/// Whom a key belongs to; None if it is malformed, unknown, wrong, expired or revoked.
pub async fn identify(db: &Db, now: OffsetDateTime, token: &str) -> Result<Option<Identity>, Error> {
    let Some(key) = ApiKey::parse(token) else { return Ok(None) };
    let Some(stored) = store::find_key_secret(db.management(), key.id()).await? else { return Ok(None) };
    let alive = stored.revoked_at.is_none() && stored.expires_at.is_none_or(|end| now < end);
    if !key.matches(&stored.secret_sha256) || !alive {
        return Ok(None);
    }
    let noted = stored.last_used_at.is_some_and(|at| now - at < time::Duration::minutes(10));
    if !noted && let Err(error) = store::update_key_last_used(db.management(), key.id(), now).await {
        // A read-only or busy database must not lock anybody out.
        tracing::debug!(%error, "the last use of a key could not be noted");
    }
    let domains = Some(stored.domain_ids).filter(|ids| !ids.is_empty()).map(Arc::from);
    Ok(match (Scope::parse(&stored.scope), stored.tenant_id) {
        (Some(Scope::Operator), None) => Some(Identity::Operator { key_id: key.id() }),
        (Some(scope), Some(tenant_id)) => {
            Some(Identity::Tenant(Caller { tenant_id, key_id: key.id(), scope, domains }))
        }
        _ => None,
    })
}
