//! Why an operation on meetings, polls or participants is refused. Casting has refusals of its own.

use super::ballot::Fault;
use super::model::MeetingState;
use super::rules::{IllegalStep, ProxyRefusal};
use crate::db::{self, quota::Exceeded};

/// The refusals of everything but casting.
#[derive(Debug, thiserror::Error)]
pub enum VotingError {
    /// There is no such thing, or it is another tenant's.
    #[error("not found")]
    NotFound,
    /// The state machine has no such step.
    #[error(transparent)]
    IllegalStep(#[from] IllegalStep),
    /// Polls open only while the meeting accepts votes.
    #[error("polls open in a meeting that is preparing or active, and this one is {}", .0.as_str())]
    MeetingNotOpen(MeetingState),
    /// Nothing is added to or changed in a meeting that is over.
    #[error("the meeting is {}", .0.as_str())]
    MeetingOver(MeetingState),
    /// The poll's settings freeze when it opens.
    #[error("the settings of a poll change only while it is in draft")]
    NotADraft,
    /// The caller has seen another revision than this one, the current one.
    #[error("it was changed since it was read")]
    Changed(i64),
    /// A deadline is extended only while the poll is open.
    #[error("only an open poll has a deadline to extend")]
    NotOpen,
    /// By the database's clock.
    #[error("the deadline has passed")]
    DeadlinePassed,
    /// The deadline asked for is not after the present moment, or before the one that holds.
    #[error("the new deadline must lie in the future and after the present deadline")]
    DeadlineNotLater,
    /// Addresses or references that the meeting has already.
    #[error("the meeting has participants with these keys already")]
    ParticipantExists(Vec<Fault>),
    /// The participant has left the meeting.
    #[error("the participant was removed")]
    ParticipantRemoved,
    /// A proxy cannot be given so.
    #[error(transparent)]
    Proxy(#[from] ProxyRefusal),
    /// Who shall hold the proxy is not in the meeting.
    #[error("is no participant of this meeting")]
    NoSuchHolder,
    /// Only a counted result is published.
    #[error("the result is not counted yet: close the poll")]
    NotCounted,
    /// The tenant has as many as it may have.
    #[error(transparent)]
    Quota(#[from] Exceeded),
    /// From the database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl From<sqlx::Error> for VotingError {
    fn from(error: sqlx::Error) -> Self {
        Self::Db(error.into())
    }
}
