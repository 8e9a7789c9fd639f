//! Problem codes of voting, and which refusal is which.

use super::super::ballot::Fault;
use super::super::error::VotingError;
use super::super::rules::ProxyRefusal;
use crate::http::problem_codes::{INVALID, PRECONDITION_FAILED};
use crate::http::{Problem, ProblemCode, etag, problem};

/// 409.
pub const ALREADY_VOTED: ProblemCode = ProblemCode {
    code: "already_voted",
    status: 409,
    title: "The voter's ballot is cast",
    help: "This poll takes one ballot a voter and no change. `first` names the ballot that stands.",
};
/// 409.
pub const OPTION_FULL: ProblemCode = ProblemCode {
    code: "option_full",
    status: 409,
    title: "The option has no seat left",
    help: "As many ballots as the option has seats came before; `option` names it. Nothing is stored and the right to vote is not used up: choose another option.",
};
/// 409.
pub const POLL_CLOSED: ProblemCode = ProblemCode {
    code: "poll_closed",
    status: 409,
    title: "The poll is closed",
    help: "Voting is over: the poll was closed, or its deadline has passed by the database's clock.",
};
/// 409.
pub const POLL_NOT_OPEN: ProblemCode = ProblemCode {
    code: "poll_not_open",
    status: 409,
    title: "The poll is not open",
    help: "The poll has not been opened yet, or was cancelled.",
};
/// 409.
pub const MEETING_SUSPENDED: ProblemCode = ProblemCode {
    code: "meeting_suspended",
    status: 409,
    title: "The meeting is interrupted",
    help: "Ballots are refused until the meeting goes on; deadlines run on meanwhile.",
};
/// 403.
pub const NOT_ELIGIBLE: ProblemCode = ProblemCode {
    code: "not_eligible",
    status: 403,
    title: "Not in the electorate",
    help: "The electorate was frozen when the poll opened, and this participant is not in it.",
};
/// 403.
pub const NOT_PROXY: ProblemCode = ProblemCode {
    code: "not_proxy",
    status: 403,
    title: "Not the proxy of this participant",
    help: "The proxy must have been held when the poll opened and be held still. It was revoked, or given later, or never.",
};
/// 409.
pub const PROXY_CHAIN: ProblemCode = ProblemCode {
    code: "proxy_chain",
    status: 409,
    title: "Proxies have one level",
    help: "Who holds a proxy gives none, and who has given one holds none, so that there are no chains and no rings. The detail says which it is.",
};
/// 409.
pub const PROXY_LIMIT: ProblemCode = ProblemCode {
    code: "proxy_limit",
    status: 409,
    title: "The holder has as many proxies as the meeting permits",
    help: "`proxies_per_holder` of the meeting says how many; 0 is none at all. It is set when the meeting is made.",
};
/// 409.
pub const NO_CHANGE: ProblemCode = ProblemCode {
    code: "ballot_change_not_allowed",
    status: 409,
    title: "Ballots of this poll do not change",
    help: "A ballot that was cast in this poll stands; it can be neither replaced nor withdrawn.",
};
/// 409.
pub const ILLEGAL_STEP: ProblemCode = ProblemCode {
    code: "illegal_step",
    status: 409,
    title: "Not possible from this state",
    help: "Meetings go draft, preparing, active, closed, archived, and between active and suspended; polls go draft, open, closed, or draft, cancelled. The detail names the step that was refused.",
};
/// 409.
pub const MEETING_NOT_OPEN: ProblemCode = ProblemCode {
    code: "meeting_not_open",
    status: 409,
    title: "The meeting does not accept votes",
    help: "Polls open only in a meeting that is preparing or active.",
};
/// 409.
pub const MEETING_OVER: ProblemCode = ProblemCode {
    code: "meeting_over",
    status: 409,
    title: "The meeting is over",
    help: "Nothing is added to or changed in a closed or archived meeting.",
};
/// 409.
pub const POLL_NOT_A_DRAFT: ProblemCode = ProblemCode {
    code: "poll_not_a_draft",
    status: 409,
    title: "The poll is no draft",
    help: "Texts, options and rule freeze when the poll opens.",
};
/// 409.
pub const DEADLINE_PASSED: ProblemCode = ProblemCode {
    code: "deadline_passed",
    status: 409,
    title: "The deadline has passed",
    help: "By the database's clock. A deadline that has passed is not extended, and a poll does not open after it.",
};
/// 409.
pub const PARTICIPANT_EXISTS: ProblemCode = ProblemCode {
    code: "participant_exists",
    status: 409,
    title: "The meeting has such a participant",
    help: "An address or reference is taken in this meeting; `errors` says which. Nobody of this request was added.",
};
/// 409.
pub const PARTICIPANT_REMOVED: ProblemCode = ProblemCode {
    code: "participant_removed",
    status: 409,
    title: "The participant has left",
    help: "A removed participant gets no token; add the person again.",
};
/// 409.
pub const RESULT_NOT_COUNTED: ProblemCode = ProblemCode {
    code: "result_not_counted",
    status: 409,
    title: "There is no result yet",
    help: "The poll is not counted (closing it counts it; after its deadline a job does), or its result is not for you before it is published. Hidden results say nothing before.",
};

/// All of them.
pub const ALL: &[&ProblemCode] = &[
    &ALREADY_VOTED,
    &OPTION_FULL,
    &POLL_CLOSED,
    &POLL_NOT_OPEN,
    &MEETING_SUSPENDED,
    &NOT_ELIGIBLE,
    &NOT_PROXY,
    &PROXY_CHAIN,
    &PROXY_LIMIT,
    &NO_CHANGE,
    &ILLEGAL_STEP,
    &MEETING_NOT_OPEN,
    &MEETING_OVER,
    &POLL_NOT_A_DRAFT,
    &DEADLINE_PASSED,
    &PARTICIPANT_EXISTS,
    &PARTICIPANT_REMOVED,
    &RESULT_NOT_COUNTED,
];

impl From<Fault> for problem::Fault {
    fn from(fault: Fault) -> Self {
        Self { pointer: fault.pointer, detail: fault.detail }
    }
}

impl From<VotingError> for Problem {
    fn from(error: VotingError) -> Self {
        let code = match &error {
            VotingError::Db(_)
            | VotingError::NotFound
            | VotingError::ParticipantExists(_)
            | VotingError::Quota(_) => None,
            VotingError::IllegalStep(_) => Some(&ILLEGAL_STEP),
            VotingError::MeetingNotOpen(_) => Some(&MEETING_NOT_OPEN),
            VotingError::MeetingOver(_) => Some(&MEETING_OVER),
            VotingError::NotADraft => Some(&POLL_NOT_A_DRAFT),
            VotingError::Changed(_) => Some(&PRECONDITION_FAILED),
            VotingError::NotOpen => Some(&POLL_NOT_OPEN),
            VotingError::DeadlinePassed => Some(&DEADLINE_PASSED),
            VotingError::DeadlineNotLater
            | VotingError::NoSuchHolder
            | VotingError::Proxy(ProxyRefusal::Oneself) => Some(&INVALID),
            VotingError::Proxy(ProxyRefusal::Limit(_)) => Some(&PROXY_LIMIT),
            VotingError::Proxy(ProxyRefusal::PrincipalHolds | ProxyRefusal::HolderGave) => Some(&PROXY_CHAIN),
            VotingError::ParticipantRemoved => Some(&PARTICIPANT_REMOVED),
            VotingError::NotCounted => Some(&RESULT_NOT_COUNTED),
        };
        match (code, error) {
            (_, VotingError::Db(error)) => error.into(),
            (_, VotingError::Quota(exceeded)) => exceeded.into(),
            (_, VotingError::ParticipantExists(faults)) => {
                Self::new(&PARTICIPANT_EXISTS).faults(faults.into_iter().map(Into::into))
            }
            (_, VotingError::DeadlineNotLater) => {
                Self::new(&INVALID).fault("/closes_at", VotingError::DeadlineNotLater.to_string())
            }
            (_, error @ (VotingError::NoSuchHolder | VotingError::Proxy(ProxyRefusal::Oneself))) => {
                Self::new(&INVALID).fault("/holder", error.to_string())
            }
            (Some(code), VotingError::Changed(current)) => {
                Self::new(code).header(http::header::ETAG, etag::of_revision(current))
            }
            (Some(code), error) => Self::new(code).detail(error.to_string()),
            (None, _) => Self::not_found(),
        }
    }
}
