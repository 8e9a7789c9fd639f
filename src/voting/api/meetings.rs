//! Meetings: making one, reading it, listing them, taking one to a state.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::views::{self, MeetingView};
use crate::http::Problem;
use crate::http::auth::{MayEdit, MayObserve};
use crate::http::body::JsonObject;
use crate::http::etag::IfMatch;
use crate::http::fields;
use crate::http::id::IdPath;
use crate::http::idempotency::Keyed;
use crate::http::paging;
use crate::voting::Voting;
use crate::voting::model::MeetingState;
use crate::voting::rules::MOST_PROXIES;
use crate::voting::store::meeting_list::{MEETINGS, list_meetings};

/// POST /api/v1/meetings
pub async fn create(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let mut read = body.fields();
    let title = read.required("title", fields::text(1..=300));
    let proxies = read.optional("proxies_per_holder", |value| {
        let proxies = fields::integer(0..=MOST_PROXIES.into())(value)?;
        i32::try_from(proxies).map_err(|error| error.to_string())
    });
    read.finish()?;
    let (title, proxies, author) = (title?, proxies?.unwrap_or(0), caller.author());
    once.run(author, async |tx| {
        let meeting = voting.create_meeting(tx, author, &title, proxies).await?;
        Ok(views::meeting(StatusCode::CREATED, meeting))
    })
    .await
}

/// GET /api/v1/meetings
pub async fn list(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    query: paging::Query,
) -> Result<Response, Problem> {
    query.unfiltered()?;
    let asked = query.page_of(&MEETINGS, caller.tenant_id, Vec::new())?;
    let page = list_meetings(voting.db.management(), caller.tenant_id, &asked.window).await?;
    asked.answer(page.map(MeetingView::from))
}

/// GET /api/v1/meetings/{id}
pub async fn read(
    State(voting): State<Voting>,
    MayObserve(caller): MayObserve,
    IdPath(meeting_id): IdPath,
) -> Result<Response, Problem> {
    let meeting = voting.get_meeting(caller.tenant_id, meeting_id).await?;
    Ok(views::meeting(StatusCode::OK, meeting))
}

/// POST /api/v1/meetings/{id}/state: again changes nothing, whatever If-Match says.
pub async fn step(
    State(voting): State<Voting>,
    MayEdit(caller): MayEdit,
    IdPath(meeting_id): IdPath,
    if_match: IfMatch,
    body: JsonObject,
) -> Result<Response, Problem> {
    let mut read = body.fields();
    let state = read.required("state", |value| {
        MeetingState::parse(fields::string(value)?).ok_or_else(|| {
            let words: Vec<&str> = MeetingState::ALL.iter().map(|state| state.as_str()).collect();
            format!("must be one of {}", words.join(", "))
        })
    });
    read.finish()?;
    let (state, accepts) = (state?, |revision| if_match.accepts(revision));
    let meeting = voting.step_meeting(caller.author(), meeting_id, accepts, state).await?;
    Ok(views::meeting(StatusCode::OK, meeting))
}
