//! The routes of voting, as `router` registers them, with their description.

use super::problems::{
    ALREADY_VOTED, DEADLINE_PASSED, ILLEGAL_STEP, MEETING_NOT_OPEN, MEETING_OVER, MEETING_SUSPENDED,
    NO_CHANGE, NOT_ELIGIBLE, NOT_PROXY, OPTION_FULL, PARTICIPANT_EXISTS, PARTICIPANT_REMOVED, POLL_CLOSED,
    POLL_NOT_A_DRAFT, POLL_NOT_OPEN, PROXY_CHAIN, PROXY_LIMIT, RESULT_NOT_COUNTED,
};
use super::schemas::{
    ADDED_PARTICIPANTS, ANY_RESULT, BALLOT, DEADLINE, MEETING, MEETING_PAGE, MEETING_STEP, NEW_MEETING,
    NEW_PARTICIPANTS, PARTICIPANT, PARTICIPANT_PAGE, POLL, POLL_PAGE, POLL_SETTINGS, PROXY, RECEIPT, RESULT,
    TOKEN,
};
use crate::http::describe::{Answer, Header};
use crate::http::problem_codes::QUOTA_EXCEEDED;
use crate::http::route::{Access, Route};
use crate::http::schema::{
    ANY_ORIGIN, CACHE_CONTROL, CURSOR, ETAG, IDEMPOTENCY_KEY, IF_MATCH, IF_MATCH_REQUIRED, LIMIT, LOCATION,
    NOTHING, PAGE_HEADERS, REPLAYED,
};

const MEETINGS: &str = "Meetings";
const PARTICIPANTS: &str = "Participants";
const POLLS: &str = "Polls";
const BALLOTS: &str = "Ballots";
const RESULTS: &str = "Results";

const MADE: &[Header] = &[ETAG, LOCATION, CACHE_CONTROL, REPLAYED];
const SEEN: &[Header] = &[ETAG, CACHE_CONTROL];
const POLL_NOW: &[Answer] = &[Answer::json(200, "The poll as it is now.", POLL).headers(SEEN)];

/// The routes.
pub const ROUTES: &[Route] =
    &[
        Route::new("POST", "/api/v1/meetings", Access::Edit)
            .about(MEETINGS, "Makes a meeting, in draft")
            .parameters(&[IDEMPOTENCY_KEY])
            .body(NEW_MEETING)
            .answers(&[Answer::json(201, "Made.", MEETING).headers(MADE)])
            .problems(&[&QUOTA_EXCEEDED]),
        Route::new("GET", "/api/v1/meetings", Access::Observe)
            .about(MEETINGS, "The meetings of the tenant, the newest first")
            .parameters(&[LIMIT, CURSOR])
            .answers(&[Answer::json(200, "A page.", MEETING_PAGE).headers(PAGE_HEADERS)]),
        Route::new("GET", "/api/v1/meetings/{id}", Access::Observe)
            .about(MEETINGS, "A meeting")
            .answers(&[Answer::json(200, "The meeting.", MEETING).headers(SEEN)]),
        Route::new("POST", "/api/v1/meetings/{id}/state", Access::Edit)
            .about(MEETINGS, "Takes a meeting to a state")
            .parameters(&[IF_MATCH])
            .help("Closing a meeting closes and counts its open polls and cancels its drafts.")
            .body(MEETING_STEP)
            .answers(&[Answer::json(200, "It is there.", MEETING).headers(SEEN)])
            .problems(&[&ILLEGAL_STEP]),
        Route::new("GET", "/api/v1/meetings/{id}/participants", Access::Observe)
            .about(PARTICIPANTS, "Everybody who is or was in a meeting")
            .parameters(&[LIMIT, CURSOR])
            .answers(&[Answer::json(200, "A page, in order of id.", PARTICIPANT_PAGE).headers(PAGE_HEADERS)]),
        Route::new("POST", "/api/v1/meetings/{id}/participants", Access::Edit)
            .about(PARTICIPANTS, "Adds one participant, or many, all or none")
            .help("The answer has their ballot tokens, this once.")
            .parameters(&[IDEMPOTENCY_KEY])
            .body(NEW_PARTICIPANTS)
            .answers(&[Answer::json(201, "Added.", ADDED_PARTICIPANTS).headers(&[CACHE_CONTROL, REPLAYED])])
            .problems(&[&MEETING_OVER, &PARTICIPANT_EXISTS, &QUOTA_EXCEEDED]),
        Route::new("GET", "/api/v1/participants/{id}", Access::Observe)
            .about(PARTICIPANTS, "A participant")
            .answers(&[Answer::json(200, "The participant.", PARTICIPANT).headers(SEEN)]),
        Route::new("DELETE", "/api/v1/participants/{id}", Access::Edit)
            .about(PARTICIPANTS, "Removes a participant from the meeting")
            .parameters(&[IF_MATCH])
            .answers(&[Answer::empty(204, "Removed, now or before.")]),
        Route::new("POST", "/api/v1/participants/{id}/token", Access::Edit)
            .about(PARTICIPANTS, "Gives a participant another ballot token")
            .help("The one before is dead.")
            .parameters(&[IF_MATCH, IDEMPOTENCY_KEY])
            .optional_body(NOTHING)
            .answers(&[Answer::json(201, "The token, this once.", TOKEN).headers(&[
                ETAG,
                CACHE_CONTROL,
                REPLAYED,
            ])])
            .problems(&[&MEETING_OVER, &PARTICIPANT_REMOVED]),
        Route::new("PUT", "/api/v1/participants/{id}/proxy", Access::Edit)
            .about(PARTICIPANTS, "Lets another participant cast for this one")
            .help("In polls that open from now on. Replaces an earlier proxy.")
            .parameters(&[IF_MATCH_REQUIRED])
            .body(PROXY)
            .answers(&[Answer::json(200, "The participant.", PARTICIPANT).headers(SEEN)])
            .problems(&[&MEETING_OVER, &PARTICIPANT_REMOVED, &PROXY_CHAIN, &PROXY_LIMIT]),
        Route::new("DELETE", "/api/v1/participants/{id}/proxy", Access::Edit)
            .about(PARTICIPANTS, "Takes a participant's proxy back")
            .help("In open polls too; what was cast with it stands.")
            .parameters(&[IF_MATCH])
            .answers(&[Answer::empty(204, "There is none, now or before.")])
            .problems(&[&MEETING_OVER, &PARTICIPANT_REMOVED]),
        Route::new("POST", "/api/v1/meetings/{id}/polls", Access::Edit)
            .about(POLLS, "Makes a poll, in draft")
            .parameters(&[IDEMPOTENCY_KEY])
            .body(POLL_SETTINGS)
            .answers(&[Answer::json(201, "Made.", POLL).headers(MADE)])
            .problems(&[&MEETING_OVER]),
        Route::new("GET", "/api/v1/meetings/{id}/polls", Access::Observe)
            .about(POLLS, "The polls of a meeting, in order of creation")
            .parameters(&[LIMIT, CURSOR])
            .answers(&[Answer::json(200, "A page.", POLL_PAGE).headers(PAGE_HEADERS)]),
        Route::new("GET", "/api/v1/polls/{id}", Access::ObserveOrBallotToken)
            .about(POLLS, "A poll")
            .answers(POLL_NOW),
        Route::new("PUT", "/api/v1/polls/{id}", Access::Edit)
            .about(POLLS, "Replaces the settings of a draft")
            .parameters(&[IF_MATCH_REQUIRED])
            .body(POLL_SETTINGS)
            .answers(POLL_NOW)
            .problems(&[&POLL_NOT_A_DRAFT]),
        Route::new("POST", "/api/v1/polls/{id}/open", Access::Edit)
            .about(POLLS, "Opens a poll and freezes its electorate")
            .parameters(&[IF_MATCH])
            .answers(POLL_NOW)
            .problems(&[&ILLEGAL_STEP, &MEETING_NOT_OPEN, &DEADLINE_PASSED]),
        Route::new("POST", "/api/v1/polls/{id}/deadline", Access::Edit)
            .about(POLLS, "Sets a later deadline")
            .parameters(&[IF_MATCH])
            .body(DEADLINE)
            .answers(POLL_NOW)
            .problems(&[&POLL_NOT_OPEN, &DEADLINE_PASSED]),
        Route::new("POST", "/api/v1/polls/{id}/close", Access::Edit)
            .about(POLLS, "Closes a poll and counts it")
            .parameters(&[IF_MATCH])
            .answers(&[
                Answer::json(200, "The result, the same bytes every time.", RESULT).headers(&[CACHE_CONTROL])
            ])
            .problems(&[&ILLEGAL_STEP]),
        Route::new("POST", "/api/v1/polls/{id}/cancel", Access::Edit)
            .about(POLLS, "Cancels a draft")
            .parameters(&[IF_MATCH])
            .answers(POLL_NOW)
            .problems(&[&ILLEGAL_STEP]),
        Route::new("POST", "/api/v1/polls/{id}/publish", Access::Edit)
            .about(POLLS, "Publishes a counted result")
            .parameters(&[IF_MATCH])
            .answers(POLL_NOW)
            .problems(&[&RESULT_NOT_COUNTED]),
        Route::new("GET", "/api/v1/polls/{id}/ballot", Access::BallotToken)
            .about(BALLOTS, "The receipt of the own ballot")
            .answers(&[Answer::json(200, "The receipt again.", RECEIPT).headers(&[CACHE_CONTROL])]),
        Route::new("PUT", "/api/v1/polls/{id}/ballot", Access::BallotToken)
            .about(BALLOTS, "Casts a ballot")
            .parameters(&[IDEMPOTENCY_KEY])
            .body(BALLOT)
            .answers(&[Answer::json(201, "Stored, durable, and counted.", RECEIPT)
                .headers(&[CACHE_CONTROL, REPLAYED])])
            .problems(&[
                &NOT_ELIGIBLE,
                &ALREADY_VOTED,
                &OPTION_FULL,
                &POLL_NOT_OPEN,
                &POLL_CLOSED,
                &MEETING_SUSPENDED,
            ]),
        Route::new("PUT", "/api/v1/polls/{id}/ballots/{participant}", Access::BallotToken)
            .about(BALLOTS, "Casts the ballot of somebody whose proxy one holds")
            .help("With one's own ballot token. There is one ballot a participant, and the first one stands.")
            .parameters(&[IDEMPOTENCY_KEY])
            .body(BALLOT)
            .answers(&[Answer::json(201, "Stored, durable, and counted.", RECEIPT)
                .headers(&[CACHE_CONTROL, REPLAYED])])
            .problems(&[
                &NOT_ELIGIBLE,
                &NOT_PROXY,
                &ALREADY_VOTED,
                &OPTION_FULL,
                &POLL_NOT_OPEN,
                &POLL_CLOSED,
                &MEETING_SUSPENDED,
            ]),
        Route::new("DELETE", "/api/v1/polls/{id}/ballot", Access::BallotToken)
            .about(BALLOTS, "Refuses to withdraw the own ballot")
            .help("Polls take no change yet, so the answer is always a problem.")
            .problems(&[&NO_CHANGE, &POLL_NOT_OPEN, &POLL_CLOSED]),
        Route::new("GET", "/api/v1/polls/{id}/result", Access::ObserveOrBallotToken)
            .about(RESULTS, "The result, or live numbers")
            .answers(&[
                Answer::json(200, "As far as the caller may see it.", ANY_RESULT).headers(&[CACHE_CONTROL])
            ])
            .problems(&[&RESULT_NOT_COUNTED]),
        Route::new("GET", "/api/v1/public/{slug}/polls/{id}", Access::Public)
            .about(RESULTS, "A published result")
            .answers(&[Answer::json(200, "The result.", RESULT).headers(&[CACHE_CONTROL, ANY_ORIGIN])]),
    ];
