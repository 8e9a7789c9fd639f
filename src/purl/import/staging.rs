//! Runs the statements of an import over the hot path's driver: COPY into the staging table, the checks, the quota and
//! the end. What is told of the lines is `run`'s business; their merge is `chunk`'s.

use std::collections::HashSet;
use std::pin::Pin;

use deadpool_postgres::Object;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::report::Outcome;
use super::sheet::{Checked, Row};
use super::source::Format;
use super::statements as sql;
use super::{chunk::Range, merge_statements as merging};
use crate::db::audit::{self, Act, Actor, Author};
use crate::db::quota::{Exceeded, Quota};
use crate::db::statement::Statement;
use crate::db::tx::Tx;
use crate::db::{self, Db};
use crate::purl::model::Kind;
use crate::purl::target::Target;
use crate::purl::variant;
use crate::purl::write::quota;

/// Why a name that is a tombstone is refused.
pub const WITHDRAWN: &str = "the name was withdrawn; it is never free again";

/// Longest piece of a refused cell that is kept for the report, in characters.
const KEPT: usize = 1024;

/// One run over one file.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Whose names they are.
    pub tenant_id: i64,
    /// Its id.
    pub import_id: Uuid,
}

/// A run that was interrupted while it merged.
#[derive(Debug)]
pub struct Unfinished {
    /// The run.
    pub run: Run,
    /// Last line that is merged.
    pub merged_line: i64,
    /// Last line of the file.
    pub last_line: i64,
    /// Whether the lines that are missing are still staged; a crash of PostgreSQL empties the table.
    pub is_staged: bool,
}

/// A line that is decided, or would be.
#[derive(Debug)]
pub struct Decided {
    /// Line of the file.
    pub line: i64,
    /// Domain, or the text of its cell.
    pub domain_path: String,
    /// Name, or the text of its cell.
    pub name: String,
    /// What becomes of it.
    pub outcome: Outcome,
}

impl TryFrom<&tokio_postgres::Row> for Decided {
    type Error = tokio_postgres::Error;

    fn try_from(row: &tokio_postgres::Row) -> Result<Self, tokio_postgres::Error> {
        let outcome = match row.try_get("outcome")? {
            "created" => Outcome::Created,
            "updated" => Outcome::Updated,
            "withdrawn" => Outcome::Refused(WITHDRAWN.to_owned()),
            "refused" => Outcome::Refused(row.try_get("refusal")?),
            _ => Outcome::Unchanged,
        };
        Ok(Self {
            line: row.try_get("line")?,
            domain_path: row.try_get("domain_path")?,
            name: row.try_get("name")?,
            outcome,
        })
    }
}

/// A good line whose place is to be judged again.
#[derive(Debug)]
pub struct StagedLine {
    /// Line of the file.
    pub line: i64,
    /// Its domain.
    pub domain_path: String,
    /// Its name.
    pub name: String,
}

/// The lock under which one process imports a file. Held by a connection of its own.
#[derive(Debug)]
pub struct FileLock {
    client: Object,
    key: String,
}

impl FileLock {
    /// Takes the lock, or `None` where another process has it.
    pub async fn take(db: &Db, tenant_id: i64, sha256: &[u8; 32]) -> Result<Option<Self>, db::Error> {
        let key = format!("resolute import {tenant_id} {sha256:?}");
        let client = db.hot().await?;
        let row = client.query_one(&sql::LOCK_FILE.prepare(&client).await?, &[&key]).await?;
        Ok(row.try_get::<_, bool>("held")?.then_some(Self { client, key }))
    }

    /// Gives it back. Without this it ends with the connection.
    pub async fn release(self) -> Result<(), db::Error> {
        run_one(&self.client, &sql::UNLOCK_FILE, &[&self.key]).await.map(|_| ())
    }
}

pub(super) async fn run_one(
    client: &Object,
    statement: &Statement,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, db::Error> {
    Ok(client.execute(&statement.prepare(client).await?, values).await?)
}

/// The run of this file that an earlier process did not finish.
pub async fn find_unfinished(
    db: &Db,
    tenant_id: i64,
    sha256: &[u8; 32],
) -> Result<Option<Unfinished>, db::Error> {
    let client = db.hot().await?;
    let values: [&(dyn ToSql + Sync); 2] = [&tenant_id, &sha256.as_slice()];
    let Some(row) = client.query_opt(&sql::UNFINISHED.prepare(&client).await?, &values).await? else {
        return Ok(None);
    };
    let (merged_line, last_line) = (row.try_get("merged_line")?, row.try_get("last_line")?);
    let staged: Option<i64> = row.try_get("staged_line")?;
    Ok(Some(Unfinished {
        run: Run { tenant_id, import_id: row.try_get("import_id")? },
        merged_line,
        last_line,
        is_staged: staged == Some(last_line) || merged_line == last_line,
    }))
}

/// Clears away what earlier processes left of this file and records a new run.
pub async fn begin(
    db: &Db,
    run: Run,
    (format, source): (Format, &str),
    sha256: &[u8; 32],
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    let client = db.hot().await?;
    let sha256 = sha256.as_slice();
    run_one(&client, &sql::ABANDON, &[&run.tenant_id, &sha256, &now]).await?;
    run_one(
        &client,
        &sql::BEGIN_RUN,
        &[&run.tenant_id, &run.import_id, &format.as_str(), &source, &sha256, &now],
    )
    .await?;
    Ok(())
}

/// An open COPY. It must be finished; dropped, nothing of it stays.
pub struct Copy {
    tx: Tx,
    writer: Pin<Box<BinaryCopyInWriter>>,
    run: Run,
}

impl Copy {
    /// Opens it, in a transaction without a time limit: it lasts as long as the file is read.
    pub async fn open(db: &Db, run: Run) -> Result<Self, db::Error> {
        let tx = Tx::begin(db.hot().await?, "import_stage").await?;
        tx.client().batch_execute("SET LOCAL statement_timeout = 0").await?;
        let sink = tx.client().copy_in(sql::COPY).await?;
        Ok(Self { tx, writer: Box::pin(BinaryCopyInWriter::new(sink, &sql::COPY_TYPES)), run })
    }

    /// Stages a good line.
    pub async fn good(&mut self, line: i64, row: &Checked) -> Result<(), db::Error> {
        let status = row.status.and_then(|status| i16::try_from(status).ok());
        let refusal: Option<&str> = None;
        let (target, host) = (row.target.as_ref().map(Target::as_str), row.target.as_ref().map(Target::host));
        let values: [&(dyn ToSql + Sync); 15] = [
            &self.run.tenant_id,
            &self.run.import_id,
            &line,
            &status,
            &refusal,
            &row.domain.as_str(),
            &row.name.as_str(),
            &row.name_key,
            &target,
            &host,
            &row.kind.map(Kind::as_str),
            &row.valid_until,
            &row.variants.as_deref().map(variant::to_json),
            &row.reason,
            &row.successor.as_ref().map(Target::as_str),
        ];
        Ok(self.writer.as_mut().write(&values).await?)
    }

    /// Stages a line that is only to be reported.
    pub async fn refused(&mut self, line: i64, row: Option<&Row>, refusal: &str) -> Result<(), db::Error> {
        let none: Option<&str> = None;
        let (domain, name) = row.map_or(("", ""), |row| (row.domain.as_str(), row.name.as_str()));
        let values: [&(dyn ToSql + Sync); 15] = [
            &self.run.tenant_id,
            &self.run.import_id,
            &line,
            &None::<i16>,
            &storable(refusal),
            &storable(domain),
            &storable(name),
            &none,
            &none,
            &none,
            &none,
            &None::<OffsetDateTime>,
            &None::<Value>,
            &none,
            &none,
        ];
        Ok(self.writer.as_mut().write(&values).await?)
    }

    /// Ends it and keeps the lines.
    pub async fn finish(mut self) -> Result<(), db::Error> {
        self.writer.as_mut().finish().await?;
        self.tx.client().batch_execute("ANALYZE import_rows").await?;
        drop(self.writer);
        self.tx.commit().await
    }
}

/// What PostgreSQL can hold of a text that nobody has checked: no NUL, and not endlessly much.
fn storable(text: &str) -> String {
    text.chars().take(KEPT).map(|character| if character == '\0' { '\u{fffd}' } else { character }).collect()
}

/// Checks that need all lines or the names that exist: contradictions, tombstones. How many lines are refused,
/// for whatever reason.
pub async fn check(db: &Db, run: Run) -> Result<i64, db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_check").await?;
    let client = tx.client();
    // So much memory holds the hashes of a million names; more are sorted on disk.
    client.batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL work_mem = '64MB'").await?;
    let key: [&(dyn ToSql + Sync); 2] = [&run.tenant_id, &run.import_id];
    run_one(client, &sql::MARK_DUPLICATES, &key).await?;
    run_one(client, &sql::REFUSE_WITHDRAWN, &key).await?;
    let refused =
        client.query_one(&sql::COUNT_REFUSED.prepare(client).await?, &key).await?.try_get("refused")?;
    tx.commit().await?;
    Ok(refused)
}

/// Paths of the domains that have a line which is not refused.
pub async fn list_good_domains(db: &Db, run: Run) -> Result<HashSet<String>, db::Error> {
    let client = db.hot().await?;
    let key: [&(dyn ToSql + Sync); 2] = [&run.tenant_id, &run.import_id];
    let rows = client.query(&sql::GOOD_DOMAINS.prepare(&client).await?, &key).await?;
    rows.iter().map(|row| Ok(row.try_get("domain_path")?)).collect()
}

/// The good lines of a range.
pub async fn list_good_lines(db: &Db, run: Run, range: Range) -> Result<Vec<StagedLine>, db::Error> {
    let client = db.hot().await?;
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &range.0, &range.1];
    let rows = client.query(&merging::GOOD_LINES.prepare(&client).await?, &values).await?;
    rows.iter()
        .map(|row| {
            let (line, domain_path) = (row.try_get("line")?, row.try_get("domain_path")?);
            Ok(StagedLine { line, domain_path, name: row.try_get("name")? })
        })
        .collect()
}

/// Refuses staged lines after all.
pub async fn refuse(db: &Db, run: Run, refusals: &[(i64, String)]) -> Result<(), db::Error> {
    let (lines, reasons): (Vec<i64>, Vec<&str>) =
        refusals.iter().map(|(line, reason)| (line, reason.as_str())).unzip();
    let client = db.hot().await?;
    run_one(&client, &merging::REFUSE, &[&run.tenant_id, &run.import_id, &lines, &reasons]).await.map(|_| ())
}

/// The lines of a range with what a merge would make of them now.
pub async fn preview(db: &Db, run: Run, range: Range) -> Result<Vec<Decided>, db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_preview").await?;
    let client = tx.client();
    client.batch_execute(merging::PLAN_ANEW).await?;
    let values: [&(dyn ToSql + Sync); 4] = [&run.tenant_id, &run.import_id, &range.0, &range.1];
    let rows = client.query(&merging::PREVIEW.prepare(client).await?, &values).await?;
    let lines = rows.iter().map(Decided::try_from).collect::<Result<_, _>>()?;
    tx.commit().await?;
    Ok(lines)
}

/// From here on the run can be resumed.
pub async fn begin_merge(db: &Db, run: Run, last_line: i64, now: OffsetDateTime) -> Result<(), db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_begin_merge").await?;
    run_one(tx.client(), &sql::BEGIN_MERGE, &[&run.tenant_id, &run.import_id, &last_line]).await?;
    let entry = Act::new("import.started", &run.import_id).after(json!({ "last_line": last_line }));
    audit::insert_hot(tx.client(), author(run), now, &[entry]).await?;
    tx.commit().await
}

/// Imports are made at the command line.
fn author(run: Run) -> Author {
    Author { tenant_id: run.tenant_id, actor: Actor::CommandLine }
}

/// Whether the tenant's quota has room for all names that a checked run would make.
pub async fn find_exceeded(db: &Db, run: Run, names_quota: i64) -> Result<Option<Exceeded>, db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_quota").await?;
    let client = tx.client();
    client.batch_execute("SET LOCAL statement_timeout = 0").await?;
    let values: [&(dyn ToSql + Sync); 3] = [&run.tenant_id, &run.import_id, &names_quota];
    let row = client.query_one(&quota::WHOLE.prepare(client).await?, &values).await?;
    let (limit, used, wanted): (i64, Option<i64>, Option<i64>) =
        (row.try_get("most")?, row.try_get("used")?, row.try_get("wanted")?);
    tx.commit().await?;
    let exceeded =
        used.zip(wanted).map(|(used, wanted)| Exceeded { quota: Quota::Names, limit, used, wanted });
    Ok(exceeded.filter(|it| it.wanted > 0 && it.used.saturating_add(it.wanted) > limit))
}

/// Ends a run whose lines are all merged.
pub async fn end(db: &Db, run: Run, now: OffsetDateTime) -> Result<(), db::Error> {
    let tx = Tx::begin(db.hot().await?, "import_end").await?;
    run_one(tx.client(), &sql::END_RUN, &[&run.tenant_id, &run.import_id, &"done", &now]).await?;
    audit::insert_hot(tx.client(), author(run), now, &[Act::new("import.finished", &run.import_id)]).await?;
    tx.commit().await
}

/// Removes all traces of a run that was only a trial.
pub async fn forget(db: &Db, run: Run) -> Result<(), db::Error> {
    let client = db.hot().await?;
    run_one(&client, &sql::FORGET_RUN, &[&run.tenant_id, &run.import_id]).await.map(|_| ())
}
