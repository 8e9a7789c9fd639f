//! Walking a listing by its key instead of by offset: pure rules of cuts and pages, for every store alike.
//!
//! A place in a listing is a *cut* at a key: what is at or after it lies forward, what is before it backward, and no
//! row on both sides, whatever is inserted or deleted meanwhile. Each store states its two statements (forward,
//! backward) in full, each an index condition on the listing's index. There is no count and no offset.

/// What a listing is: its name, the index that serves it, and where it begins.
#[derive(Debug)]
pub struct Listing<K> {
    /// Name; cursors are bound to it, and its statements open with `/* list {name} */`.
    pub name: &'static str,
    /// The cursor index: it gives the rows of both statements in order.
    pub index: &'static str,
    /// A key that no row comes before, in the order of the listing.
    pub start: K,
}

/// A listing without the type of its key, for the test that explains its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListingEntry {
    /// See [`Listing`].
    pub name: &'static str,
    /// See [`Listing`].
    pub index: &'static str,
}

impl<K> Listing<K> {
    /// This listing in the list of all.
    pub const fn entry(&self) -> ListingEntry {
        ListingEntry { name: self.name, index: self.index }
    }
}

/// Which side of a cut is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seek<K> {
    /// Rows at or after the cut, in the order of the listing.
    From(K),
    /// Rows before the cut, the nearest first.
    Before(K),
}

/// One page's worth of a listing, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window<K> {
    /// From where, and in which direction.
    pub seek: Seek<K>,
    limit: usize,
    /// Whether it begins at the start, so that nothing can be before it.
    first: bool,
}

/// A page in the order of the listing, with the cuts at which its neighbours begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, K> {
    /// The rows.
    pub items: Vec<T>,
    /// The page before; None: this is the first.
    pub prev: Option<Seek<K>>,
    /// The page after; None: there was nothing behind this one.
    pub next: Option<Seek<K>>,
}

impl<K: Clone> Window<K> {
    /// The first page of a listing: `limit` rows, at least one.
    pub fn first(listing: &Listing<K>, limit: usize) -> Self {
        Self { seek: Seek::From(listing.start.clone()), limit: limit.max(1), first: true }
    }

    /// A page at a cut: `limit` rows, at least one.
    pub fn at(seek: Seek<K>, limit: usize) -> Self {
        Self { seek, limit: limit.max(1), first: false }
    }

    /// Rows that the statement asks for: one more than are shown tells whether there is another page.
    pub fn fetch(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1)
    }

    /// The page of the rows that a statement gave, in the direction of the seek, at most [`Self::fetch`] of them.
    pub fn page<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> K) -> Page<T, K> {
        let beyond = rows.get(self.limit).map(&key);
        rows.truncate(self.limit);
        match &self.seek {
            // The next cut is at the row that was seen and not shown: should it be gone by then, the cut stays.
            Seek::From(cut) => Page {
                items: rows,
                prev: (!self.first).then(|| Seek::Before(cut.clone())),
                next: beyond.map(Seek::From),
            },
            // Even an empty page leads on: what was deleted before the cut left what is behind it.
            Seek::Before(cut) => {
                rows.reverse();
                let prev = rows.first().filter(|_| beyond.is_some()).map(|row| Seek::Before(key(row)));
                Page { items: rows, prev, next: Some(Seek::From(cut.clone())) }
            }
        }
    }
}

impl<T, K> Page<T, K> {
    /// The same page of other items.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U, K> {
        Page { items: self.items.into_iter().map(convert).collect(), prev: self.prev, next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Two columns, of which the first repeats: the second decides.
    type Key = (u8, u16);

    const LISTING: Listing<Key> = Listing { name: "rows", index: "rows_idx", start: (0, 0) };

    /// What the two statements of a store do.
    fn query(table: &BTreeSet<Key>, window: &Window<Key>) -> Vec<Key> {
        let fetch = usize::try_from(window.fetch()).expect("small");
        match window.seek {
            Seek::From(cut) => table.range(cut..).copied().take(fetch).collect(),
            Seek::Before(cut) => table.range(..cut).rev().copied().take(fetch).collect(),
        }
    }

    /// Walks there and back while `changes` happen between the pages: (forward, backward).
    fn walk(table: &mut BTreeSet<Key>, limit: usize, changes: &[Change]) -> (Vec<Key>, Vec<Key>) {
        let mut changes = changes.iter();
        let mut pass = |table: &mut BTreeSet<Key>, window: &Window<Key>| {
            let page = window.page(query(table, window), |row| *row);
            assert!(page.items.len() <= limit);
            for (key, insert) in changes.by_ref().take(3) {
                if *insert {
                    table.insert(*key)
                } else {
                    table.remove(key)
                };
            }
            page
        };
        let mut page = pass(table, &Window::first(&LISTING, limit));
        let mut forward = page.items.clone();
        while let Some(next) = page.next.clone() {
            page = pass(table, &Window::at(next, limit));
            forward.extend(&page.items);
        }
        let mut backward: Vec<Key> = page.items.iter().rev().copied().collect();
        while let Some(prev) = page.prev.clone() {
            page = pass(table, &Window::at(prev, limit));
            backward.extend(page.items.iter().rev());
        }
        (forward, backward)
    }

    type Change = (Key, bool);

    fn key() -> impl Strategy<Value = Key> {
        (0_u8..4, 0_u16..60)
    }

    proptest! {
        #[test]
        fn a_walk_under_inserts_and_deletes_has_no_duplicate_and_all_that_stayed(
            kept in btree_set(key(), 0..60),
            others in btree_set(key(), 0..60),
            changes in vec((key(), any::<bool>()), 0..400),
            limit in 1_usize..9,
        ) {
            // Nothing that was kept is touched; everything else may come and go between any two pages.
            let changes: Vec<Change> = changes.into_iter().filter(|(key, _)| !kept.contains(key)).collect();
            let mut table: BTreeSet<Key> = kept.union(&others).copied().collect();
            let (forward, backward) = walk(&mut table, limit, &changes);
            prop_assert!(forward.windows(2).all(|pair| pair[0] < pair[1]), "in order, none twice");
            prop_assert!(backward.windows(2).all(|pair| pair[0] > pair[1]), "in reverse order, none twice");
            let stayed = |walked: &[Key]| walked.iter().filter(|key| kept.contains(key)).copied().collect::<Vec<_>>();
            prop_assert_eq!(stayed(&forward), kept.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(stayed(&backward), kept.iter().rev().copied().collect::<Vec<_>>());
        }

        #[test]
        fn a_walk_of_a_table_at_rest_is_the_table(rows in btree_set(key(), 0..80), limit in 1_usize..9) {
            let (forward, backward) = walk(&mut rows.clone(), limit, &[]);
            prop_assert_eq!(&forward, &rows.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(backward, forward.into_iter().rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn only_what_is_there_is_linked_to_and_an_emptied_page_still_leads_back() {
        let table: BTreeSet<Key> = (1..=4).map(|id| (0, id)).collect();
        let first = Window::first(&LISTING, 4);
        let whole = first.page(query(&table, &first), |row| *row);
        assert_eq!((whole.prev, whole.next), (None, None));
        let gone = Window::at(Seek::From((0, 5)), 4);
        let empty = gone.page(query(&table, &gone), |row| *row);
        assert_eq!((empty.prev, empty.next), (Some(Seek::Before((0, 5))), None));
        let back = Window::at(Seek::Before((0, 5)), 4);
        let back = back.page(query(&table, &back), |row| *row);
        assert_eq!(back.items.len(), 4);
        assert_eq!((back.prev, back.next), (None, Some(Seek::From((0, 5)))));
    }
}
