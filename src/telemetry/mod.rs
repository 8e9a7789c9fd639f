//! Log lines, metrics and the facts of the current request: set up once, named in one place.

pub mod json;
pub mod logging;
pub mod metrics;
pub mod request;
mod text;
