//! What the catalogue and the statistics say: sequences, the columns they feed, rows, ages, sizes.
//!
//! No statement locks a user's table, so none waits for a migration; objects may vanish between two
//! statements, and what is no longer there is left out by the caller. Temporary tables are left out: they are
//! private to a session and end with it. Nothing here reads a sequence or counts rows.

use sqlx::PgConnection;
use sqlx::postgres::types::Oid;

use super::sequence::{IdRange, SequenceDefinition};

/// A sequence and its definition.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct SequenceRow {
    pub oid: Oid,
    pub schema: String,
    pub name: String,
    min: i64,
    max: i64,
    increment: i64,
    cycles: bool,
}

impl SequenceRow {
    pub fn definition(&self) -> SequenceDefinition {
        SequenceDefinition { min: self.min, max: self.max, increment: self.increment, cycles: self.cycles }
    }
}

/// A column that a sequence feeds, or whose default calls `nextval`.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct ColumnRow {
    pub table_oid: Oid,
    pub schema: String,
    pub table: String,
    pub column: String,
    /// As declared, for people.
    pub data_type: String,
    base_type: String,
    base_typmod: i32,
    /// Whether no unique index contains the column.
    pub may_repeat: bool,
    /// The sequence that the catalogue knows, if any.
    pub sequence_oid: Option<Oid>,
    /// The default as PostgreSQL prints it, if there is one.
    pub default: Option<String>,
}

impl ColumnRow {
    /// What fits in the column. Types wider than any sequence, and text, limit nothing.
    pub fn range(&self) -> IdRange {
        match self.base_type.as_str() {
            "smallint" => IdRange::SMALLINT,
            "integer" => IdRange::INTEGER,
            "numeric" if self.base_typmod >= 4 => {
                // numeric.c: precision in the upper half, scale in the lower 11 bits with their sign.
                let packed = (self.base_typmod - 4).cast_unsigned();
                let scale = ((packed & 0x7ff) ^ 1024).cast_signed() - 1024;
                IdRange::of_numeric((packed >> 16) & 0xffff, scale)
            }
            _ => IdRange::BIGINT,
        }
    }
}

const SEQUENCES: &str = "
/* headroom: sequences */
SELECT c.oid, n.nspname AS schema, c.relname AS name,
       s.seqmin AS min, s.seqmax AS max, s.seqincrement AS increment, s.seqcycle AS cycles
  FROM pg_catalog.pg_sequence s
  JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relpersistence <> 't'
 ORDER BY n.nspname, c.relname";

/// Sequences of the user's schemas.
pub(super) async fn list_sequences(db: &mut PgConnection) -> sqlx::Result<Vec<SequenceRow>> {
    sqlx::query_as(SEQUENCES).persistent(false).fetch_all(db).await
}

// A partition repeats its parent's columns and, if serial, its default: the parent's line covers both.
// A partition that is fed by a sequence of its own keeps its line. Domains are unfolded to the type beneath,
// whose modifier is the innermost one that is given.
// pg_get_expr(…, 0) rather than (…, adrelid): the latter locks each table and would wait for a migration.
// Only defaults can do without the table, so generated columns, which cannot call nextval, have no text here.
const COLUMNS: &str = "
/* headroom: columns */
WITH RECURSIVE texts AS (
    SELECT ad.oid, ad.adrelid, ad.adnum, CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(ad.adbin, 0) END AS expression
      FROM pg_catalog.pg_attrdef ad
      JOIN pg_catalog.pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
), fed AS (
    SELECT d.refobjid AS relid, d.refobjsubid AS attnum, d.objid AS seqid
      FROM pg_catalog.pg_depend d
      JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
     WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
       AND d.deptype IN ('i', 'a') AND d.refobjsubid > 0
    UNION
    SELECT ad.adrelid, ad.adnum, d.refobjid
      FROM pg_catalog.pg_attrdef ad
      JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
                                 AND d.refclassid = 'pg_catalog.pg_class'::regclass
      JOIN pg_catalog.pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
    UNION
    SELECT texts.adrelid, texts.adnum, NULL
      FROM texts
     WHERE texts.expression LIKE '%nextval((%'
        OR (texts.expression LIKE '%nextval(%' AND NOT EXISTS (
            SELECT 1 FROM pg_catalog.pg_depend d
              JOIN pg_catalog.pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
             WHERE d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = texts.oid
               AND d.refclassid = 'pg_catalog.pg_class'::regclass))
), base AS (
    SELECT t.oid AS typid, t.oid AS base, t.typtype, t.typbasetype, t.typtypmod, -1 AS typmod
      FROM pg_catalog.pg_type t
    UNION ALL
    SELECT base.typid, t.oid, t.typtype, t.typbasetype, t.typtypmod, base.typtypmod
      FROM base JOIN pg_catalog.pg_type t ON base.typtype = 'd' AND t.oid = base.typbasetype
)
SELECT c.oid AS table_oid, n.nspname AS schema, c.relname AS \"table\", a.attname AS \"column\",
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS data_type,
       pg_catalog.format_type(base.base, NULL) AS base_type,
       CASE WHEN base.base = a.atttypid THEN a.atttypmod ELSE base.typmod END AS base_typmod,
       NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i
                    WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey::int2[])) AS may_repeat,
       fed.seqid AS sequence_oid, texts.expression AS \"default\"
  FROM fed
  JOIN pg_catalog.pg_class c ON c.oid = fed.relid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = fed.relid AND a.attnum = fed.attnum AND NOT a.attisdropped
  JOIN base ON base.typid = a.atttypid AND base.typtype <> 'd'
  LEFT JOIN texts ON texts.adrelid = fed.relid AND texts.adnum = fed.attnum
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relpersistence <> 't'
   AND NOT (c.relispartition AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_partition_ancestors(c.oid) ancestor
          JOIN fed same ON same.relid = ancestor.relid AND ancestor.relid <> c.oid
                       AND same.seqid IS NOT DISTINCT FROM fed.seqid))
 ORDER BY n.nspname, c.relname, a.attnum";

/// Columns of the user's schemas that a sequence feeds, whatever links the two.
pub(super) async fn list_columns(db: &mut PgConnection) -> sqlx::Result<Vec<ColumnRow>> {
    sqlx::query_as(COLUMNS).persistent(false).fetch_all(db).await
}

/// Resolves a name that a default gives as text: as the server's search path finds it, else in the schema
/// of the table itself, where an insert with another search path would look first. `None` if neither has it.
pub(super) async fn find_sequence(
    db: &mut PgConnection,
    schema: &str,
    name: &str,
) -> sqlx::Result<Option<Oid>> {
    let resolve = "SELECT pg_catalog.to_regclass($1)::oid";
    for candidate in [name.to_owned(), format!("\"{}\".{name}", schema.replace('"', "\"\""))] {
        match sqlx::query_scalar(resolve).bind(candidate).persistent(false).fetch_one(&mut *db).await {
            Ok(Some(oid)) => return Ok(Some(oid)),
            // A text that is no name at all is an error before PostgreSQL 16.
            Ok(None) | Err(sqlx::Error::Database(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Estimated rows of a table.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct RowsRow {
    pub table_oid: Oid,
    pub schema: String,
    pub table: String,
    pub rows: i64,
}

// reltuples is −1 before the first ANALYZE and old between two; the live-tuple counter is exact but lost in
// a crash. The greater one errs to the side of less headroom until the next vacuum puts it right.
// A partitioned table has the rows of its leaves, which are not listed themselves
// (pg_inherits, because pg_partition_tree locks them).
const ROWS: &str = "
/* headroom: rows */
WITH RECURSIVE part AS (
    SELECT c.oid AS table_oid, c.oid AS relid, c.relkind, c.reltuples
      FROM pg_catalog.pg_class c
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
    UNION ALL
    SELECT part.table_oid, c.oid, c.relkind, c.reltuples
      FROM part
      JOIN pg_catalog.pg_inherits i ON part.relkind = 'p' AND i.inhparent = part.relid
      JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
)
SELECT c.oid AS table_oid, n.nspname AS schema, c.relname AS \"table\",
       coalesce(sum(greatest(part.reltuples::bigint, pg_catalog.pg_stat_get_live_tuples(part.relid), 0))
                FILTER (WHERE part.relkind <> 'p'), 0)::bigint AS rows
  FROM part
  JOIN pg_catalog.pg_class c ON c.oid = part.table_oid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
 GROUP BY c.oid, n.nspname, c.relname
 ORDER BY n.nspname, c.relname";

/// Estimated rows of every table of the user's schemas.
pub(super) async fn list_rows(db: &mut PgConnection) -> sqlx::Result<Vec<RowsRow>> {
    sqlx::query_as(ROWS).persistent(false).fetch_all(db).await
}

/// The database's clock, and the oldest transaction and multixact ids of all databases of the cluster.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct AgesRow {
    pub now: time::OffsetDateTime,
    pub xid_age: i64,
    pub multixact_age: i64,
}

const AGES: &str = "
/* headroom: ages */
SELECT clock_timestamp() AS now,
       coalesce(max(age(datfrozenxid)), 0)::bigint AS xid_age,
       coalesce(max(mxid_age(datminmxid)), 0)::bigint AS multixact_age
  FROM pg_catalog.pg_database";

/// Ages of the whole cluster: the oldest database stops all of them.
pub(super) async fn get_ages(db: &mut PgConnection) -> sqlx::Result<AgesRow> {
    sqlx::query_as(AGES).persistent(false).fetch_one(db).await
}

// Databases that the role may not connect to would fail the statement; they are left out.
const DISK: &str = "
/* headroom: disk */
SELECT coalesce(sum(pg_catalog.pg_database_size(oid)), 0)::bigint
  FROM pg_catalog.pg_database
 WHERE pg_catalog.has_database_privilege(oid, 'CONNECT')";

/// Bytes of all databases of the cluster together, write-ahead log not included.
pub(super) async fn get_database_bytes(db: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar(DISK).persistent(false).fetch_one(db).await
}
