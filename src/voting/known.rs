//! Polls that this process remembers, each with its frozen electorate, so that a good ballot reads nothing before
//! its transaction. What is remembered may be out of date: the guard under the poll's lock compares the generation, so
//! it can cost a second look but never lets a ballot in. Nothing is refused by it either: whoever seems to have no
//! right to vote is looked up in the database.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Object;
use futures_util::TryStreamExt as _;
use futures_util::future::{join3, ready};
use lru::LruCache;
use metrics::{Counter, counter};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::ballot::Signatory;
use super::eligibility::{Actor, PollStanding, VoterStanding};
use super::standing::{FIND_POLL, LIST_OPTION_IDS, poll_of};
use super::token::PresentedToken;
use super::weight::Weight;
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};
use crate::telemetry::metrics::{CACHE_EVICTIONS, CACHE_LOOKUPS};

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&LIST_VOTERS];

/// The electorate of the current round, in order, one more than may be remembered at most. Each step is a look-up that
/// the planner cannot turn round (`OFFSET 0`, LATERAL): as a join, planned while the tables were small, it paired every
/// participant of the tenant with the whole electorate. The meeting is named so that either index of participants
/// finds the one row.
const LIST_VOTERS: Statement = Statement {
    name: "known_list_voters",
    sql: "/* known_list_voters */
        SELECT e.participant_id, e.weight_micros, v.token_sha256, v.record_key,
               CASE WHEN e.holder_id IS NOT NULL THEN (
                   SELECT x.holder_id FROM proxies x
                   WHERE x.tenant_id = $1 AND x.principal_id = e.participant_id AND x.holder_id = e.holder_id
               ) END AS holder_id
        FROM (SELECT meeting_id, round, state FROM polls WHERE tenant_id = $1 AND poll_id = $2 OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT participant_id, weight_micros, holder_id FROM poll_electorate
            WHERE tenant_id = $1 AND poll_id = $2 AND round = p.round ORDER BY participant_id OFFSET 0) AS e
        CROSS JOIN LATERAL (
            SELECT token_sha256, record_key, removed_at FROM participants
            WHERE tenant_id = $1 AND meeting_id = p.meeting_id AND participant_id = e.participant_id OFFSET 0) AS v
        WHERE p.state = 'open' AND v.removed_at IS NULL
        ORDER BY e.participant_id LIMIT $3",
    types: &[Type::INT8, Type::INT8, Type::INT8],
};

/// A poll as it was at its generation.
#[derive(Debug)]
pub struct KnownPoll {
    standing: PollStanding,
    /// By participant. None of a poll that is not open, or has more than may be remembered.
    voters: Box<[KnownVoter]>,
}

#[derive(Debug)]
struct KnownVoter {
    participant_id: i64,
    weight: Weight,
    record_key: Uuid,
    token_sha256: [u8; 32],
    holder_id: Option<i64>,
}

impl KnownPoll {
    /// The poll.
    pub fn standing(&self) -> &PollStanding {
        &self.standing
    }

    /// What it counts for against the bound.
    fn size(&self) -> usize {
        self.voters.len() + 1
    }

    /// The voter with this token, as one who has not voted; none if this memory does not vouch for it.
    pub fn voter(&self, token: &PresentedToken) -> Option<VoterStanding> {
        Some(self.unvoted(self.holder_of(token)?))
    }

    /// The voter in whose name the holder of this token comes, as one who has not voted; none if this memory does not
    /// vouch for both.
    pub fn represented(&self, token: &PresentedToken, participant_id: i64) -> Option<VoterStanding> {
        let holder = self.holder_of(token)?;
        let acting = Actor { participant_id: holder.participant_id, record_key: holder.record_key };
        Some(VoterStanding { acting: Some(acting), ..self.unvoted(self.find(participant_id)?) })
    }

    fn holder_of(&self, token: &PresentedToken) -> Option<&KnownVoter> {
        self.find(token.participant_id).filter(|voter| token.matches(&voter.token_sha256))
    }

    fn find(&self, participant_id: i64) -> Option<&KnownVoter> {
        let place = self.voters.binary_search_by_key(&participant_id, |voter| voter.participant_id).ok()?;
        self.voters.get(place)
    }

    fn unvoted(&self, voter: &KnownVoter) -> VoterStanding {
        VoterStanding {
            participant_id: voter.participant_id,
            meeting_id: self.standing.meeting_id,
            signatory: Some(Signatory { record_key: voter.record_key, weight: voter.weight }),
            ballot: None,
            holder_id: voter.holder_id,
            acting: None,
        }
    }
}

/// The polls of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KnownPolls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    polls: Mutex<Polls>,
    /// One gate for each poll that is being read, so that all who need it wait for one reading.
    gates: Mutex<HashMap<PollKey, Arc<Gate>>>,
    metrics: Metrics,
}

#[derive(Debug)]
struct Polls {
    by_key: LruCache<PollKey, Arc<KnownPoll>>,
    /// The voters of all of them, and one more for each poll.
    size: usize,
}

/// Holds the error of a reading that failed, for those who waited for it.
type Gate = tokio::sync::Mutex<Option<Arc<db::Error>>>;

/// Tenant and poll.
pub type PollKey = (i64, i64);

impl KnownPolls {
    /// Nothing yet; `most` voters and polls together.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            most,
            polls: Mutex::new(Polls { by_key: LruCache::unbounded(), size: 0 }),
            gates: Mutex::default(),
            metrics: Metrics::new(),
        }))
    }

    /// The poll, at a generation after `seen` if one is named; one request reads it for all that ask at once. `None` if
    /// there is no such poll.
    pub async fn find(
        &self,
        db: &Db,
        key: PollKey,
        seen: Option<i64>,
    ) -> Result<Option<Arc<KnownPoll>>, db::Error> {
        if let Some(known) = self.recall(key, seen) {
            self.0.metrics.hit.increment(1);
            return Ok(Some(known));
        }
        // Boxed, as it is rare: what is awaited here is a part of every cast.
        Box::pin(self.find_in_turn(db, key, seen)).await
    }

    async fn find_in_turn(
        &self,
        db: &Db,
        key: PollKey,
        seen: Option<i64>,
    ) -> Result<Option<Arc<KnownPoll>>, db::Error> {
        let gate = Arc::clone(lock(&self.0.gates).entry(key).or_default());
        let mut failed = gate.lock().await;
        if let Some(known) = self.recall(key, seen) {
            self.0.metrics.hit.increment(1);
            return Ok(Some(known));
        }
        if let Some(error) = &*failed {
            return Err(db::Error::shared(error));
        }
        self.0.metrics.miss.increment(1);
        let reading = Reading { polls: self, key };
        let read = self.read(db, key).await.map_err(Arc::new);
        *failed = read.as_ref().err().cloned();
        drop(reading);
        read.map_err(|error| db::Error::shared(&error))
    }

    /// Notes a generation that was seen in the database: what is older is forgotten.
    pub fn seen(&self, key: PollKey, generation: i64) {
        let mut polls = lock(&self.0.polls);
        if polls.by_key.peek(&key).is_some_and(|known| known.standing.generation < generation) {
            polls.remove(key);
            self.0.metrics.written.increment(1);
        }
    }

    /// Voters and polls that are remembered.
    pub fn len(&self) -> usize {
        lock(&self.0.polls).size
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn recall(&self, key: PollKey, seen: Option<i64>) -> Option<Arc<KnownPoll>> {
        let mut polls = lock(&self.0.polls);
        let known = polls.by_key.get(&key)?;
        seen.is_none_or(|seen| known.standing.generation > seen).then(|| Arc::clone(known))
    }

    async fn read(&self, db: &Db, key: PollKey) -> Result<Option<Arc<KnownPoll>>, db::Error> {
        let client = db.hot().await?;
        let Some(poll) = read(&client, key, self.0.most).await? else { return Ok(None) };
        drop(client);
        let poll = Arc::new(poll);
        let mut polls = lock(&self.0.polls);
        polls.remove(key);
        polls.size += poll.size();
        polls.by_key.push(key, Arc::clone(&poll));
        while polls.size > self.0.most {
            let Some((_, old)) = polls.by_key.pop_lru() else { break };
            polls.size -= old.size();
            self.0.metrics.full.increment(1);
        }
        Ok(Some(poll))
    }
}

/// Removes the gate when the reading ends, also one whose client has hung up.
struct Reading<'a> {
    polls: &'a KnownPolls,
    key: PollKey,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        lock(&self.polls.0.gates).remove(&self.key);
    }
}

impl Polls {
    fn remove(&mut self, key: PollKey) {
        if let Some(old) = self.by_key.pop(&key) {
            self.size -= old.size();
        }
    }
}

/// Reads a poll; its generation first, so that it vouches for what is read after it.
async fn read(client: &Object, key: PollKey, most: usize) -> Result<Option<KnownPoll>, db::Error> {
    let find_poll = FIND_POLL.prepare(client).await?;
    let list_option_ids = LIST_OPTION_IDS.prepare(client).await?;
    let list_voters = LIST_VOTERS.prepare(client).await?;
    let (tenant_id, poll_id) = key;
    let limit = i64::try_from(most).unwrap_or(i64::MAX - 1) + 1;
    let (poll, options, voters) = flight(
        3,
        join3(
            client.query_opt(&find_poll, &[&tenant_id, &poll_id]),
            client.query(&list_option_ids, &[&tenant_id, &poll_id]),
            // One by one as they come: as rows they would take several times the memory.
            async {
                let rows = client.query_raw(&list_voters, [tenant_id, poll_id, limit]).await?;
                let rows = rows.map_err(db::Error::from).and_then(|row| ready(voter_of(&row)));
                rows.try_collect::<Vec<_>>().await
            },
        ),
    )
    .await;
    let (poll, options, voters) = (poll?, options?, voters?);
    let Some(poll) = poll else { return Ok(None) };
    let standing = poll_of(poll_id, &options, &poll)?;
    let voters = if voters.len() > most { Box::default() } else { voters.into() };
    Ok(Some(KnownPoll { standing, voters }))
}

fn voter_of(row: &Row) -> Result<KnownVoter, db::Error> {
    let broken = || db::Error::Internal("poll_electorate: a voter without a weight or a token".into());
    let sha256: &[u8] = row.try_get("token_sha256")?;
    Ok(KnownVoter {
        participant_id: row.try_get("participant_id")?,
        weight: Weight::from_micros(row.try_get("weight_micros")?).ok_or_else(broken)?,
        record_key: row.try_get("record_key")?,
        token_sha256: sha256.try_into().map_err(|_| broken())?,
        holder_id: row.try_get("holder_id")?,
    })
}

#[derive(Debug)]
struct Metrics {
    hit: Counter,
    miss: Counter,
    full: Counter,
    written: Counter,
}

impl Metrics {
    fn new() -> Self {
        Self {
            hit: counter!(CACHE_LOOKUPS, "cache" => "voters", "outcome" => "hit"),
            miss: counter!(CACHE_LOOKUPS, "cache" => "voters", "outcome" => "miss"),
            full: counter!(CACHE_EVICTIONS, "cache" => "voters", "reason" => "full"),
            written: counter!(CACHE_EVICTIONS, "cache" => "voters", "reason" => "written"),
        }
    }
}

/// Nothing that holds a lock here can panic half-way through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
