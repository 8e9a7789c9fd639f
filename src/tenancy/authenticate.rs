//! Checks a key against the directory, which it remembers for a second. Every kind of wrong key looks the same
//! to the caller. A key is never believed for longer, the database away or not: revoked means refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use time::OffsetDateTime;
use uuid::Uuid;

use super::key::ApiKey;
use super::store::{self, KeySecret};
use crate::clock::Clock;
use crate::config;
use crate::db::cache::{Cache, Lookup};
use crate::db::notify::Message;
use crate::db::{Db, Error};
use crate::http::auth::{Authenticator, Caller, Identity, Scope};
use crate::http::rate_limit::Policy;

/// How long a key is believed from the start of its read: a revocation counts everywhere within this time,
/// whether it is heard of or not.
const BELIEVED: Duration = Duration::from_secs(1);

/// How often at most the use of a key is noted.
const NOTED: time::Duration = time::Duration::minutes(10);

/// The keys of the service, as this process knows them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keys {
    db: Db,
    clock: Clock,
    requests: (u32, u32),
    known: Arc<Cache<Uuid, Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    stored: KeySecret,
    domains: Option<Arc<[i64]>>,
    /// Whether its use has been noted.
    noted: AtomicBool,
}

impl Keys {
    /// Knows none yet.
    pub fn new(db: Db, clock: Clock, settings: &config::Cache, quotas: &config::Quotas) -> Self {
        let requests = (quotas.requests_per_second, quotas.requests_burst);
        Self { db, clock, requests, known: Arc::new(Cache::new("keys", settings.keys)) }
    }

    /// The check that `http` calls.
    pub fn authenticator(&self) -> Authenticator {
        let keys = self.clone();
        Authenticator(Arc::new(move |token| {
            let keys = keys.clone();
            Box::pin(async move { Ok(keys.identify(&token).await?) })
        }))
    }

    /// Whom a key belongs to; None if it is malformed, unknown, wrong, expired or revoked.
    pub async fn identify(&self, token: &str) -> Result<Option<Identity>, Error> {
        let Some(key) = ApiKey::parse(token) else { return Ok(None) };
        let Some(known) = self.find(key.id()).await? else { return Ok(None) };
        let (stored, now) = (&known.stored, self.clock.now());
        let alive = stored.revoked_at.is_none() && stored.expires_at.is_none_or(|end| now < end);
        if !key.matches(&stored.secret_sha256) || !alive {
            return Ok(None);
        }
        self.note_use(key.id(), &known, now).await;
        let domains = known.domains.clone();
        Ok(match (Scope::parse(&stored.scope), stored.tenant_id) {
            (Some(Scope::Operator), None) => Some(Identity::Operator { key_id: key.id() }),
            (Some(scope), Some(tenant_id)) => {
                let requests = self.policy(stored);
                Some(Identity::Tenant(Caller { tenant_id, key_id: key.id(), scope, domains, requests }))
            }
            _ => None,
        })
    }

    /// How often the tenant of a key may come: what it has of its own, else what is configured.
    fn policy(&self, stored: &KeySecret) -> Option<Policy> {
        let own =
            |number: Option<i32>, default| number.and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
        let (per_second, burst) = self.requests;
        Policy::new("tenant", own(stored.requests_per_second, per_second), own(stored.requests_burst, burst))
    }

    /// A key was revoked by this process: the next request reads it again.
    pub fn evict(&self, api_key_id: Uuid) {
        self.known.evict(&api_key_id);
    }

    /// Forgets the keys that another process has revoked.
    pub fn heard(&self, message: &Message<'_>) {
        for item in &message.items {
            if let Ok(api_key_id) = Uuid::try_parse(item) {
                self.evict(api_key_id);
            } else {
                tracing::warn!("an announcement that names no key is ignored");
            }
        }
    }

    /// Number of keys that are remembered.
    pub fn entries(&self) -> usize {
        self.known.len()
    }

    /// Ids that do not exist are not remembered: whoever makes them up would push out those that do.
    async fn find(&self, api_key_id: Uuid) -> Result<Option<Arc<Known>>, Error> {
        if let Lookup::Fresh(known) = self.known.find(&api_key_id, |_, begun| begun.elapsed() < BELIEVED) {
            return Ok(Some(known));
        }
        let ticket = self.known.ticket(&api_key_id);
        let Some(mut stored) = store::find_key_secret(self.db.management(), api_key_id).await? else {
            return Ok(None);
        };
        let domain_ids = std::mem::take(&mut stored.domain_ids);
        let domains = Some(domain_ids).filter(|ids| !ids.is_empty()).map(Arc::from);
        let noted = stored.last_used_at.is_some_and(|at| self.clock.now() - at < NOTED);
        let known = Arc::new(Known { stored, domains, noted: AtomicBool::new(noted) });
        self.known.insert(api_key_id, Arc::clone(&known), ticket);
        Ok(Some(known))
    }

    async fn note_use(&self, api_key_id: Uuid, known: &Known, now: OffsetDateTime) {
        if known.noted.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = store::update_key_last_used(self.db.management(), api_key_id, now).await {
            // A read-only or busy database must not lock anybody out.
            tracing::debug!(%error, "the last use of a key could not be noted");
        }
    }
}
