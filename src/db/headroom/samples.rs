//! Where each sequence stood, once an hour for two days, so that a rate survives restarts.
//!
//! One row per sequence and hour: the first of several servers to measure in an hour writes it, the others
//! find it there. Rates are computed elsewhere; nothing here judges.

use std::collections::{BTreeMap, HashMap};

use sqlx::{PgConnection, PgPool};
use time::OffsetDateTime;

use super::project::Sample;
use super::report::Report;

const LIST: &str = "
/* headroom: list samples */
SELECT sequence_name, measured_at, last_value
  FROM headroom_samples
 WHERE hour_starts_at >= $1 - interval '50 hours'";

/// Samples of the last two days before `now`, by sequence.
pub(super) async fn list_samples(
    db: &mut PgConnection,
    now: OffsetDateTime,
) -> sqlx::Result<HashMap<String, Vec<Sample>>> {
    let rows: Vec<(String, OffsetDateTime, i64)> =
        sqlx::query_as(LIST).bind(now).persistent(false).fetch_all(db).await?;
    let mut samples: HashMap<_, Vec<Sample>> = HashMap::new();
    for (sequence, at, last) in rows {
        samples.entry(sequence).or_default().push(Sample { at, last });
    }
    Ok(samples)
}

const INSERT: &str = "
/* headroom: insert samples */
INSERT INTO headroom_samples (hour_starts_at, sequence_name, measured_at, last_value)
SELECT date_trunc('hour', $3::timestamptz, 'UTC'), read.sequence_name, $3, read.last_value
  FROM unnest($1::text[], $2::bigint[]) AS read (sequence_name, last_value)
    ON CONFLICT ON CONSTRAINT headroom_samples_pkey DO NOTHING";

const DELETE: &str = "
/* headroom: delete old samples */
DELETE FROM headroom_samples WHERE hour_starts_at < $1 - interval '50 hours'";

/// Keeps a report as this hour's samples, unless the hour has some, and forgets what is older than two
/// days. Returns how many samples were new.
pub async fn insert_samples(pool: &PgPool, report: &Report) -> sqlx::Result<u64> {
    // A map, because a sequence that feeds two columns has two lines in the report and one position.
    let positions: BTreeMap<&str, i64> =
        report.tables.iter().map(|table| (table.sequence.as_str(), table.last)).collect();
    let (sequences, last): (Vec<&str>, Vec<i64>) = positions.into_iter().unzip();

    // The isolation level is said, because a database default of repeatable read would make two servers
    // that write the same hour fail each other. Rows in key order keep them from deadlocking.
    let mut transaction = pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    let inserted = sqlx::query(INSERT)
        .bind(sequences)
        .bind(last)
        .bind(report.measured_at)
        .persistent(false)
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    if inserted > 0 {
        sqlx::query(DELETE).bind(report.measured_at).persistent(false).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(inserted)
}
