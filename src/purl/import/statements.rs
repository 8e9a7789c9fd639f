//! The SQL of imports, statement by statement: the record of a run, the staging table that its lines are
//! copied into, the checks over all of them, and the merge of a chunk. `staging` runs them.

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
INSERT INTO imports (tenant_id, import_id, kind, source, source_sha256, started_at) VALUES ($1, $2, 'csv', $3, $4, $5)",
    types: &[Type::INT8, Type::UUID, Type::TEXT, Type::BYTEA, Type::TIMESTAMPTZ],
};

/// Copies lines in; the columns are those of [`COPY_TYPES`].
pub const COPY: &str = "COPY import_rows (tenant_id, import_id, line, status, refusal, domain_path, name, name_key, \
                    target, target_host) FROM STDIN (FORMAT binary)";

/// Types of the columns of [`COPY`].
pub const COPY_TYPES: [Type; 10] = [
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
];

/// Finds lines that give one name twice: the same again is only noted, a contradiction refuses all of them.
pub const MARK_DUPLICATES: Statement = Statement {
    name: "import_mark_duplicates",
    sql: "/* import_mark_duplicates */
WITH good AS (
    SELECT line, target, status, first_value(line) OVER same AS first, count(*) OVER same AS lines,
           min(target) OVER same <> max(target) OVER same
               OR min(coalesce(status, 0)) OVER same <> max(coalesce(status, 0)) OVER same AS differ,
           max(line) OVER same AS last
    FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND refusal IS NULL
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
WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.refusal IS NULL
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

/// Has each chunk planned anew: the tables grow by the import itself, and a plan that was made while they were small
/// reads all of them for each chunk.
pub const PLAN_ANEW: &str = "SET LOCAL plan_cache_mode = force_custom_plan";

/// The next lines of a run. `$3` last line seen, `$4` how many.
pub const NEXT_LINES: Statement = Statement {
    name: "import_next_lines",
    sql: "/* import_next_lines */
SELECT line, domain_path, name, refusal, duplicate_of
FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND line > $3
ORDER BY line LIMIT $4",
    types: &[Type::INT8, Type::UUID, Type::INT8, Type::INT8],
};

/// What a merge would find of some lines now. `$3` the lines.
pub const PREVIEW: Statement = Statement {
    name: "import_preview",
    sql: "/* import_preview */
SELECT r.line, p.name_key IS NOT NULL AS exists,
       (p.target, p.status) IS DISTINCT FROM (r.target, coalesce(r.status, p.status)) AS differs
FROM import_rows r
LEFT JOIN domains d ON d.path = r.domain_path
LEFT JOIN LATERAL (
    SELECT * FROM purls
    WHERE tenant_id = d.home_tenant_id AND domain_id = d.domain_id AND name_key = r.name_key
    OFFSET 0) AS p ON true
WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line = ANY ($3)",
    types: &[Type::INT8, Type::UUID, Type::INT8_ARRAY],
};

/// Every line has passed, or the good ones are wanted alone: from here on the run can be resumed.
pub const BEGIN_MERGE: Statement = Statement {
    name: "import_begin_merge",
    sql: "/* import_begin_merge */
UPDATE imports SET state = 'merging', last_line = $3 WHERE tenant_id = $1 AND import_id = $2",
    types: &[Type::INT8, Type::UUID, Type::INT8],
};

/// Takes the locks of some domains, in id order. `$1` paths.
pub const LOCK_DOMAINS: Statement = Statement {
    name: "import_lock_domains",
    sql: "/* import_lock_domains */
SELECT FROM domain_state s
WHERE (s.tenant_id, s.domain_id) IN (SELECT d.home_tenant_id, d.domain_id FROM domains d WHERE d.path = ANY ($1))
ORDER BY s.tenant_id, s.domain_id FOR UPDATE",
    types: &[Type::TEXT_ARRAY],
};

/// The generations of locked domains that this tenant owns. A statement of its own, after the lock.
pub const GENERATIONS: Statement = Statement {
    name: "import_generations",
    sql: "/* import_generations */
SELECT d.path, s.generation
FROM domains d JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
WHERE d.path = ANY ($1) AND d.owner_tenant_id = $2",
    types: &[Type::TEXT_ARRAY, Type::INT8],
};

/// Changes the names that exist and differ, after copying what they were; says what was found of each line.
/// `$3` lines, `$4` now. A line whose name does not exist does not come back.
///
/// `OFFSET 0` has each name looked up by its key, so that a chunk costs the same however many names there are.
pub const MERGE_EXISTING: Statement = Statement {
    name: "import_merge_existing",
    sql: "/* import_merge_existing */
WITH existing AS MATERIALIZED (
    SELECT r.line, r.target AS new_target, r.target_host AS new_host, coalesce(r.status, p.status) AS new_status, p.*
    FROM import_rows r
    JOIN domains d ON d.path = r.domain_path
    CROSS JOIN LATERAL (
        SELECT * FROM purls
        WHERE tenant_id = d.home_tenant_id AND domain_id = d.domain_id AND name_key = r.name_key
        OFFSET 0) AS p
    WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line = ANY ($3)),
superseded AS (
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, kind, target, variants, valid_until,
                                tombstone_reason, successor, written_at, written_by, superseded_at)
    SELECT tenant_id, domain_id, name_key, revision, status, kind, target, variants, valid_until, tombstone_reason,
           successor, updated_at, updated_by, greatest($4, updated_at)
    FROM existing WHERE status <> 410 AND (target, status) IS DISTINCT FROM (new_target, new_status)
    RETURNING tenant_id, domain_id, name_key, superseded_at),
written AS (
    UPDATE purls p
    SET revision = p.revision + 1, status = e.new_status, target = e.new_target, target_host = e.new_host,
        updated_at = s.superseded_at, updated_by = NULL
    FROM superseded s
    JOIN existing e ON e.tenant_id = s.tenant_id AND e.domain_id = s.domain_id AND e.name_key = s.name_key
    WHERE p.tenant_id = s.tenant_id AND p.domain_id = s.domain_id AND p.name_key = s.name_key
    RETURNING e.line)
SELECT e.line, e.domain_id, e.name_key,
       CASE WHEN w.line IS NOT NULL THEN 'updated' WHEN e.status = 410 THEN 'withdrawn' ELSE 'unchanged' END AS outcome
FROM existing e LEFT JOIN written w ON w.line = e.line",
    types: &[Type::INT8, Type::UUID, Type::INT8_ARRAY, Type::TIMESTAMPTZ],
};

/// Makes the names that do not exist; gives back what was asked, with lines, and what was made, without. Parameters as before, the lines only those that
/// [`MERGE_EXISTING`] did not give back: each row that is skipped here would burn an id.
pub const MERGE_NEW: Statement = Statement {
    name: "import_merge_new",
    sql: "/* import_merge_new */
WITH staged AS MATERIALIZED (
    SELECT r.line, r.name_key, r.name, r.target, r.target_host, coalesce(r.status, s.default_status) AS status,
           d.domain_id, d.home_tenant_id AS home
    FROM import_rows r
    JOIN domains d ON d.path = r.domain_path
    JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
    WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line = ANY ($3)),
created AS (
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, target_host, created_at, updated_at)
    SELECT home, domain_id, name_key, name, status, target, target_host, $4, $4 FROM staged ORDER BY line
    ON CONFLICT DO NOTHING
    RETURNING tenant_id, domain_id, name_key),
new AS MATERIALIZED (
    SELECT s.tenant_id, s.domain_id, s.has_names, c.names
    FROM (SELECT tenant_id, domain_id, count(*) AS names FROM created GROUP BY tenant_id, domain_id) c
    JOIN domain_state s ON s.tenant_id = c.tenant_id AND s.domain_id = c.domain_id),
raised AS (
    UPDATE domain_directory SET version = version + 1 WHERE EXISTS (SELECT FROM new WHERE NOT has_names)
    RETURNING version),
counted AS (
    UPDATE domain_state s
    SET names_count = s.names_count + new.names, has_names = true,
        directory_version = CASE WHEN new.has_names THEN s.directory_version ELSE (SELECT version FROM raised) END
    FROM new WHERE s.tenant_id = new.tenant_id AND s.domain_id = new.domain_id)
SELECT line, home, domain_id, name_key FROM staged
UNION ALL
SELECT NULL, tenant_id, domain_id, name_key FROM created",
    types: &[Type::INT8, Type::UUID, Type::INT8_ARRAY, Type::TIMESTAMPTZ],
};

/// Notes how far the merge has come, in its own transaction, and frees the lines behind `$4` up to `$3`. Without the lower
/// bound each chunk would walk over all that were freed before it.
pub const FORGET_LINES: Statement = Statement {
    name: "import_forget_lines",
    sql: "/* import_forget_lines */
WITH noted AS (
    UPDATE imports SET merged_line = $3 WHERE tenant_id = $1 AND import_id = $2)
DELETE FROM import_rows WHERE tenant_id = $1 AND import_id = $2 AND line > $4 AND line <= $3",
    types: &[Type::INT8, Type::UUID, Type::INT8, Type::INT8],
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
    &NEXT_LINES,
    &PREVIEW,
    &BEGIN_MERGE,
    &LOCK_DOMAINS,
    &GENERATIONS,
    &MERGE_EXISTING,
    &MERGE_NEW,
    &FORGET_LINES,
    &END_RUN,
    &FORGET_RUN,
];
