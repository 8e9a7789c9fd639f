//! What rules are asked, and what they may say to it.

/// What a request brings.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// The path as it was sent, with its leading slash.
    pub path: &'r str,
    /// The query as it was sent.
    pub query: Option<&'r str>,
    /// The value of a header by its name in lower case; empty where it is absent.
    pub header: &'r dyn Fn(&str) -> Vec<u8>,
}

/// What a rule answers to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Place of the rule, from 0.
    pub rule: usize,
    /// The status.
    pub status: u16,
    /// Where a redirect leads: an absolute address, or a path of this server with one slash before it.
    pub location: Option<String>,
    /// Headers that were looked at on the way, in lower case, each once.
    pub vary: Vec<String>,
}

/// A rule whose pattern a request has met, in the order in which they were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Place of the rule, from 0.
    pub rule: usize,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a rule whose pattern was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was met.
    Met,
    /// This one of its conditions did not hold, from 0.
    Unmet(usize),
    /// A rule before it had led somewhere, and it is for what nothing has touched.
    PassedOver,
}

/// A path that the request begins again with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// Place of the rule that led there, from 0.
    pub rule: usize,
    /// The path as if it had been sent so, with its leading slash.
    pub path: String,
    /// The query as if it had been sent so.
    pub query: Option<String>,
    /// Headers that were looked at on the way, in lower case, each once.
    pub vary: Vec<String>,
}

/// What the rules of a domain make of a request that they answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This is the answer.
    Answered(Answer),
    /// Another path is asked for instead.
    Again(Again),
}

impl Outcome {
    /// The answer, if it is one.
    pub fn answer(self) -> Option<Answer> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::Again(_) => None,
        }
    }
}
