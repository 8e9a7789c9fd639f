//! Polls that this process remembers, each with its frozen electorate, so that a good ballot reads nothing before
//! its transaction. What is remembered may be out of date: the guard under the poll's lock compares the generation, so
//! it can cost a second look but never lets a ballot in. Nothing is refused by it either: whoever seems to have no
//! right to vote is looked up in the database.

mod electorate;
mod memory;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Object;
use futures_util::future::join3;
use metrics::{Counter, counter};
use tokio::sync::Semaphore;

use self::electorate::{KnownVoter, LIST_VOTERS};
use self::memory::Memory;
use super::ballot::Signatory;
use super::eligibility::{Actor, PollStanding, VoterStanding};
use super::standing::{FIND_POLL, LIST_OPTION_IDS, poll_of};
use super::token::PresentedToken;
use crate::db::batch::Turns;
use crate::db::statement::flight;
use crate::db::{self, Db};
use crate::telemetry::metrics::{CACHE_EVICTIONS, CACHE_LOOKUPS};

pub use self::electorate::STATEMENTS;

/// A poll as it was at its generation.
#[derive(Debug)]
pub struct KnownPoll {
    standing: PollStanding,
    /// By participant. None of a poll that is not open, or has more than may be remembered.
    voters: Box<[KnownVoter]>,
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
    memory: Mutex<Memory>,
    turns: Turns,
    /// One gate for each poll that is being read, so that all who need it wait for one reading.
    gates: Mutex<HashMap<PollKey, Arc<Gate>>>,
    /// Who reads ahead: one at a time, so that many polls opened at once leave the connections to those who vote.
    ahead: Semaphore,
    metrics: Metrics,
}

/// Holds the error of a reading that failed, for those who waited for it.
type Gate = tokio::sync::Mutex<Option<Arc<db::Error>>>;

/// Tenant and poll.
pub type PollKey = (i64, i64);

impl KnownPolls {
    /// Nothing yet; `most` voters and polls together. Electorates are read in turn with whatever else uses the connections.
    pub fn new(most: usize, turns: Turns) -> Self {
        Self(Arc::new(Inner {
            most,
            memory: Mutex::new(Memory::new(most)),
            turns,
            gates: Mutex::default(),
            ahead: Semaphore::new(1),
            metrics: Metrics::new(),
        }))
    }

    /// Reads a poll that was just opened, at this generation, so that its first voters find it.
    pub async fn read_ahead(&self, db: &Db, key: PollKey, generation: i64) -> Result<(), db::Error> {
        let _turn = self.0.ahead.acquire().await;
        self.find(db, key, Some(generation - 1)).await.map(|_| ())
    }

    /// The poll, at a generation after `seen` if one is named; one request reads it for all that ask at once. `None` if
    /// there is no such poll, or if it is not worth the reading.
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
        if !lock(&self.0.memory).is_worth_reading(key) {
            self.0.metrics.miss.increment(1);
            return Ok(None);
        }
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
        let mut memory = lock(&self.0.memory);
        if memory.generation(key).is_some_and(|known| known < generation) {
            memory.remove(key);
            self.0.metrics.written.increment(1);
        }
    }

    /// Voters and polls that are remembered.
    pub fn len(&self) -> usize {
        lock(&self.0.memory).size()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn recall(&self, key: PollKey, seen: Option<i64>) -> Option<Arc<KnownPoll>> {
        let mut memory = lock(&self.0.memory);
        let known = memory.find(key)?;
        seen.is_none_or(|seen| known.standing.generation > seen).then(|| Arc::clone(known))
    }

    async fn read(&self, db: &Db, key: PollKey) -> Result<Option<Arc<KnownPoll>>, db::Error> {
        let turn = self.0.turns.take(key.0).await;
        let client = db.hot().await?;
        let Some(poll) = read(&client, key, self.0.most).await? else { return Ok(None) };
        drop((client, turn));
        let poll = Arc::new(poll);
        let pushed_out = lock(&self.0.memory).insert(key, Arc::clone(&poll));
        self.0.metrics.full.increment(pushed_out);
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

/// Reads a poll; its generation first, so that it vouches for what is read after it.
async fn read(client: &Object, key: PollKey, most: usize) -> Result<Option<KnownPoll>, db::Error> {
    let find_poll = FIND_POLL.prepare(client).await?;
    let list_option_ids = LIST_OPTION_IDS.prepare(client).await?;
    let list_voters = LIST_VOTERS.prepare(client).await?;
    let (tenant_id, poll_id) = key;
    let (poll, options, voters) = flight(
        3,
        join3(
            client.query_opt(&find_poll, &[&tenant_id, &poll_id]),
            client.query(&list_option_ids, &[&tenant_id, &poll_id]),
            electorate::read(client, &list_voters, key, most),
        ),
    )
    .await;
    let (poll, options, voters) = (poll?, options?, voters?);
    let Some(poll) = poll else { return Ok(None) };
    let standing = poll_of(poll_id, &options, &poll)?;
    Ok(Some(KnownPoll { standing, voters }))
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
