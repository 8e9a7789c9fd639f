//! Casting: the ballots that wait for some polls of a tenant are stored under the polls' locks, in one transaction of two
//! flights, and judged by what is read after the locks were granted.
//!
//! Validation and eligibility come before (`known`, `standing`, `eligibility`); nothing here decides who may vote.

mod statements;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use deadpool_postgres::Object;
use futures_util::future::join3;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

pub(super) use self::statements::LOCK_POLL;
pub use self::statements::STATEMENTS;
use self::statements::{INSERT_BALLOTS, LOCK_POLLS};
use super::ballot::StoredBallot;
use super::eligibility::Cast;
use super::known::PollKey;
use super::model::PollState;
use super::standing::ballot_of;
use crate::db::batch::Work;
use crate::db::statement::flight;
use crate::db::tx::Tx;
use crate::db::{self, BEGIN, BEGIN_SEVERAL};

/// What became of one item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Stored; it counts. Its place in the round's log, and when by the database's clock.
    Accepted(i64, OffsetDateTime),
    /// The voter's earlier ballot stands. Only said of what was judged at the current generation.
    Before(StoredBallot),
    /// The poll is closed or its deadline has passed.
    Closed,
    /// The poll is not open.
    NotOpen,
    /// The meeting is interrupted.
    Suspended,
    /// The guard held, but the seats of the option chosen are taken.
    OptionFull,
    /// Something changed since the item was judged: judge it again.
    Stale,
}

/// Ballots as the work of a [`Batcher`](crate::db::batch::Batcher).
#[derive(Debug)]
pub struct Casting;

impl Work for Casting {
    type Key = PollKey;
    type Item = Arc<Cast>;
    type Verdict = Verdict;

    const NAME: &'static str = "ballots";
    const KEYS: usize = 64;
    const LANES: usize = 1;

    fn tenant(key: &PollKey) -> i64 {
        key.0
    }

    fn bytes(cast: &Arc<Cast>) -> usize {
        size_of::<Cast>()
            + size_of_val(cast.choice.as_slice())
            + cast.event.body.len()
            + cast.idempotency_key.as_ref().map_or(0, String::len)
    }

    fn operations(cast: &Arc<Cast>) -> Option<[u64; 2]> {
        Some([cast.participant_id.cast_unsigned(); 2])
    }

    async fn run(
        &self,
        client: Object,
        keys: &[PollKey],
        items: &[Arc<Cast>],
    ) -> Result<Vec<Verdict>, db::Error> {
        let items: Vec<(i64, &Cast)> = keys.iter().zip(items).map(|(key, cast)| (key.1, &**cast)).collect();
        let tenant_id = keys.first().map_or(0, |key| key.0);
        cast_batch(client, tenant_id, &items).await
    }
}

/// Stores a batch on polls of a tenant, under their locks, in one transaction; one verdict for each item, in order. Of
/// two items of one participant in one poll the first is stored and the second is to be judged again, as are those
/// judged at an earlier generation of their poll than others: generations only grow.
pub async fn cast_batch(
    client: Object,
    tenant_id: i64,
    items: &[(i64, &Cast)],
) -> Result<Vec<Verdict>, db::Error> {
    let lock = LOCK_POLLS.prepare(&client).await?;
    let insert = INSERT_BALLOTS.prepare(&client).await?;

    // In ascending order: the order of the locks.
    let mut judged_at = BTreeMap::new();
    for (poll_id, item) in items {
        let latest = judged_at.entry(*poll_id).or_insert(item.generation);
        *latest = item.generation.max(*latest);
    }
    let mut places = HashMap::with_capacity(items.len());
    let mut sent = Vec::with_capacity(items.len());
    for (place, (poll_id, item)) in items.iter().enumerate() {
        let voter = (*poll_id, item.participant_id);
        if judged_at.get(poll_id) == Some(&item.generation) && !places.contains_key(&voter) {
            places.insert(voter, place);
            sent.push((*poll_id, *item));
        }
    }
    let (poll_ids, generations): (Vec<i64>, Vec<i64>) = judged_at.into_iter().unzip();
    let columns = Columns::of(&sent);

    let tx = Tx::new(client, "cast");
    let client = tx.client();
    let opening = if poll_ids.len() > 1 { BEGIN_SEVERAL } else { BEGIN };
    let (begun, locked, stored) = flight(
        3,
        join3(
            client.batch_execute(opening),
            client.query(&lock, &[&tenant_id, &poll_ids]),
            client.query(&insert, &columns.parameters(&tenant_id, &poll_ids, &generations)),
        ),
    )
    .await;
    begun?;
    locked?;
    let rows = stored?;
    flight(1, tx.commit()).await?;

    let mut verdicts = vec![None; items.len()];
    let mut present = HashSet::with_capacity(poll_ids.len());
    for row in &rows {
        // RETURNING's order means nothing: rows are matched to items by poll and participant.
        let (poll_id, participant_id): (i64, i64) = (row.try_get(POLL)?, row.try_get(PARTICIPANT)?);
        let place = *places.get(&(poll_id, participant_id)).ok_or_else(|| unexpected("a row for nobody"))?;
        verdicts[place] = Some(verdict(row, items[place].1.generation)?);
        present.insert(poll_id);
    }
    // What was not sent is judged again, except on a poll that is gone: that has no row for anybody.
    let unsent = |poll_id| if present.contains(&poll_id) { Verdict::Stale } else { Verdict::NotOpen };
    let all = verdicts.into_iter().zip(items);
    Ok(all.map(|(verdict, (poll_id, _))| verdict.unwrap_or_else(|| unsent(*poll_id))).collect())
}

type Parameter<'a> = &'a (dyn ToSql + Sync);

/// The arrays of a batch, one a column.
#[derive(Default)]
struct Columns<'a> {
    poll_ids: Vec<i64>,
    participant_ids: Vec<i64>,
    choices: Vec<String>,
    hashes: Vec<&'a [u8]>,
    keys: Vec<Option<&'a str>>,
    option_ids: Vec<Option<i64>>,
    actors: Vec<Option<Uuid>>,
}

impl<'a> Columns<'a> {
    fn of(items: &[(i64, &'a Cast)]) -> Self {
        let mut columns = Self::default();
        for (poll_id, item) in items {
            columns.poll_ids.push(*poll_id);
            columns.participant_ids.push(item.participant_id);
            columns.choices.push(choice_text(&item.choice));
            columns.hashes.push(item.event.hash.as_slice());
            columns.keys.push(item.idempotency_key.as_deref());
            columns.option_ids.push(item.choice.first().copied());
            columns.actors.push(item.actor_key);
        }
        columns
    }

    fn parameters<'b>(
        &'b self,
        tenant_id: &'b i64,
        poll_ids: &'b Vec<i64>,
        generations: &'b Vec<i64>,
    ) -> [Parameter<'b>; 10] {
        [
            tenant_id,
            poll_ids,
            generations,
            &self.poll_ids,
            &self.participant_ids,
            &self.choices,
            &self.hashes,
            &self.keys,
            &self.option_ids,
            &self.actors,
        ]
    }
}

/// Columns that every row is read by: by number, because a name is searched for.
const POLL: usize = 0;
const PARTICIPANT: usize = 1;
const INDEX: usize = 2;
const CAST_AT: usize = 3;
const STATE: usize = 4;

fn verdict(row: &Row, judged_at: i64) -> Result<Verdict, db::Error> {
    let Some(state) = row.try_get::<_, Option<&str>>(STATE)? else {
        return Ok(Verdict::Accepted(row.try_get(INDEX)?, row.try_get(CAST_AT)?));
    };
    let generation: i64 = row.try_get("generation")?;
    if let Some(ballot) = ballot_of(row)? {
        // A ballot is shown to its voter alone, and whether this is the voter still, the judgement cannot say any more: the
        // token may have been replaced since.
        return Ok(if generation == judged_at { Verdict::Before(ballot) } else { Verdict::Stale });
    }
    if row.try_get("held")? {
        return Ok(Verdict::OptionFull);
    }
    Ok(match PollState::parse(state).ok_or_else(|| unexpected("a poll in an unknown state"))? {
        PollState::Closed => Verdict::Closed,
        PollState::Draft | PollState::Cancelled => Verdict::NotOpen,
        PollState::Open if row.try_get("past_deadline")? => Verdict::Closed,
        PollState::Open if row.try_get("meeting_suspended")? => Verdict::Suspended,
        PollState::Open if generation != judged_at => Verdict::Stale,
        PollState::Open => return Err(unexpected("a ballot refused for no reason")),
    })
}

/// A choice as stored: ids are digits, so no escaping is needed.
fn choice_text(option_ids: &[i64]) -> String {
    let mut text = String::with_capacity(2 + option_ids.len() * 12);
    for (place, option_id) in option_ids.iter().enumerate() {
        let before = if place == 0 { '[' } else { ',' };
        // Writing to a String cannot fail.
        let _ = write!(text, "{before}\"{option_id}\"");
    }
    text.push_str(if text.is_empty() { "[]" } else { "]" });
    text
}

fn unexpected(what: &str) -> db::Error {
    db::Error::Internal(format!("casting: {what}").into())
}
