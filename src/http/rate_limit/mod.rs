//! Who may ask how often. Four policies: requests of an API key; those of a tenant, with all its keys; writes without a credential, and credentials that
//! are wrong, of a client address; wrong credentials that claim to be one key or participant.
//!
//! A ballot token that is right is never refused: a hall has one public address. Neither is a key that was right
//! lately, so that who shares an address, or a proxy that is not in `server.trusted_proxies`, locks nobody out.
//! What is read without a credential, resolution above all, is not limited. Counts are of this process, not shared.

mod gcra;
mod table;

use std::sync::{Arc, OnceLock};

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use metrics::counter;
use uuid::Uuid;

pub use self::gcra::Policy;
use self::gcra::Standing;
use self::table::Table;
use super::arrival::Arrival;
use super::auth::bearer;
use super::client::{self, Block};
use super::problem::Problem;
use super::problem_codes as codes;
use crate::clock::Clock;
use crate::config::{Limits, Networks};
use crate::telemetry::metrics::RATE_LIMITED;

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What a bearer token claims to be, by its form alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// This API key.
    Key(Uuid),
    /// The ballot token of a tenant's participant.
    Participant(i64, i64),
    /// Nothing that this program gives out.
    Nothing,
}

/// The counts of a process, and what it takes to keep them.
#[derive(Clone, Debug)]
pub struct RateLimits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    trusted: Networks,
    recognise: fn(&str) -> Claim,
    keys: Table<Uuid>,
    tenants: Table<i64>,
    addresses: Table<Block>,
    claims: Table<Claim>,
}

/// A request with a key: travels in its [`Arrival`], so that whoever finds the key right can count it.
#[derive(Clone, Debug)]
pub struct Visit {
    limits: RateLimits,
    standing: Arc<OnceLock<Option<Standing>>>,
}

impl Visit {
    /// Counts the request for this key, which is right, and for its tenant, which may have a policy; 429 if one of
    /// them has come too often. A request that the key's own limit refuses takes nothing from the other keys.
    pub fn admit(&self, key_id: Uuid, tenant: Option<(i64, Policy)>) -> Result<(), Problem> {
        let Inner { keys, tenants, clock, .. } = &*self.limits.0;
        let standing = self.standing.get_or_init(|| {
            let now = clock.monotonic();
            let of_key = keys.take(key_id, now);
            if of_key.as_ref().is_some_and(Standing::is_refused) {
                return of_key;
            }
            let of_tenant = tenant.and_then(|(tenant, policy)| tenants.take_under(Some(policy), tenant, now));
            tighter([of_key, of_tenant])
        });
        standing.filter(Standing::is_refused).map_or(Ok(()), |standing| Err(refusal(&standing)))
    }
}

impl RateLimits {
    /// With these settings; `recognise` reads the form of a credential.
    pub fn new(limits: &Limits, trusted: Networks, recognise: fn(&str) -> Claim, clock: Clock) -> Self {
        let by_address = |name| Policy::new(name, limits.address_per_second, limits.address_burst);
        Self(Arc::new(Inner {
            clock,
            trusted,
            recognise,
            keys: Table::new(Policy::new("key", limits.key_per_second, limits.key_burst)),
            tenants: Table::new(None),
            addresses: Table::new(by_address("address")),
            claims: Table::new(by_address("credential")),
        }))
    }

    /// Why a credential is refused before it is looked at: too many of its address were wrong. Keys that were right
    /// lately and all ballot tokens are looked at all the same, so that no one locks another out.
    fn find_distrust(&self, claim: Claim, block: Block) -> Option<Standing> {
        let Inner { keys, addresses, clock, .. } = &*self.0;
        match claim {
            Claim::Participant(..) => return None,
            Claim::Key(key_id) if keys.knows(key_id) => return None,
            Claim::Key(_) | Claim::Nothing => {}
        }
        addresses.look(block, clock.monotonic()).filter(Standing::is_refused)
    }

    /// Counts a credential that was wrong; the tighter of its two limits.
    fn count_failure(&self, claim: Claim, block: Block) -> Option<Standing> {
        let Inner { addresses, claims, clock, .. } = &*self.0;
        let now = clock.monotonic();
        let of_claim = if claim == Claim::Nothing { None } else { claims.take(claim, now) };
        tighter([addresses.take(block, now), of_claim])
    }
}

/// Of two limits the one that refuses, else the one with less left.
fn tighter(both: [Option<Standing>; 2]) -> Option<Standing> {
    both.into_iter().flatten().min_by_key(|standing| (!standing.is_refused(), standing.left))
}

/// A request on its way through the limits.
#[derive(Debug)]
pub struct Pass {
    credential: Option<(Claim, Option<Block>)>,
    visit: Option<Visit>,
    standing: Option<Standing>,
}

impl RateLimits {
    /// Judges a request before its handler does; the answer, if it is refused. It needs the request's peer for what it
    /// limits by address; without one (requests that come over no connection) only keys are limited.
    pub fn enter(&self, request: &mut Request) -> Result<Pass, Box<Response>> {
        let claim = bearer(request.headers()).map(self.0.recognise);
        let address = client::address(request.extensions(), request.headers(), &self.0.trusted);
        let block = address.map(Block::of);
        let Some(claim) = claim else {
            let known_route = request.extensions().get::<MatchedPath>().is_some();
            let counted = block.filter(|_| known_route && !request.method().is_safe());
            let standing = counted.and_then(|block| self.0.addresses.take(block, self.0.clock.monotonic()));
            return match standing {
                Some(standing) if standing.is_refused() => Err(Box::new(refused(&standing))),
                standing => Ok(Pass { credential: None, visit: None, standing }),
            };
        };
        if let Some(standing) = block.and_then(|block| self.find_distrust(claim, block)) {
            return Err(Box::new(refused(&standing)));
        }
        let mut pass = Pass { credential: Some((claim, block)), visit: None, standing: None };
        if matches!(claim, Claim::Key(_)) {
            let visit = Visit { limits: self.clone(), standing: Arc::default() };
            request.extensions_mut().get_or_insert_default::<Arrival>().visit = Some(visit.clone());
            pass.visit = Some(visit);
        }
        Ok(pass)
    }

    /// Counts what the handler found wrong, and tells the client where it stands.
    pub fn leave(&self, pass: Pass, response: Response) -> Response {
        let standing = match pass.credential {
            Some((claim, Some(block))) if response.status() == StatusCode::UNAUTHORIZED => {
                match self.count_failure(claim, block) {
                    Some(standing) if standing.is_refused() => return refused(&standing),
                    standing => standing,
                }
            }
            _ => pass.visit.and_then(|visit| visit.standing.get().copied().flatten()).or(pass.standing),
        };
        with_headers(response, standing.as_ref())
    }
}

fn refused(standing: &Standing) -> Response {
    with_headers(refusal(standing).into_response(), Some(standing))
}

fn refusal(standing: &Standing) -> Problem {
    let (name, wait) = (standing.policy.name, standing.wait_seconds());
    counter!(RATE_LIMITED, "policy" => name).increment(1);
    Problem::new(&codes::RATE_LIMITED)
        .detail(format!("the limit `{name}` is used up; try again in {wait} s"))
        .header(header::RETRY_AFTER, wait.into())
}

/// Adds `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10, structured fields): `q` requests
/// come back in `w` seconds; `r` are left, and all are there again in `t` seconds.
fn with_headers(mut response: Response, standing: Option<&Standing>) -> Response {
    if let Some(standing) = standing {
        let (name, policy) = (standing.policy.name, standing.policy);
        let headers = response.headers_mut();
        let window = policy.window_seconds();
        insert(headers, &RATELIMIT_POLICY, format!("\"{name}\";q={};w={window}", policy.burst()));
        insert(
            headers,
            &RATELIMIT,
            format!("\"{name}\";r={};t={}", standing.left, standing.full_in_seconds()),
        );
    }
    response
}

fn insert(headers: &mut HeaderMap, name: &HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name.clone(), value);
    }
}
