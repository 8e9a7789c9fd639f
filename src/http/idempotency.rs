//! `Idempotency-Key`: a request that creates and is sent twice happens once, and both get the first answer, byte
//! for byte. A handler takes its body as [`Keyed`] and does its work in [`Once::run`], in one transaction with the
//! stored answer; hot paths with a transaction of their own use [`Once::key`], [`Once::record`] and
//! [`Once::replay`]. Only successes are stored: a refused request is judged anew. Answers are sealed, because some
//! show a secret once. (A cast keeps its key in the ballot and only reads the header here.)

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::response::Response;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::arrival::Arrival;
use super::body;
use super::problem::Problem;
use super::problem_codes as codes;
use crate::clock::Clock;
use crate::db::audit::Author;
use crate::db::idempotency::{self, Key, Stored};
use crate::db::{self, Db};
use crate::ids::Ids;
use crate::secret::{MasterSecret, Sealer};

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of a request; None without the header. 400 unless it is there once, with 1 to 255 visible ASCII
/// characters.
pub fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bytes = value.as_bytes();
    let fits = (1..=255).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    match value.to_str() {
        Ok(text) if fits && values.next().is_none() => Ok(Some(text.to_owned())),
        _ => Err(Problem::new(&codes::BAD_HEADER)
            .detail("Idempotency-Key must be there once, with 1 to 255 visible ASCII characters")),
    }
}

/// Marks an answer as one that was given before.
pub fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert(IDEMPOTENCY_REPLAYED.clone(), HeaderValue::from_static("true"));
}

/// What replays need.
#[derive(Clone, Debug)]
pub struct Replays {
    db: Db,
    clock: Clock,
    ids: Ids,
    sealer: Sealer,
}

impl Replays {
    /// Over this database, sealed under what the master secret derives.
    pub fn new(db: Db, clock: Clock, ids: Ids, secret: &MasterSecret) -> Self {
        Self { db, clock, ids, sealer: Sealer::new(&secret.derive("idempotency")) }
    }
}

/// A body that perhaps came with a key.
#[derive(Debug)]
pub struct Keyed<B>(pub Once, pub B);

/// A request that is to happen once, if its client asked for that.
#[derive(Clone, Debug)]
pub struct Once {
    replays: Replays,
    sent: Option<(String, [u8; 32])>,
}

impl<S, B> FromRequest<S> for Keyed<B>
where
    S: Send + Sync,
    B: FromRequest<S, Rejection = Problem>,
{
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Problem> {
        let missing = || Problem::new(&codes::INTERNAL).source("no replays on this route");
        let tools = Arrival::tools(request.extensions()).ok_or_else(missing)?;
        let replays = tools.replays.clone();
        let mut sent = None;
        if let Some(key) = key(request.headers())? {
            let (parts, body) = request.into_parts();
            let bytes = body::read(Request::from_parts(parts.clone(), body)).await?;
            let hash = Sha256::new()
                .chain_update(format!("{} {}\n", parts.method, parts.uri.path()))
                .chain_update(&bytes);
            sent = Some((key, hash.finalize().into()));
            request = Request::from_parts(parts, Body::from(bytes));
        }
        Ok(Self(Once { replays, sent }, B::from_request(request, state).await?))
    }
}

/// What is kept of an answer beside its body.
#[derive(Serialize, Deserialize)]
struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

impl Once {
    /// Does `act` in a transaction, unless the same request was answered before: then that answer again. `act` works
    /// through the connection that it is given and through no other, so that all of it happens or nothing.
    pub async fn run(
        &self,
        author: Author,
        act: impl AsyncFnOnce(&mut PgConnection) -> Result<Response, Problem>,
    ) -> Result<Response, Problem> {
        let key = self.key(author);
        let mut tx = self.replays.db.begin().await?;
        if let Some(key) = &key
            && let Some(stored) = idempotency::lock_and_find(&mut tx, key).await?
        {
            tx.rollback().await?;
            return self.replay(author, &stored);
        }
        let mut response = match act(&mut tx).await {
            Ok(response) => response,
            Err(problem) => {
                // Now, and not when the connection is next used: repeats wait for this.
                let _ = tx.rollback().await;
                return Err(problem);
            }
        };
        if let Some(key) = &key {
            let sealed;
            (response, sealed) = self.record(key, response)?;
            idempotency::insert(&mut tx, key, &sealed, self.replays.clock.now()).await?;
        }
        db::commit(tx).await?;
        Ok(response)
    }

    /// The key under which an answer to this author's request is stored; None if the client sent none.
    pub fn key(&self, author: Author) -> Option<Key> {
        let (key, request_sha256) = self.sent.clone()?;
        Some(Key { tenant_id: author.tenant_id, api_key_id: author.actor.key_id()?, key, request_sha256 })
    }

    /// The answer that the author's request has, if it has one.
    pub async fn find(&self, author: Author) -> Result<Option<Response>, Problem> {
        let Some(key) = self.key(author) else { return Ok(None) };
        let mut conn = self.replays.db.management().acquire().await?;
        let stored = idempotency::find(&mut conn, &key).await?;
        stored.map(|stored| self.replay(author, &stored)).transpose()
    }

    /// An answer with what is to be stored of it.
    pub fn record(&self, key: &Key, response: Response) -> Result<(Response, Vec<u8>), db::Error> {
        let (parts, body) = response.into_parts();
        let broken = || db::Error::Internal("an answer that is not ready cannot be stored".into());
        let body = to_bytes(body, usize::MAX).now_or_never().and_then(Result::ok).ok_or_else(broken)?;
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let headers = parts.headers.iter().filter_map(|(name, value)| Some((name.to_string(), text(value)?)));
        let head = Head { status: parts.status.as_u16(), headers: headers.collect() };
        // JSON on one line, so that the first line end is where the body begins.
        let mut plain = serde_json::to_vec(&head).map_err(|error| db::Error::Internal(error.into()))?;
        plain.push(b'\n');
        plain.extend_from_slice(&body);
        let sealed = self.replays.sealer.seal(key.row().as_bytes(), self.replays.ids.bytes(), &plain);
        Ok((Response::from_parts(parts, Body::from(body)), sealed))
    }

    /// The stored answer again; 422 if the key came with another request then.
    pub fn replay(&self, author: Author, stored: &Stored) -> Result<Response, Problem> {
        let broken = || Problem::new(&codes::INTERNAL).source("a stored answer cannot be read");
        let key = self.key(author).ok_or_else(broken)?;
        if stored.request_sha256 != key.request_sha256 {
            return Err(Problem::new(&codes::IDEMPOTENCY_KEY_REUSED));
        }
        let plain = self.replays.sealer.open(key.row().as_bytes(), &stored.answer).ok_or_else(broken)?;
        let end = plain.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
        let head: Head = serde_json::from_slice(&plain[..end]).map_err(|_| broken())?;
        let mut response = Response::new(Body::from(plain[end + 1..].to_vec()));
        *response.status_mut() = StatusCode::from_u16(head.status).map_err(|_| broken())?;
        for (name, value) in head.headers {
            let name = HeaderName::try_from(name).map_err(|_| broken())?;
            response.headers_mut().append(name, HeaderValue::try_from(value).map_err(|_| broken())?);
        }
        mark_replayed(&mut response);
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_header_of_visible_ascii() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(&IDEMPOTENCY_KEY, HeaderValue::try_from(*value).expect("a value"));
            }
            key(&headers)
        };
        assert_eq!(of(&[]).expect("no key"), None);
        assert_eq!(of(&["8e03978e-40d5"]).expect("a key").as_deref(), Some("8e03978e-40d5"));
        for bad in [&["a", "b"][..], &[""], &["a b"], &["ü"], &[&"x".repeat(256)]] {
            assert_eq!(of(bad).expect_err("refused").code().code, "bad_header", "{bad:?}");
        }
    }
}
