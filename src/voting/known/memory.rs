//! The polls that are remembered, up to a number of voters, and what was pushed out of memory. A poll that was pushed out is
//! worth reading again only if it costs less than what it saves: polls in use that together have more voters than may
//! be remembered would otherwise be read for ever, each pushing out the next one to be asked for. Pure.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;

use super::{KnownPoll, PollKey};

/// Voters of an electorate that are read for the price of one voter alone.
const ONE_VOTER: usize = 64;

/// Polls that were pushed out and are not forgotten.
const MOST_PUSHED_OUT: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

/// What a process remembers.
#[derive(Debug)]
pub(super) struct Memory {
    /// Most voters and polls together.
    most: usize,
    by_key: LruCache<PollKey, Arc<KnownPoll>>,
    /// The voters of all of them, and one more for each poll.
    size: usize,
    pushed_out: LruCache<PollKey, PushedOut>,
}

#[derive(Debug)]
struct PushedOut {
    size: usize,
    /// What voters that were read alone since have cost, in voters of an electorate.
    spent: usize,
}

impl Memory {
    /// Nothing yet.
    pub fn new(most: usize) -> Self {
        let pushed_out = LruCache::new(MOST_PUSHED_OUT);
        Self { most, by_key: LruCache::unbounded(), size: 0, pushed_out }
    }

    /// Voters and polls that are remembered.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A poll, as one that is in use.
    pub fn find(&mut self, key: PollKey) -> Option<&Arc<KnownPoll>> {
        self.by_key.get(&key)
    }

    /// The generation of a poll, whether or not it is in use.
    pub fn generation(&self, key: PollKey) -> Option<i64> {
        self.by_key.peek(&key).map(|known| known.standing.generation)
    }

    /// Whether the poll should be read as a whole for one voter more: yes the first time, or if there is room, or if
    /// reading voters alone has cost as much as that since it was pushed out.
    pub fn is_worth_reading(&mut self, key: PollKey) -> bool {
        let room = self.most.saturating_sub(self.size);
        let Some(out) = self.pushed_out.get_mut(&key).filter(|out| out.size > room) else { return true };
        out.spent += ONE_VOTER;
        out.spent >= out.size
    }

    /// Remembers a poll; how many were pushed out for it.
    pub fn insert(&mut self, key: PollKey, poll: Arc<KnownPoll>) -> u64 {
        self.remove(key);
        self.pushed_out.pop(&key);
        self.size += poll.size();
        self.by_key.push(key, poll);
        let mut pushed_out = 0;
        while self.size > self.most {
            let Some((old_key, old)) = self.by_key.pop_lru() else { break };
            self.size -= old.size();
            self.pushed_out.push(old_key, PushedOut { size: old.size(), spent: 0 });
            pushed_out += 1;
        }
        pushed_out
    }

    /// Forgets a poll.
    pub fn remove(&mut self, key: PollKey) {
        if let Some(old) = self.by_key.pop(&key) {
            self.size -= old.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::electorate::KnownVoter;
    use super::*;
    use crate::voting::eligibility::PollStanding;
    use crate::voting::model::{BallotKind, PollState};
    use crate::voting::weight::Weight;

    fn poll(voters: usize) -> Arc<KnownPoll> {
        let standing = PollStanding {
            poll_id: 1,
            meeting_id: 1,
            state: PollState::Open,
            meeting_suspended: false,
            past_deadline: false,
            generation: 1,
            round: 1,
            ballot_kind: BallotKind::SingleChoice,
            option_ids: vec![1],
        };
        let voter = |participant_id| KnownVoter {
            participant_id,
            weight: Weight::ONE,
            record_key: Uuid::nil(),
            token_sha256: [0; 32],
            holder_id: None,
        };
        let voters = (1..=i64::try_from(voters).expect("few")).map(voter).collect();
        Arc::new(KnownPoll { standing, voters })
    }

    #[test]
    fn a_poll_that_was_pushed_out_is_read_again_once_single_voters_have_cost_as_much() {
        let mut memory = Memory::new(1_000);
        assert!(memory.is_worth_reading((1, 1)), "the first time");
        assert_eq!(memory.insert((1, 1), poll(640)), 0);
        assert_eq!(memory.insert((1, 2), poll(640)), 1);
        let asked = (1..20).find(|_| memory.is_worth_reading((1, 1)));
        assert_eq!(asked, Some(11), "641 voters and polls at 64 each");
        memory.insert((1, 1), poll(640));
        assert!(!memory.is_worth_reading((1, 2)), "it was pushed out in turn");
        memory.remove((1, 1));
        assert!(memory.is_worth_reading((1, 2)), "there is room");
    }

    proptest! {
        #[test]
        fn polls_in_turn_are_read_for_no_more_than_twice_what_single_voters_would_cost(
            asked in proptest::collection::vec(0..8_i64, 1..2_000),
            voters in 1..500_usize,
        ) {
            let mut memory = Memory::new(1_000);
            let (mut read, mut single, mut first) = (0, 0, 0);
            for poll_id in &asked {
                let key = (1, *poll_id);
                if memory.find(key).is_some() {
                    continue;
                }
                if memory.is_worth_reading(key) {
                    read += voters;
                    first += usize::from(memory.pushed_out.peek(&key).is_none()) * voters;
                    memory.insert(key, poll(voters));
                } else {
                    single += ONE_VOTER;
                }
                prop_assert!(memory.size() <= 1_000);
            }
            // The last voter alone pays the rest.
            prop_assert!(read <= first + single + asked.len() * ONE_VOTER);
            prop_assert!(single <= asked.len() * ONE_VOTER);
        }
    }
}
