//! What a change of rules does to answers, as far as it is asked: the requests that are stated or that the rules are about.

use std::collections::BTreeSet;

use super::answer::{Outcome, Request};
use super::program::Program;
use super::samples::Sample;
use crate::purl::model::QueryPolicy;

/// Most differences that are told.
pub const MAX_DIFFERENCES: usize = 200;

/// What rules make of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// An answer: its status, and where it leads.
    Answer(u16, Option<String>),
    /// Another path of this server, with its query, is asked for instead.
    Again(String, Option<String>),
    /// No rule answers.
    Nothing,
}

/// A request that is answered otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The request.
    pub asked: Sample,
    /// What the rules in force make of it.
    pub before: Told,
    /// What the new ones would.
    pub after: Told,
}

/// The requests that two programs answer differently, at most [`MAX_DIFFERENCES`], and whether there are more.
pub fn differences(
    before: &Program,
    after: &Program,
    asked: impl IntoIterator<Item = Sample>,
    default_query: QueryPolicy,
) -> (Vec<Difference>, bool) {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for sample in asked {
        if seen.contains(&sample) {
            continue;
        }
        let (old, new) = (told(before, &sample, default_query), told(after, &sample, default_query));
        if old != new {
            if found.len() == MAX_DIFFERENCES {
                return (found, true);
            }
            found.push(Difference { asked: sample.clone(), before: old, after: new });
        }
        seen.insert(sample);
    }
    (found, false)
}

fn told(program: &Program, sample: &Sample, default_query: QueryPolicy) -> Told {
    let header = |name: &str| {
        let found = sample.headers.iter().find(|(known, _)| known == name);
        found.map_or(Vec::new(), |(_, value)| value.clone().into_bytes())
    };
    let request = Request { path: &sample.path, query: sample.query.as_deref(), header: &header };
    match program.answer(&request, default_query) {
        Some(Outcome::Answered(answer)) => Told::Answer(answer.status, answer.location),
        Some(Outcome::Again(again)) => Told::Again(again.path, again.query),
        None => Told::Nothing,
    }
}
