//! Log lines as text, for people: the fields of an event, and the request it belongs to.

use std::fmt;

use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};

use super::request;

/// The fields of a line.
#[derive(Debug)]
pub struct Fields;

impl<'a> FormatFields<'a> for Fields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'a>, fields: R) -> fmt::Result {
        DefaultFields::new().format_fields(writer.by_ref(), fields)?;
        let of_request = request::with_current(|info| {
            write!(writer, " request_id={} method={} route={}", info.id, info.method, info.route)
        });
        of_request.unwrap_or(Ok(()))
    }
}
