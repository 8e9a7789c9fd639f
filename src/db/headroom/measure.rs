//! One measurement: joins what the catalogue says with where each sequence stands.
//!
//! Reads only. A sequence that vanished meanwhile is left out, one that cannot be read is reported as
//! unmeasured; only a lost connection or a catalogue that cannot be read fails the whole.

use std::collections::{BTreeSet, HashMap};

use sqlx::postgres::types::Oid;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use super::catalogue::{self, ColumnRow, SequenceRow};
use super::defaults::{self, LateBound};
use super::report::{Budget, Report, Status, TableHeadroom, TableRows, Unmeasured, UnmeasuredReason};
use super::samples;
use super::sequence::{Capacity, IdRange, LimitedBy, SequencePosition};
use super::settings::Settings;
use super::{Sample, exhausted_at, rate};

/// PostgreSQL stops giving out transaction ids 3,000,000 before the wrap-around at half of 2^32
/// (`SetTransactionIdLimit` in varsup.c; the same for multixacts in multixact.c). That is the end that counts.
const WRAP_LIMIT: i64 = 0x7fff_ffff - 3_000_000;

/// Why a measurement failed as a whole.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The database could not be reached or did not answer the catalogue queries.
    #[error("headroom could not be measured")]
    Database(#[from] sqlx::Error),
    /// The measurement did not end in time.
    #[error("headroom measurement took longer than {0:?}")]
    TimedOut(std::time::Duration),
}

/// Measures the database of this pool, with one connection.
pub async fn measure(pool: &PgPool, settings: &Settings) -> Result<Report, MeasureError> {
    let mut connection = pool.acquire().await?;
    let db = &mut *connection;

    let ages = catalogue::get_ages(db).await?;
    let sequences = catalogue::list_sequences(db).await?;
    let columns = catalogue::list_columns(db).await?;
    let rows = catalogue::list_rows(db).await?;
    let disk = match settings.disk_limit_bytes {
        Some(limit) => Some(Budget::of(catalogue::get_database_bytes(db).await?, limit, settings)),
        None => None,
    };

    let mut unmeasured = Vec::new();
    let feeds = join_feeds(db, &sequences, columns, &mut unmeasured).await?;
    let positions = read_positions(db, &sequences).await?;
    let rows_of: HashMap<Oid, i64> = rows.iter().map(|row| (row.table_oid, row.rows)).collect();

    let mut tables = Vec::new();
    for feed in feeds {
        match positions.get(&feed.sequence.oid) {
            Some(Ok(position)) => tables.push(feed.judge(*position, &rows_of, settings)),
            Some(Err(reason)) => {
                let (table, column) = feed.label();
                unmeasured.push(Unmeasured { table, column, reason: *reason });
            }
            None => {}
        }
    }
    unmeasured.sort_by(|a, b| (&a.table, &a.column).cmp(&(&b.table, &b.column)));

    let earlier = samples::list_samples(db, ages.now).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "headroom samples cannot be read: no rate and no projected date");
        HashMap::new()
    });
    let increments: HashMap<String, i64> =
        sequences.iter().map(|row| (label(&row.schema, &row.name), row.definition().increment)).collect();
    for table in &mut tables {
        let Some(samples) = earlier.get(&table.sequence) else { continue };
        let increment = increments.get(&table.sequence).copied().unwrap_or(1);
        let rate = rate(Sample { at: ages.now, last: table.last }, samples, increment);
        table.rate_per_day = rate.as_ref().map(super::Rate::per_day);
        table.exhausted_at = match table.limited_by {
            LimitedBy::Nothing => None,
            _ => exhausted_at(ages.now, table.remaining, rate),
        };
    }
    tables.sort_by(|a, b| {
        a.ratio.total_cmp(&b.ratio).then_with(|| (&a.table, &a.column).cmp(&(&b.table, &b.column)))
    });

    let all_rows = rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.rows));
    let mut report = Report {
        status: Status::Ok,
        measured_at: ages.now,
        tables,
        unmeasured,
        rows: rows
            .iter()
            .map(|row| TableRows { table: label(&row.schema, &row.table), rows_estimate: row.rows })
            .collect(),
        xid: Budget::of(ages.xid_age, WRAP_LIMIT, settings),
        multixact: Budget::of(ages.multixact_age, WRAP_LIMIT, settings),
        row_limit: settings.row_limit.map(|limit| Budget::of(all_rows, limit, settings)),
        disk,
    };
    report.status = report.worst();
    Ok(report)
}

/// A sequence and what it feeds.
struct Feed<'a> {
    sequence: &'a SequenceRow,
    column: Option<ColumnRow>,
}

impl Feed<'_> {
    fn label(&self) -> (String, String) {
        match &self.column {
            Some(column) => (label(&column.schema, &column.table), column.column.clone()),
            None => (label(&self.sequence.schema, &self.sequence.name), String::new()),
        }
    }

    fn judge(
        self,
        position: SequencePosition,
        rows_of: &HashMap<Oid, i64>,
        settings: &Settings,
    ) -> TableHeadroom {
        let (table, column) = self.label();
        let fed = self.column.as_ref();
        let range = fed.map_or(IdRange::BIGINT, |column| {
            let cast = column.default.as_deref().map_or(IdRange::BIGINT, defaults::cast_range);
            column.range().narrowed_by(cast)
        });
        let may_repeat = fed.is_none_or(|column| column.may_repeat);
        let capacity = Capacity::of(self.sequence.definition(), position, range, may_repeat);
        let ratio = capacity.ratio();
        TableHeadroom {
            table,
            column,
            sequence: label(&self.sequence.schema, &self.sequence.name),
            data_type: fed.map(|column| column.data_type.clone()),
            last: capacity.last,
            max: capacity.end,
            remaining: capacity.remaining,
            used: capacity.used(),
            ratio,
            limited_by: capacity.limited_by,
            rows_estimate: fed.map(|column| rows_of.get(&column.table_oid).copied().unwrap_or(0)),
            rate_per_day: None,
            exhausted_at: None,
            status: Status::of_ratio(ratio, settings),
        }
    }
}

/// Pairs every column with its sequences; sequences that feed no column follow alone.
async fn join_feeds<'a>(
    db: &mut PgConnection,
    sequences: &'a [SequenceRow],
    columns: Vec<ColumnRow>,
    unmeasured: &mut Vec<Unmeasured>,
) -> sqlx::Result<Vec<Feed<'a>>> {
    let by_oid: HashMap<Oid, &SequenceRow> = sequences.iter().map(|row| (row.oid, row)).collect();
    let mut seen: BTreeSet<(u32, String, u32)> = BTreeSet::new();
    let mut feeding: BTreeSet<u32> = BTreeSet::new();
    let mut feeds = Vec::new();
    for column in columns {
        let mut oids = Vec::from_iter(column.sequence_oid);
        if column.sequence_oid.is_none() {
            for call in defaults::late_bound(column.default.as_deref().unwrap_or_default()) {
                let reason = match call {
                    LateBound::Computed => UnmeasuredReason::ComputedName,
                    LateBound::Named(name) => {
                        match catalogue::find_sequence(db, &column.schema, &name).await? {
                            Some(oid) => {
                                oids.push(oid);
                                continue;
                            }
                            None => UnmeasuredReason::UnknownSequence,
                        }
                    }
                };
                let table = label(&column.schema, &column.table);
                unmeasured.push(Unmeasured { table, column: column.column.clone(), reason });
            }
        }
        for oid in oids {
            let Some(sequence) = by_oid.get(&oid) else { continue };
            feeding.insert(oid.0);
            if seen.insert((column.table_oid.0, column.column.clone(), oid.0)) {
                feeds.push(Feed { sequence, column: Some(column.clone()) });
            }
        }
    }
    let alone = sequences.iter().filter(|row| !feeding.contains(&row.oid.0));
    feeds.extend(alone.map(|sequence| Feed { sequence, column: None }));
    Ok(feeds)
}

/// Reads each sequence once, however many columns it feeds. A sequence that is gone has no entry.
async fn read_positions(
    db: &mut PgConnection,
    sequences: &[SequenceRow],
) -> sqlx::Result<HashMap<Oid, Result<SequencePosition, UnmeasuredReason>>> {
    let mut positions = HashMap::with_capacity(sequences.len());
    for row in sequences {
        let position = match read_position(db, row).await {
            Ok(position) => Ok(position),
            Err(sqlx::Error::Database(error)) => match error.code().as_deref() {
                // Undefined table, schema, or an object that is no sequence any more.
                Some("42P01" | "3F000" | "42703") => continue,
                Some("42501") => Err(UnmeasuredReason::PermissionDenied),
                Some("55P03" | "57014") => Err(UnmeasuredReason::Locked),
                _ => {
                    tracing::warn!(%error, sequence = row.name, "sequence cannot be read");
                    Err(UnmeasuredReason::Unreadable)
                }
            },
            Err(error) => return Err(error),
        };
        positions.insert(row.oid, position);
    }
    Ok(positions)
}

/// Reads `last_value` and `is_called` from the sequence itself: `pg_sequences.last_value` is NULL after
/// RESTART, which would read as full headroom. One simple-protocol round trip is one transaction, so the
/// lock timeout ends with it, also behind a transaction pooler.
async fn read_position(db: &mut PgConnection, row: &SequenceRow) -> sqlx::Result<SequencePosition> {
    let statement = format!(
        "/* headroom: sequence */ SET LOCAL lock_timeout = '200ms'; SELECT last_value, is_called FROM {}.{}",
        quote(&row.schema),
        quote(&row.name)
    );
    // Safe: the names come from the catalogue and are quoted as identifiers.
    let rows = sqlx::raw_sql(AssertSqlSafe(statement)).fetch_all(db).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok(SequencePosition {
        last_value: sqlx::Row::try_get(row, "last_value")?,
        is_called: sqlx::Row::try_get(row, "is_called")?,
    })
}

/// Quotes an identifier, always: what `quote_ident` leaves bare depends on the server's keywords.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of a table or sequence in reports and labels: bare in `public`, else with its schema; a part
/// that contains a dot or a quote is quoted, so that two tables never share a name.
fn label(schema: &str, name: &str) -> String {
    let part = |text: &str| if text.contains(['.', '"']) { quote(text) } else { text.to_owned() };
    if schema == "public" { part(name) } else { format!("{}.{}", part(schema), part(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tables_never_share_a_label() {
        assert_eq!(label("public", "purls"), "purls");
        assert_eq!(label("public", "a.b"), "\"a.b\"");
        assert_eq!(label("a", "b"), "a.b");
        assert_eq!(label("a.b", "c"), "\"a.b\".c");
        assert_eq!(label("a", "b.c"), "a.\"b.c\"");
    }

    #[test]
    fn odd_identifiers_are_quoted() {
        assert_eq!(quote("Odd \"one\"; DROP"), "\"Odd \"\"one\"\"; DROP\"");
    }
}
