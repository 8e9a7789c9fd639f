//! Names that this process remembers: where they point, or that they do not exist. How long each may be
//! believed is decided here; what to do with one that is too old is decided by `resolve`.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::Instant;

use super::model::{Purl, State};
use crate::config;
use crate::db::cache::{Cache, Lookup, Ticket};
use crate::db::notify::{Hearing, Message};

/// How long a live name is believed while every change of it would be heard of.
const WHILE_HEARING: Duration = Duration::from_mins(1);
/// How long anything is believed otherwise.
const BRIEFLY: Duration = Duration::from_secs(1);

/// The topic of messages about names; an item is the domain's id, a blank and the name's key.
pub const TOPIC: &str = "names";

/// The item that tells of a name.
pub fn item(domain_id: i64, name_key: &str) -> String {
    format!("{domain_id} {name_key}")
}

type Key = (i64, Box<str>);

/// What is remembered, in two parts, so that requests for names that do not exist push out none that does.
#[derive(Debug)]
pub struct Known {
    present: Cache<Key, Arc<Purl>>,
    absent: Cache<Key, ()>,
    hearing: Hearing,
}

/// Permission to remember what a read finds that begins now.
#[derive(Debug)]
pub struct Tickets {
    present: Ticket,
    absent: Ticket,
}

impl Known {
    /// Nothing yet.
    pub fn new(settings: &config::Cache, hearing: Hearing) -> Self {
        Self {
            present: Cache::new("names", settings.names),
            absent: Cache::new("absent_names", settings.absent_names),
            hearing,
        }
    }

    /// What is known of the name with this key; a known `None` says that it does not exist.
    pub fn find(&self, domain_id: i64, name_key: &str, now: OffsetDateTime) -> Lookup<Option<Arc<Purl>>> {
        let key = (domain_id, name_key.into());
        let believed = |purl: &Arc<Purl>, begun: Instant| begun.elapsed() < self.lifetime(purl, begun, now);
        match self.present.find(&key, believed) {
            Lookup::Fresh(purl) => Lookup::Fresh(Some(purl)),
            Lookup::Stale(purl) => Lookup::Stale(Some(purl)),
            Lookup::Absent => match self.absent.find(&key, |(), begun| begun.elapsed() < BRIEFLY) {
                Lookup::Fresh(()) => Lookup::Fresh(None),
                Lookup::Stale(()) => Lookup::Stale(None),
                Lookup::Absent => Lookup::Absent,
            },
        }
    }

    /// A live name whose changes are heard of keeps; what its owner may undo at any moment does not.
    fn lifetime(&self, purl: &Purl, begun: Instant, now: OffsetDateTime) -> Duration {
        let keeps = purl.state(now) == State::Live && self.hearing.covers(begun);
        if keeps { WHILE_HEARING } else { BRIEFLY }
    }

    /// Permission to remember what a read of this name finds that begins now.
    pub fn tickets(&self, domain_id: i64, name_key: &str) -> Tickets {
        let key = (domain_id, name_key.into());
        Tickets { present: self.present.ticket(&key), absent: self.absent.ticket(&key) }
    }

    /// Remembers what was read, unless the name was written meanwhile.
    pub fn remember(&self, domain_id: i64, name_key: &str, found: Option<&Arc<Purl>>, tickets: &Tickets) {
        let key = (domain_id, name_key.into());
        match found {
            Some(purl) => self.present.insert(key, Arc::clone(purl), tickets.present),
            None => self.absent.insert(key, (), tickets.absent),
        }
    }

    /// Forgets a name, because it was written.
    pub fn evict(&self, domain_id: i64, name_key: &str) {
        let key = (domain_id, name_key.into());
        self.present.evict(&key);
        self.absent.evict(&key);
    }

    /// Forgets the names that another process has written.
    pub fn heard(&self, message: &Message<'_>) {
        for item in &message.items {
            let name = item.split_once(' ').map(|(id, key)| (id.parse::<i64>(), key));
            if let Some((Ok(domain_id), key)) = name {
                self.evict(domain_id, key);
            } else {
                tracing::warn!("an announcement that names no name is ignored");
            }
        }
    }

    /// Entries, by the name of the cache.
    pub fn entries(&self) -> [(&'static str, usize); 2] {
        [("names", self.present.len()), ("absent_names", self.absent.len())]
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::purl::model::{Kind, TOMBSTONE};

    const NOW: OffsetDateTime = datetime!(2026-05-01 12:00 UTC);

    fn purl(status: u16, valid_until: Option<OffsetDateTime>) -> Arc<Purl> {
        Arc::new(Purl {
            purl_id: 1,
            name_key: "n".into(),
            name: "n".into(),
            revision: 1,
            status,
            kind: Kind::Plain,
            target: Some("https://e.org/".into()),
            variants: Box::default(),
            valid_until,
            tombstone_reason: None,
            successor: None,
            created_at: NOW,
            updated_at: NOW,
        })
    }

    fn known() -> (Known, Hearing) {
        let hearing = Hearing::new();
        (Known::new(&config::Cache::default(), hearing.clone()), hearing)
    }

    fn read(known: &Known, found: Option<&Arc<Purl>>) {
        let tickets = known.tickets(1, "n");
        known.remember(1, "n", found, &tickets);
    }

    /// Time passes while the connection is proven to live.
    async fn pass(seconds: u64, hearing: &Hearing) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        hearing.proven(Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn a_live_name_keeps_for_a_minute_while_its_changes_are_heard_and_else_for_a_second() {
        let (known, hearing) = known();
        let live = purl(302, None);
        hearing.connected();
        read(&known, Some(&live));
        pass(59, &hearing).await;
        assert_eq!(known.find(1, "n", NOW), Lookup::Fresh(Some(Arc::clone(&live))));
        pass(1, &hearing).await;
        assert_eq!(known.find(1, "n", NOW), Lookup::Stale(Some(Arc::clone(&live))));

        read(&known, Some(&live));
        pass(1, &hearing).await;
        hearing.lost();
        assert_eq!(known.find(1, "n", NOW), Lookup::Stale(Some(Arc::clone(&live))), "at once");
        hearing.connected();
        assert_eq!(known.find(1, "n", NOW), Lookup::Stale(Some(live)), "a gap is not forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_live_keeps_for_a_second_whatever_is_heard() {
        let expired = purl(302, Some(NOW));
        for found in [Some(&purl(TOMBSTONE, None)), Some(&purl(404, None)), Some(&expired), None] {
            let (known, hearing) = known();
            hearing.connected();
            read(&known, found);
            assert_eq!(known.find(1, "n", NOW), Lookup::Fresh(found.cloned()));
            pass(1, &hearing).await;
            assert_eq!(known.find(1, "n", NOW), Lookup::Stale(found.cloned()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_expires_while_it_is_remembered_keeps_no_longer() {
        let (known, hearing) = known();
        hearing.connected();
        read(&known, Some(&purl(302, Some(NOW + time::Duration::seconds(10)))));
        pass(9, &hearing).await;
        let at = |seconds| NOW + time::Duration::seconds(seconds);
        assert!(matches!(known.find(1, "n", at(9)), Lookup::Fresh(_)));
        assert!(matches!(known.find(1, "n", at(10)), Lookup::Stale(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_announcement_evicts_the_names_it_lists_whatever_they_are_called() {
        let (known, hearing) = known();
        hearing.connected();
        for key in ["a b", "c"] {
            let tickets = known.tickets(7, key);
            known.remember(7, key, Some(&purl(302, None)), &tickets);
        }
        known.heard(&Message { topic: TOPIC, items: vec![&item(7, "a b"), "nonsense", "x y"] });
        assert_eq!(known.find(7, "a b", NOW), Lookup::Absent);
        assert!(matches!(known.find(7, "c", NOW), Lookup::Fresh(_)));
    }
}
