//! Log lines as JSON, one object a line: time, level, the event's fields, and the request it belongs to. Written straight
//! into the line: a busy server writes one for every request, and what a line costs comes off what it can answer.

use std::fmt::{self, Debug, Write};

use time::OffsetDateTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::request::{self, RequestInfo};
use crate::clock::Clock;

/// A whole line.
#[derive(Debug)]
pub struct Line(pub Clock);

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str("{\"timestamp\":\"")?;
        timestamp(&mut writer, self.0.now())?;
        writer.write_str("\",\"level\":\"")?;
        writer.write_str(event.metadata().level().as_str())?;
        writer.write_char('"')?;
        let mut members = Visitor { writer: writer.by_ref(), first: false, result: Ok(()) };
        event.record(&mut members);
        members.result?;
        request::with_current(|info| members_of(&mut writer, info)).unwrap_or(Ok(()))?;
        writer.write_str("}\n")
    }
}

/// The request that the line is about.
fn members_of(writer: &mut Writer<'_>, info: &RequestInfo) -> fmt::Result {
    let trace_id = info.trace_id.as_deref().map(|trace_id| ("trace_id", trace_id));
    let facts = [("request_id", info.id.as_str()), ("method", info.method), ("route", &info.route)];
    for (name, value) in facts.into_iter().chain(trace_id) {
        for piece in [",\"", name, "\":"] {
            writer.write_str(piece)?;
        }
        string(writer, value)?;
    }
    Ok(())
}

struct Visitor<'a> {
    writer: Writer<'a>,
    first: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    fn member(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.result.is_err() {
            return;
        }
        // `r#type` is called `type`.
        let name = field.name().trim_start_matches("r#");
        let opening = if std::mem::take(&mut self.first) { "\"" } else { ",\"" };
        // Piece by piece: a format string costs more than what it puts together.
        let pieces = [opening, name, "\":"];
        let named = pieces.iter().try_for_each(|piece| self.writer.write_str(piece));
        self.result = named.and_then(|()| value(&mut self.writer.by_ref()));
    }
}

impl Visit for Visitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no word for what is no number.
        self.member(field, |writer| {
            if value.is_finite() { write!(writer, "{value}") } else { writer.write_str("null") }
        });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, |writer| write!(writer, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, |writer| write!(writer, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, |writer| write!(writer, "{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.member(field, |writer| string(writer, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.member(field, |writer| {
            writer.write_char('"')?;
            write!(Escaped(writer), "{value:?}")?;
            writer.write_char('"')
        });
    }
}

fn string(writer: &mut impl Write, text: &str) -> fmt::Result {
    writer.write_char('"')?;
    Escaped(writer).write_str(text)?;
    writer.write_char('"')
}

/// Escapes what a JSON string cannot hold (RFC 8259, 7).
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte >= b' ' && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.0.write_str(&text[plain..at])?;
            match byte {
                b'"' => self.0.write_str("\\\"")?,
                b'\\' => self.0.write_str("\\\\")?,
                b'\n' => self.0.write_str("\\n")?,
                other => write!(self.0, "\\u{other:04x}")?,
            }
            plain = at + 1;
        }
        self.0.write_str(&text[plain..])
    }
}

/// RFC 3339 in UTC with microseconds.
fn timestamp(writer: &mut impl Write, now: OffsetDateTime) -> fmt::Result {
    let (year, month, day) = now.to_calendar_date();
    let (hour, minute, second, micros) = now.to_hms_micro();
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let places: [(usize, u32, usize); 7] = [
        (3, year.unsigned_abs(), 4),
        (6, u8::from(month).into(), 2),
        (9, day.into(), 2),
        (12, hour.into(), 2),
        (15, minute.into(), 2),
        (18, second.into(), 2),
        (25, micros, 6),
    ];
    for (last, mut number, digits) in places {
        for place in (0..digits).map(|back| last - back) {
            text[place] += u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
        }
    }
    writer.write_str(std::str::from_utf8(&text).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;
    use serde_json::{Value, json};
    use time::macros::datetime;
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one writer").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn line(log: impl FnOnce()) -> Value {
        let lines = Lines::default();
        let layer = tracing_subscriber::fmt::layer()
            .event_format(Line(Clock::frozen(datetime!(2026-05-01 02:03:04.000_056 UTC))))
            .with_writer(lines.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        let bytes = lines.0.lock().expect("no writer").clone();
        assert_eq!(bytes.last(), Some(&b'\n'));
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn info(id: &str) -> Arc<RequestInfo> {
        Arc::new(RequestInfo::new(id.to_owned(), "GET", "/{purl}".into(), Some("4bf9".to_owned())))
    }

    #[test]
    fn a_line_has_time_level_and_fields() {
        let line = line(|| {
            tracing::warn!(status = 200_u16, ratio = 0.5, nothing = f64::NAN, ok = true, "said");
        });
        let expected = json!({
            "timestamp": "2026-05-01T02:03:04.000056Z", "level": "WARN", "message": "said", "status": 200,
            "ratio": 0.5, "nothing": null, "ok": true,
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn a_line_of_a_request_names_it() {
        let line = line(|| request::scoped(info("7"), || tracing::info!("said")));
        let expected = json!({
            "timestamp": "2026-05-01T02:03:04.000056Z", "level": "INFO", "message": "said",
            "request_id": "7", "method": "GET", "route": "/{purl}", "trace_id": "4bf9",
        });
        assert_eq!(line, expected);
    }

    proptest! {
        #[test]
        fn whatever_a_field_holds_the_line_is_json_and_holds_it(text in ".*") {
            let line = line(|| {
                request::scoped(info(&text), || tracing::info!(field = text.as_str(), debug = ?text));
            });
            prop_assert_eq!(&line["field"], &json!(text));
            prop_assert_eq!(&line["debug"], &json!(format!("{text:?}")));
            prop_assert_eq!(&line["request_id"], &json!(text));
        }
    }
}
