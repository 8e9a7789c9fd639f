//! HTTP of voting: one operation a file. A handler reads: extract, one domain call, render.

mod add_participants;
mod ballot;
mod cast;
mod close_poll;
mod meetings;
mod participants;
mod poll_settings;
mod poll_steps;
mod polls;
pub mod problems;
mod proxies;
mod public_result;
mod result;
mod routes;
mod schemas;
mod viewer;
mod views;

use axum::Router;
use axum::routing::{get, post, put};

use super::Voting;

pub use routes::ROUTES;

/// The router, closed over its own state.
pub fn router(state: Voting) -> Router {
    Router::new()
        .route("/api/v1/meetings", get(meetings::list).post(meetings::create))
        .route("/api/v1/meetings/{id}", get(meetings::read))
        .route("/api/v1/meetings/{id}/state", post(meetings::step))
        .route("/api/v1/meetings/{id}/participants", get(participants::list).post(add_participants::add))
        .route("/api/v1/meetings/{id}/polls", get(polls::list).post(polls::create))
        .route("/api/v1/participants/{id}", get(participants::read).delete(participants::remove))
        .route("/api/v1/participants/{id}/token", post(participants::reissue_token))
        .route("/api/v1/participants/{id}/proxy", put(proxies::give).delete(proxies::revoke))
        .route("/api/v1/polls/{id}", get(polls::read).put(polls::change))
        .route("/api/v1/polls/{id}/open", post(poll_steps::open))
        .route("/api/v1/polls/{id}/deadline", post(poll_steps::extend_deadline))
        .route("/api/v1/polls/{id}/close", post(close_poll::close))
        .route("/api/v1/polls/{id}/cancel", post(poll_steps::cancel))
        .route("/api/v1/polls/{id}/publish", post(poll_steps::publish))
        .route("/api/v1/polls/{id}/ballot", get(ballot::read).put(cast::cast).delete(ballot::withdraw))
        .route("/api/v1/polls/{id}/ballots/{participant}", put(cast::cast_for))
        .route("/api/v1/polls/{id}/result", get(result::read))
        .route("/api/v1/public/{slug}/polls/{id}", get(public_result::read))
        .with_state(state)
}
