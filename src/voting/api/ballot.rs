//! A voter's own ballot once it is cast: reading it, and the refusal to withdraw it.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;

use super::problems::{NO_CHANGE, POLL_CLOSED, POLL_NOT_OPEN};
use super::viewer::BallotToken;
use crate::http::Problem;
use crate::http::auth::unauthenticated;
use crate::http::id::IdPath;
use crate::voting::Voting;
use crate::voting::ballot::Receipt;
use crate::voting::eligibility::{PollStanding, VoterStanding};
use crate::voting::model::PollState;
use crate::voting::standing::Standing;
use crate::voting::token::PresentedToken;

/// GET /api/v1/polls/{id}/ballot: the receipt again.
pub async fn read(
    State(voting): State<Voting>,
    BallotToken(token): BallotToken,
    IdPath(poll_id): IdPath,
) -> Result<Response, Problem> {
    let (poll, voter) = get_own(&voting, &token, poll_id).await?;
    let (Some(signatory), Some(ballot)) = (voter.signatory, voter.ballot) else {
        return Err(Problem::not_found());
    };
    let receipt = Receipt::new((poll_id, poll.round), signatory, &ballot);
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(receipt)).into_response())
}

/// DELETE /api/v1/polls/{id}/ballot: these polls take no change, so nothing is withdrawn.
pub async fn withdraw(
    State(voting): State<Voting>,
    BallotToken(token): BallotToken,
    IdPath(poll_id): IdPath,
) -> Result<Response, Problem> {
    let (poll, _) = get_own(&voting, &token, poll_id).await?;
    Err(Problem::new(match poll.state {
        PollState::Draft | PollState::Cancelled => &POLL_NOT_OPEN,
        PollState::Closed => &POLL_CLOSED,
        PollState::Open if poll.past_deadline => &POLL_CLOSED,
        PollState::Open => &NO_CHANGE,
    }))
}

async fn get_own(
    voting: &Voting,
    token: &PresentedToken,
    poll_id: i64,
) -> Result<(PollStanding, VoterStanding), Problem> {
    let client = voting.db.hot().await?;
    match voting.find_standing(&client, token, poll_id, None).await? {
        Standing::Unauthenticated => Err(unauthenticated()),
        Standing::Found(poll, voter) if poll.meeting_id == voter.meeting_id => Ok((poll, voter)),
        Standing::UnknownPoll | Standing::Found(..) => Err(Problem::not_found()),
    }
}
