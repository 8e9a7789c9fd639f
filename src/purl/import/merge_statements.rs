//! The SQL that merges staged lines, a range of them at a time, and that says beforehand what a merge would do. `chunk`
//! and `staging` run it.

use tokio_postgres::types::Type;

use crate::db::statement::Statement;

/// Has each chunk planned anew: the tables grow by the import itself, and a plan that was made while they were small
/// reads all of them for each chunk.
pub const PLAN_ANEW: &str = "SET LOCAL plan_cache_mode = force_custom_plan";

/// Parameters of the statements over a range of lines: `$1` tenant, `$2` run, behind line `$3` and up to line `$4`.
const RANGE: &[Type] = &[Type::INT8, Type::UUID, Type::INT8, Type::INT8];

/// Takes the locks of the domains of a range, in id order.
pub const LOCK_DOMAINS: Statement = Statement {
    name: "import_lock_domains",
    sql: "/* import_lock_domains */
SELECT FROM domain_state s
WHERE (s.tenant_id, s.domain_id) IN (
    SELECT d.home_tenant_id, d.domain_id FROM domains d
    WHERE d.path IN (SELECT domain_path FROM import_rows
                     WHERE tenant_id = $1 AND import_id = $2 AND line > $3 AND line <= $4
                       AND refusal IS NULL AND duplicate_of IS NULL))
ORDER BY s.tenant_id, s.domain_id FOR UPDATE",
    types: RANGE,
};

/// The domains of a range with their generations, null where one is no longer the tenant's. A statement of its own, after
/// the lock.
pub const GENERATIONS: Statement = Statement {
    name: "import_generations",
    sql: "/* import_generations */
SELECT r.domain_path, s.generation
FROM (SELECT DISTINCT domain_path FROM import_rows
      WHERE tenant_id = $1 AND import_id = $2 AND line > $3 AND line <= $4
        AND refusal IS NULL AND duplicate_of IS NULL) r
LEFT JOIN domains d ON d.path = r.domain_path AND d.owner_tenant_id = $1
LEFT JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id",
    types: RANGE,
};

/// The lines of a range with what exists of each: `old_…` is null where the name does not.
///
/// `OFFSET 0` has each name looked up by its key, so that a range costs the same however many names there are.
macro_rules! staged {
    () => {
        "staged AS MATERIALIZED (
    SELECT r.line, r.domain_path, r.name, r.name_key, r.refusal, r.duplicate_of, d.domain_id, d.home_tenant_id AS home,
           coalesce(r.target, p.old_target) AS target, coalesce(r.target_host, p.old_target_host) AS target_host,
           coalesce(r.status, p.old_status, s.default_status) AS status,
           CASE WHEN r.kind IS NULL THEN p.old_kind ELSE nullif(r.kind, 'plain') END AS kind,
           coalesce(r.valid_until, p.old_valid_until) AS valid_until,
           CASE WHEN r.variants IS NULL THEN p.old_variants ELSE nullif(r.variants, '[]') END AS variants,
           r.reason, r.successor, p.*
    FROM import_rows r
    LEFT JOIN domains d ON d.path = r.domain_path
    LEFT JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
    LEFT JOIN LATERAL (
        SELECT ctid AS row_place, revision AS old_revision, status AS old_status, kind AS old_kind, target AS old_target,
               target_host AS old_target_host, variants AS old_variants, valid_until AS old_valid_until,
               tombstone_reason AS old_reason, successor AS old_successor, updated_at AS old_updated_at,
               updated_by AS old_updated_by
        FROM purls
        WHERE tenant_id = d.home_tenant_id AND domain_id = d.domain_id AND name_key = r.name_key
          AND r.refusal IS NULL AND r.duplicate_of IS NULL
        OFFSET 0) AS p ON true
    WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line > $3 AND r.line <= $4),
judged AS MATERIALIZED (
    SELECT *, CASE
        WHEN refusal IS NOT NULL THEN 'refused'
        WHEN duplicate_of IS NOT NULL THEN 'duplicate'
        WHEN old_status IS NULL THEN 'created'
        WHEN old_status = 410 AND status = 410 THEN 'unchanged'
        WHEN old_status = 410 THEN 'withdrawn'
        WHEN (old_status, old_kind, old_target, old_variants, old_valid_until)
             IS DISTINCT FROM (status, kind, target, variants, valid_until) THEN 'updated'
        ELSE 'unchanged' END AS outcome
    FROM staged)"
    };
}

/// Merges a range under the locks of its domains, and notes how far the merge has come: makes names that do not exist,
/// changes those that differ after copying what they were, and leaves all others. `$5` now, `$6` the configured quota.
///
/// One row for each line, in order, with what became of it. Where a domain lacks room under its tenant's quota nothing is
/// written, and rows without line come first, one for each domain that would get names: how many, and whether it lacks
/// them. Nobody else writes to a locked domain, so what is found here does not change under it, and nothing burns an id.
pub const MERGE: Statement = Statement {
    name: "import_merge",
    sql: concat!(
        "/* import_merge */
WITH ",
        staged!(),
        ",
new AS MATERIALIZED (
    SELECT j.home, j.domain_id, j.names, s.has_names,
           q.most > 0 AND s.names_count + j.names
               > CASE WHEN s.names_limit = q.most THEN s.names_allotted ELSE s.names_count END AS lacks, q.most
    FROM (SELECT home, domain_id, count(*) AS names FROM judged WHERE outcome = 'created' GROUP BY home, domain_id) j
    JOIN domain_state s ON s.tenant_id = j.home AND s.domain_id = j.domain_id
    CROSS JOIN LATERAL (
        SELECT coalesce((SELECT names FROM tenant_quotas WHERE tenant_id = j.home), $6) AS most) q),
guard AS MATERIALIZED (SELECT NOT EXISTS (SELECT FROM new WHERE lacks) AS holds),
superseded AS (
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, kind, target, variants, valid_until,
                                tombstone_reason, successor, written_at, written_by, superseded_at)
    SELECT home, domain_id, name_key, old_revision, old_status, old_kind, old_target, old_variants, old_valid_until,
           old_reason, old_successor, old_updated_at, old_updated_by, greatest($5, old_updated_at)
    FROM judged WHERE outcome = 'updated' AND (SELECT holds FROM guard)),
written AS (
    UPDATE purls p
    SET revision = p.revision + 1, status = j.status, kind = j.kind, target = j.target, target_host = j.target_host,
        variants = j.variants, valid_until = j.valid_until, tombstone_reason = j.reason, successor = j.successor,
        updated_at = greatest($5, p.updated_at), updated_by = NULL
    FROM judged j WHERE p.ctid = j.row_place AND j.outcome = 'updated' AND (SELECT holds FROM guard)),
created AS (
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, kind, target, target_host, variants, valid_until,
                       tombstone_reason, successor, created_at, updated_at)
    SELECT home, domain_id, name_key, name, status, kind, target, target_host, variants, valid_until, reason, successor,
           $5, $5
    FROM judged WHERE outcome = 'created' AND (SELECT holds FROM guard) ORDER BY line),
raised AS (
    UPDATE domain_directory SET version = version + 1
    WHERE EXISTS (SELECT FROM new WHERE NOT has_names) AND (SELECT holds FROM guard)
    RETURNING version),
counted AS (
    UPDATE domain_state s
    SET names_count = s.names_count + new.names, has_names = true,
        directory_version = CASE WHEN new.has_names THEN s.directory_version ELSE (SELECT version FROM raised) END
    FROM new WHERE s.tenant_id = new.home AND s.domain_id = new.domain_id AND (SELECT holds FROM guard)),
noted AS (
    UPDATE imports SET merged_line = $4 WHERE tenant_id = $1 AND import_id = $2 AND (SELECT holds FROM guard))
SELECT * FROM (
    SELECT line, domain_path, name, refusal, outcome, domain_id, CASE WHEN outcome = 'updated' THEN name_key END AS name_key,
           NULL::bigint AS home, NULL::bigint AS names, NULL::boolean AS lacks
    FROM judged
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, domain_id, NULL, home, names, lacks FROM new
    WHERE most > 0 AND NOT (SELECT holds FROM guard)) AS told
ORDER BY line NULLS FIRST"
    ),
    types: &[Type::INT8, Type::UUID, Type::INT8, Type::INT8, Type::TIMESTAMPTZ, Type::INT8],
};

/// The lines of a range in order, with what a merge would make of each now.
pub const PREVIEW: Statement = Statement {
    name: "import_preview",
    sql: concat!(
        "/* import_preview */
WITH ",
        staged!(),
        "
SELECT line, domain_path, name, refusal, outcome FROM judged ORDER BY line"
    ),
    types: RANGE,
};

/// The good lines of a range: what a change of the tree of domains may refuse after all.
pub const GOOD_LINES: Statement = Statement {
    name: "import_good_lines",
    sql: "/* import_good_lines */
SELECT line, domain_path, name FROM import_rows
WHERE tenant_id = $1 AND import_id = $2 AND line > $3 AND line <= $4 AND refusal IS NULL AND duplicate_of IS NULL",
    types: RANGE,
};

/// Refuses lines `$3` for the reasons `$4`.
pub const REFUSE: Statement = Statement {
    name: "import_refuse",
    sql: "/* import_refuse */
UPDATE import_rows r SET refusal = i.refusal
FROM unnest($3::bigint[], $4::text[]) AS i (line, refusal)
WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.line = i.line",
    types: &[Type::INT8, Type::UUID, Type::INT8_ARRAY, Type::TEXT_ARRAY],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&LOCK_DOMAINS, &GENERATIONS, &MERGE, &PREVIEW, &GOOD_LINES, &REFUSE];
