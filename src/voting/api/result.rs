//! The result of a poll for those inside: keys once it is counted, voters once it is published, both any
//! time when results are live.

use axum::extract::State;
use axum::response::Response;

use super::problems::RESULT_NOT_COUNTED;
use super::viewer::Viewer;
use super::views;
use crate::http::Problem;
use crate::http::id::IdPath;
use crate::voting::Voting;
use crate::voting::count::result::interim_document;
use crate::voting::count::tally::tally;
use crate::voting::model::{PollState, ResultState, ResultsVisibility};
use crate::voting::store::polls::Poll;
use crate::voting::store::results::{find_result, list_live_counts};

/// GET /api/v1/polls/{id}/result
pub async fn read(
    State(voting): State<Voting>,
    viewer: Viewer,
    IdPath(poll_id): IdPath,
) -> Result<Response, Problem> {
    let poll = viewer.get_poll(&voting, poll_id).await?;
    let mut conn = voting.db.management().acquire().await?;
    let refused = || Problem::new(&RESULT_NOT_COUNTED);
    match shown(&viewer, &poll) {
        Shown::Nothing => Err(refused()),
        Shown::Result => {
            let body = find_result(&mut conn, viewer.tenant_id(), poll_id, poll.round).await?;
            Ok(views::document(body.ok_or_else(refused)?))
        }
        Shown::Interim => {
            let (entitled, groups) =
                list_live_counts(&mut conn, viewer.tenant_id(), poll_id, poll.round).await?;
            let counted = tally(entitled, poll.options, groups)
                .map_err(|error| Problem::from(crate::db::Error::Internal(error.into())))?;
            Ok(views::document(interim_document(poll_id, poll.round, &counted).encode()))
        }
    }
}

/// What of a result somebody is shown.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// Numbers so far, without a verdict.
    Interim,
    Result,
}

fn shown(viewer: &Viewer, poll: &Poll) -> Shown {
    let live = poll.results == ResultsVisibility::Live;
    match (poll.shown_state(), viewer) {
        ((_, ResultState::Published), _) | ((_, ResultState::Counted), Viewer::Key { .. }) => Shown::Result,
        ((_, ResultState::Counted), Viewer::Voter { .. }) if live => Shown::Result,
        ((PollState::Open, _), _) if live => Shown::Interim,
        _ => Shown::Nothing,
    }
}
