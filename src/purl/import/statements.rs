//! The SQL of imports, statement by statement: the record of a run, the staging table that its lines are
//! copied into, and the checks over all of them. `staging` runs them.

use tokio_postgres::types::Type;

use crate::db::statement::Statement;

/// Allows one import of a file at a time, for as long as the connection lives. `$1` tenant and SHA-256.
pub const LOCK_FILE: Statement = Statement {
    name: "import_lock_file",
    sql: "/* import_lock_file */ SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held",
    types: &[Type::TEXT],
};

/// Ends [`LOCK_FILE`].
pub const UNLOCK_FILE: Statement = Statement {
    name: "import_unlock_file",
    sql: "/* import_unlock_file */ SELECT pg_advisory_unlock(hashtextextended($1, 0))",
    types: &[Type::TEXT],
};

/// The unfinished run of a file that got as far as merging, with the number of lines that still wait.
pub const UNFINISHED: Statement = Statement {
    name: "import_unfinished",
    sql: "/* import_unfinished */
SELECT i.import_id, i.merged_line, i.last_line,
       (SELECT max(line) FROM import_rows r WHERE r.tenant_id = i.tenant_id AND r.import_id = i.import_id) AS staged_line
FROM imports i
WHERE i.tenant_id = $1 AND i.source_sha256 = $2 AND i.state = 'merging'
ORDER BY i.import_id DESC LIMIT 1",
    types: &[Type::INT8, Type::BYTEA],
};

/// Gives up what killed runs of this file have left, and frees their lines.
pub const ABANDON: Statement = Statement {
    name: "import_abandon",
    sql: "/* import_abandon */
WITH abandoned AS (
    UPDATE imports SET state = 'abandoned', finished_at = $3
    WHERE tenant_id = $1 AND source_sha256 = $2 AND state IN ('staging', 'merging')
    RETURNING import_id)
DELETE FROM import_rows WHERE tenant_id = $1 AND import_id IN (SELECT import_id FROM abandoned)",
    types: &[Type::INT8, Type::BYTEA, Type::TIMESTAMPTZ],
};

/// Records a new run.
pub const BEGIN_RUN: Statement = Statement {
    name: "import_begin",
    sql: "/* import_begin */
INSERT INTO imports (tenant_id, import_id, kind, source, source_sha256, started_at) VALUES ($1, $2, $3, $4, $5, $6)",
    types: &[Type::INT8, Type::UUID, Type::TEXT, Type::TEXT, Type::BYTEA, Type::TIMESTAMPTZ],
};

/// Copies lines in; the columns are those of [`COPY_TYPES`].
pub const COPY: &str = "COPY import_rows (tenant_id, import_id, line, status, refusal, domain_path, name, name_key, \
                    target, target_host, kind, valid_until, variants, reason, successor) FROM STDIN (FORMAT binary)";

/// Types of the columns of [`COPY`].
pub const COPY_TYPES: [Type; 15] = [
    Type::INT8,
    Type::UUID,
    Type::INT8,
    Type::INT2,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TIMESTAMPTZ,
    Type::JSONB,
    Type::TEXT,
    Type::TEXT,
];

/// Finds lines that give one name twice: the same again is only noted, a contradiction refuses all of them. Those that
/// may be such are found by a hash first: to sort a million names takes three times as long.
pub const MARK_DUPLICATES: Statement = Statement {
    name: "import_mark_duplicates",
    sql: "/* import_mark_duplicates */
WITH suspects AS MATERIALIZED (
    SELECT hashtextextended(name_key, hashtextextended(domain_path, 0)) AS hash
    FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND refusal IS NULL
    GROUP BY 1 HAVING count(*) > 1),
good AS (
    SELECT line, first_value(line) OVER same AS first, count(*) OVER same AS lines,
           min(said) OVER same <> max(said) OVER same AS differ, max(line) OVER same AS last
    FROM (SELECT line, domain_path, name_key, row(target, status, kind, valid_until, variants, reason, successor)::text AS said
          FROM import_rows
          WHERE tenant_id = $1 AND import_id = $2 AND refusal IS NULL
            AND hashtextextended(name_key, hashtextextended(domain_path, 0)) IN (SELECT hash FROM suspects)) r
    WINDOW same AS (PARTITION BY domain_path, name_key ORDER BY line
                    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
UPDATE import_rows r
SET duplicate_of = CASE WHEN g.differ OR g.line = g.first THEN NULL ELSE g.first END,
    refusal = CASE WHEN g.differ THEN 'line ' || CASE WHEN g.line = g.first THEN g.last ELSE g.first END
                                      || ' gives the same name differently' END
FROM good g
WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line = g.line AND g.lines > 1",
    types: &[Type::INT8, Type::UUID],
};

/// Refuses lines whose name was withdrawn.
pub const REFUSE_WITHDRAWN: Statement = Statement {
    name: "import_refuse_withdrawn",
    sql: "/* import_refuse_withdrawn */
UPDATE import_rows r
SET refusal = 'the name was withdrawn; it is never free again'
FROM domains d JOIN purls p ON p.tenant_id = d.home_tenant_id AND p.domain_id = d.domain_id
WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.refusal IS NULL AND r.status IS DISTINCT FROM 410
  AND d.path = r.domain_path AND p.name_key = r.name_key AND p.status = 410",
    types: &[Type::INT8, Type::UUID],
};

/// How many lines of a run are refused.
pub const COUNT_REFUSED: Statement = Statement {
    name: "import_count_refused",
    sql: "/* import_count_refused */
SELECT count(*) AS refused FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND refusal IS NOT NULL",
    types: &[Type::INT8, Type::UUID],
};

/// The domains for which there is anything to import.
pub const GOOD_DOMAINS: Statement = Statement {
    name: "import_good_domains",
    sql: "/* import_good_domains */
SELECT DISTINCT domain_path FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND refusal IS NULL",
    types: &[Type::INT8, Type::UUID],
};

/// Every line has passed, or the good ones are wanted alone: from here on the run can be resumed.
pub const BEGIN_MERGE: Statement = Statement {
    name: "import_begin_merge",
    sql: "/* import_begin_merge */
UPDATE imports SET state = 'merging', last_line = $3 WHERE tenant_id = $1 AND import_id = $2",
    types: &[Type::INT8, Type::UUID, Type::INT8],
};

/// Ends a run. `$3` the state it ends in, `$4` now.
pub const END_RUN: Statement = Statement {
    name: "import_end",
    sql: "/* import_end */
WITH ended AS (
    UPDATE imports SET state = $3, finished_at = $4 WHERE tenant_id = $1 AND import_id = $2)
DELETE FROM import_rows WHERE tenant_id = $1 AND import_id = $2",
    types: &[Type::INT8, Type::UUID, Type::TEXT, Type::TIMESTAMPTZ],
};

/// Removes all traces of a run that was only a trial.
pub const FORGET_RUN: Statement = Statement {
    name: "import_forget_run",
    sql: "/* import_forget_run */
WITH forgotten AS (
    DELETE FROM imports WHERE tenant_id = $1 AND import_id = $2)
DELETE FROM import_rows WHERE tenant_id = $1 AND import_id = $2",
    types: &[Type::INT8, Type::UUID],
};

/// The statements of this file, for the census (COPY cannot be prepared).
pub const STATEMENTS: &[&Statement] = &[
    &LOCK_FILE,
    &UNLOCK_FILE,
    &UNFINISHED,
    &ABANDON,
    &BEGIN_RUN,
    &MARK_DUPLICATES,
    &REFUSE_WITHDRAWN,
    &COUNT_REFUSED,
    &GOOD_DOMAINS,
    &BEGIN_MERGE,
    &END_RUN,
    &FORGET_RUN,
];
