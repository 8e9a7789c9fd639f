//! What every HTTP route shares: problems, extractors, authentication, the request log and the listener.
//! It knows no feature; `app` passes in how a key is checked.

pub mod api_docs;
pub mod api_page;
pub mod arrival;
pub mod auth;
pub mod body;
pub mod client;
pub mod cursor;
pub mod describe;
pub mod etag;
pub mod fields;
pub mod front;
pub mod health;
mod health_schemas;
pub mod html;
pub mod id;
pub mod idempotency;
pub mod implied;
pub mod json;
pub mod openapi;
pub mod paging;
pub mod patience;
pub mod problem;
pub mod problem_codes;
pub mod problem_docs;
pub mod query;
pub mod rate_limit;
pub mod rawpath;
pub mod request_log;
mod request_meters;
pub mod route;
pub mod schema;
pub mod serve;
pub mod stats;

pub use problem::{Problem, ProblemCode};
