//! What meetings, polls and participants look like in JSON. Ids are strings; times are RFC 3339 in UTC.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use time::OffsetDateTime;

use crate::http::etag;
use crate::voting::model::{
    BallotKind, MeetingState, PollState, ResultState, ResultsVisibility, Secrecy, instant_text,
};
use crate::voting::record::hash::hex;
use crate::voting::store::{meetings, participants, polls};

/// A meeting.
#[derive(Serialize)]
pub struct MeetingView {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    title: String,
    state: MeetingState,
    proxies_per_holder: i32,
    created_at: String,
    updated_at: String,
}

impl From<meetings::Meeting> for MeetingView {
    fn from(meeting: meetings::Meeting) -> Self {
        Self {
            id: meeting.meeting_id,
            title: meeting.title,
            state: meeting.state,
            proxies_per_holder: meeting.proxies_per_holder,
            created_at: instant_text(meeting.created_at),
            updated_at: instant_text(meeting.updated_at),
        }
    }
}

/// Renders a meeting with its ETag.
pub fn meeting(status: StatusCode, meeting: meetings::Meeting) -> Response {
    let revision = meeting.revision;
    let view = MeetingView::from(meeting);
    let path = format!("/api/v1/meetings/{}", view.id);
    resource(status, &path, revision, &view)
}

#[derive(Serialize)]
struct OptionView {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    title: String,
    /// Ballots it takes, if not as many as come.
    seats: Option<i32>,
}

/// A poll. It has no number that tells who or how many voted, in any state.
#[derive(Serialize)]
pub struct PollView {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    #[serde(with = "crate::ids::as_string")]
    meeting: i64,
    title: String,
    description: String,
    ballot_kind: BallotKind,
    secrecy: Secrecy,
    results: ResultsVisibility,
    options: Vec<OptionView>,
    state: PollState,
    result_state: ResultState,
    round: i32,
    closes_at: Option<String>,
    opened_at: Option<String>,
    closed_at: Option<String>,
    opening_hash: Option<String>,
    electorate_hash: Option<String>,
    created_at: String,
}

impl From<polls::Poll> for PollView {
    fn from(poll: polls::Poll) -> Self {
        let (state, result_state) = poll.shown_state();
        let instant = |at: Option<OffsetDateTime>| at.map(instant_text);
        // Past a deadline that nothing has materialised yet, the poll closed when the deadline passed.
        let closed_at = poll.closed_at.or(poll.closes_at.filter(|_| state == PollState::Closed));
        Self {
            id: poll.poll_id,
            meeting: poll.meeting_id,
            title: poll.title,
            description: poll.description,
            ballot_kind: poll.ballot_kind,
            secrecy: poll.secrecy,
            results: poll.results,
            options: poll
                .options
                .into_iter()
                .map(|option| OptionView { id: option.option_id, title: option.title, seats: option.seats })
                .collect(),
            state,
            result_state,
            round: poll.round,
            closes_at: instant(poll.closes_at),
            opened_at: instant(poll.opened_at),
            closed_at: instant(closed_at),
            opening_hash: poll.opening_hash.as_deref().map(hex),
            electorate_hash: poll.electorate_hash.as_deref().map(hex),
            created_at: instant_text(poll.created_at),
        }
    }
}

/// Renders a poll with its ETag.
pub fn poll(status: StatusCode, poll: polls::Poll) -> Response {
    let generation = poll.generation;
    let view = PollView::from(poll);
    let path = format!("/api/v1/polls/{}", view.id);
    resource(status, &path, generation, &view)
}

fn resource(status: StatusCode, path: &str, revision: i64, view: &impl Serialize) -> Response {
    let mut response = (status, Json(view)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag::of_revision(revision));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::CREATED
        && let Ok(location) = HeaderValue::try_from(path)
    {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// A participant. Somebody who left is shown without name and address.
#[derive(Serialize)]
pub struct ParticipantView {
    #[serde(with = "crate::ids::as_string")]
    id: i64,
    name: String,
    email: Option<String>,
    external_reference: Option<String>,
    weight: String,
    /// Who may cast for this one.
    proxy: Option<String>,
    created_at: String,
    removed_at: Option<String>,
}

/// What a participant is called who has left the meeting.
const FORMER: &str = "former participant";

impl From<participants::Participant> for ParticipantView {
    fn from(row: participants::Participant) -> Self {
        let left = row.removed_at.is_some();
        Self {
            id: row.participant_id,
            name: if left { FORMER.to_owned() } else { row.name },
            email: row.email.filter(|_| !left),
            external_reference: row.external_reference.filter(|_| !left),
            weight: row.weight.to_string(),
            proxy: row.holder_id.map(|id| id.to_string()),
            created_at: instant_text(row.created_at),
            removed_at: row.removed_at.map(instant_text),
        }
    }
}

/// A document that is canonical JSON already: these bytes and no others.
pub fn document(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}
