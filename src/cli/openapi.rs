//! `resolute openapi`: prints the document that the server gives at `/api/v1/openapi.json`. Needs neither a
//! configuration nor a database.

use std::io::Write;
use std::process::ExitCode;

use super::Outcome;
use crate::app;
use crate::http::api_docs;

pub fn print() -> Outcome {
    std::io::stdout().write_all(api_docs::text(&app::operations()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
