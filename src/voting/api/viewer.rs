//! Who looks at a poll: an API key of the tenant, or a participant of the poll's meeting with a ballot token.
//! And the ballot token alone, for casting.

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::Problem;
use crate::http::auth::{MayObserve, bearer, unauthenticated};
use crate::telemetry::request;
use crate::voting::Voting;
use crate::voting::store::participants;
use crate::voting::store::polls::{Poll, find_poll};
use crate::voting::token::{PresentedToken, is_ballot_token};

/// A ballot token that has the right form; whether it is one, the database says.
#[derive(Debug)]
pub struct BallotToken(pub PresentedToken);

impl<S: Send + Sync> FromRequestParts<S> for BallotToken {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).and_then(PresentedToken::parse).ok_or_else(unauthenticated)?;
        request::note_tenant(token.tenant_id);
        Ok(Self(token))
    }
}

/// Somebody who may look at polls.
#[derive(Debug)]
pub enum Viewer {
    /// With a key: every poll of the tenant.
    Key {
        /// The key's tenant.
        tenant_id: i64,
    },
    /// With a ballot token: the polls of one meeting.
    Voter {
        /// The token's tenant.
        tenant_id: i64,
        /// The meeting of the participant.
        meeting_id: i64,
    },
}

impl FromRequestParts<Voting> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Voting) -> Result<Self, Problem> {
        if !bearer(&parts.headers).is_some_and(is_ballot_token) {
            let MayObserve(caller) = MayObserve::from_request_parts(parts, state).await?;
            return Ok(Self::Key { tenant_id: caller.tenant_id });
        }
        let BallotToken(token) = BallotToken::from_request_parts(parts, state).await?;
        let (tenant_id, meeting_id) = (token.tenant_id, authenticate(state, &token).await?);
        Ok(Self::Voter { tenant_id, meeting_id })
    }
}

/// The meeting of the participant whose token this is; 401 if it is nobody's.
pub async fn authenticate(voting: &Voting, token: &PresentedToken) -> Result<i64, Problem> {
    let mut conn = voting.db.management().acquire().await?;
    let found = participants::find_token(&mut conn, token.tenant_id, token.participant_id).await?;
    match found {
        Some((meeting_id, stored)) if token.matches(&stored) => Ok(meeting_id),
        _ => Err(unauthenticated()),
    }
}

impl Viewer {
    /// Whose polls.
    pub fn tenant_id(&self) -> i64 {
        match self {
            Self::Key { tenant_id } | Self::Voter { tenant_id, .. } => *tenant_id,
        }
    }

    /// The poll, if this viewer may see it; "not yours" is 404.
    pub async fn get_poll(&self, voting: &Voting, poll_id: i64) -> Result<Poll, Problem> {
        let mut conn = voting.db.management().acquire().await?;
        let poll = find_poll(&mut conn, self.tenant_id(), poll_id).await?.ok_or_else(Problem::not_found)?;
        match self {
            Self::Voter { meeting_id, .. } if *meeting_id != poll.meeting_id => Err(Problem::not_found()),
            _ => Ok(poll),
        }
    }
}
