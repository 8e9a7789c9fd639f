//! Finds the exact and prefix patterns that a path has without trying each: by hash, for prefixes once for each of
//! the lengths that there are.

use std::collections::{BTreeSet, HashMap};

/// Patterns of one case, and the places of their rules in ascending order.
#[derive(Debug, Default)]
struct Texts {
    places: HashMap<Vec<u8>, Vec<usize>>,
    lengths: BTreeSet<usize>,
}

impl Texts {
    fn add(&mut self, text: Vec<u8>, place: usize) {
        self.lengths.insert(text.len());
        self.places.entry(text).or_default().push(place);
    }

    fn whole(&self, path: &[u8], found: &mut Vec<usize>) {
        found.extend(self.places.get(path).into_iter().flatten());
    }

    fn beginnings(&self, path: &[u8], found: &mut Vec<usize>) {
        for length in self.lengths.range(..=path.len()) {
            self.whole(&path[..*length], found);
        }
    }
}

/// The patterns of a set of rules, as whole paths.
#[derive(Debug, Default)]
pub struct Index {
    exact: [Texts; 2],
    prefix: [Texts; 2],
}

impl Index {
    /// A path that answers as a whole.
    pub fn add_exact(&mut self, path: &[u8], ignore_case: bool, place: usize) {
        self.exact[usize::from(ignore_case)].add(folded(path, ignore_case), place);
    }

    /// The beginning of paths that answer.
    pub fn add_prefix(&mut self, path: &[u8], ignore_case: bool, place: usize) {
        self.prefix[usize::from(ignore_case)].add(folded(path, ignore_case), place);
    }

    /// The places of the rules whose pattern a path has, in no order.
    pub fn find(&self, path: &[u8], found: &mut Vec<usize>) {
        let lower = path.to_ascii_lowercase();
        for (ignore_case, path) in [(false, path), (true, &lower)] {
            self.exact[usize::from(ignore_case)].whole(path, found);
            self.prefix[usize::from(ignore_case)].beginnings(path, found);
        }
    }
}

fn folded(path: &[u8], ignore_case: bool) -> Vec<u8> {
    if ignore_case { path.to_ascii_lowercase() } else { path.to_owned() }
}
