//! The SQL of writes to names, statement by statement. Rules that all of them keep: the lock stands alone, the
//! guard is read after it, one row or array element an item.

use tokio_postgres::types::Type;

use crate::db::statement::Statement;

/// Takes the domain's lock. `$1` tenant, `$2` domain.
pub const LOCK_DOMAIN: Statement = Statement {
    name: "purl_lock_domain",
    sql: "/* purl_lock_domain */ SELECT FROM domain_state WHERE tenant_id = $1 AND domain_id = $2 FOR UPDATE",
    types: &[Type::INT8, Type::INT8],
};

/// Inserts names that are free, provided that the domain is still as it was when they were checked.
///
/// `$1` tenant, `$2` domain, `$3` its generation, `$4` now, `$5` who; `$6…$12` one array a column; `$13` the configured
/// quota of names. One row comes back for each name inserted, and at least one in any case, which says whether the
/// guard held, and how many names are lacking: more than 0, and none was made, if they exceed what the domain is
/// allotted (see [`super::quota`]). Names that exist need no room.
pub const INSERT_PURLS: Statement = Statement {
    name: "purl_insert",
    sql: "/* purl_insert */
WITH guard AS MATERIALIZED (
    SELECT s.generation = $3 AS holds,
           CASE WHEN q.most = 0 OR s.names_count + cardinality($6) <= s.names_allotted AND s.names_limit = q.most THEN 0
                ELSE (SELECT CASE WHEN s.names_count + n.new <= s.names_allotted AND s.names_limit = q.most THEN 0
                                  ELSE n.new END
                      FROM (SELECT count(DISTINCT k) AS new FROM unnest($6) AS i (k)
                            WHERE NOT EXISTS (SELECT FROM purls
                                              WHERE tenant_id = $1 AND domain_id = $2 AND name_key = k)) n) END AS lacking
    FROM domain_state s,
         (SELECT coalesce((SELECT names FROM tenant_quotas WHERE tenant_id = $1), $13) AS most) q
    WHERE s.tenant_id = $1 AND s.domain_id = $2),
inserted AS (
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, is_partial, target, target_host,
                       valid_until, created_at, created_by, updated_at, updated_by)
    SELECT $1, $2, i.name_key, i.name, i.status, i.is_partial, i.target, i.target_host, i.valid_until, $4, $5, $4, $5
    FROM unnest($6::text[], $7::text[], $8::smallint[], $9::boolean[], $10::text[], $11::text[], $12::timestamptz[])
        AS i (name_key, name, status, is_partial, target, target_host, valid_until)
    WHERE (SELECT holds AND lacking = 0 FROM guard)
    ON CONFLICT DO NOTHING
    RETURNING purl_id, name_key, name, revision, status, is_partial, target, valid_until, tombstone_reason,
              successor, created_at, updated_at),
counted AS (
    UPDATE domain_state SET names_count = names_count + i.new FROM (SELECT count(*) AS new FROM inserted) i
    WHERE tenant_id = $1 AND domain_id = $2 AND i.new > 0)
SELECT g.holds, g.lacking, i.* FROM guard g LEFT JOIN inserted i ON true",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TIMESTAMPTZ,
        Type::UUID,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT2_ARRAY,
        Type::BOOL_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::INT8,
    ],
};

/// Notes the first name of a domain, so that it is probed from now on. Does not raise the generation: a
/// domain known to have no names ages out of memory like a negative answer.
pub const MARK_HAS_NAMES: Statement = Statement {
    name: "purl_mark_has_names",
    sql: "/* purl_mark_has_names */
WITH first AS (
    SELECT FROM domain_state WHERE tenant_id = $1 AND domain_id = $2 AND NOT has_names),
raised AS (
    UPDATE domain_directory SET version = version + 1 WHERE EXISTS (SELECT FROM first) RETURNING version)
UPDATE domain_state s SET has_names = true, directory_version = raised.version
FROM raised WHERE s.tenant_id = $1 AND s.domain_id = $2",
    types: &[Type::INT8, Type::INT8],
};

/// The status of names that were skipped because they exist. `$3` their keys.
pub const SKIPPED: Statement = Statement {
    name: "purl_skipped",
    sql: "/* purl_skipped */
SELECT name_key, status FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = ANY ($3)",
    types: &[Type::INT8, Type::INT8, Type::TEXT_ARRAY],
};

/// Replaces the state of names, after copying the superseded one. Tombstones stay, and a new one keeps what
/// it last was; a row that would not change is left alone; times never run backwards whatever the clocks of two processes say.
///
/// Parameters as in [`INSERT_PURLS`], with the expected revisions as `$7` and a tombstone's reason and
/// successor at the end. One row for each item: what was found, and what was written.
pub const UPDATE_PURLS: Statement = Statement {
    name: "purl_update",
    sql: "/* purl_update */
WITH guard AS MATERIALIZED (
    SELECT generation = $3 AS holds FROM domain_state WHERE tenant_id = $1 AND domain_id = $2),
item AS MATERIALIZED (
    SELECT * FROM unnest($6::text[], $7::bigint[], $8::smallint[], $9::boolean[], $10::text[], $11::text[],
                         $12::timestamptz[], $13::text[], $14::text[])
        AS i (name_key, expected, status, is_partial, target, target_host, valid_until, reason, successor)),
superseded AS (
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, is_partial, target, valid_until,
                                tombstone_reason, successor, written_at, written_by, superseded_at)
    SELECT p.tenant_id, p.domain_id, p.name_key, p.revision, p.status, p.is_partial, p.target, p.valid_until,
           p.tombstone_reason, p.successor, p.updated_at, p.updated_by, greatest($4, p.updated_at)
    FROM item i
    JOIN purls p ON p.tenant_id = $1 AND p.domain_id = $2 AND p.name_key = i.name_key
    WHERE (SELECT holds FROM guard) AND p.revision = coalesce(i.expected, p.revision) AND p.status <> 410
      AND (p.status, p.is_partial, p.target, p.valid_until)
          IS DISTINCT FROM (i.status, i.is_partial, i.target, i.valid_until)
    RETURNING name_key, superseded_at),
written AS (
    UPDATE purls p
    SET revision = p.revision + 1, status = i.status,
        is_partial = CASE WHEN i.status = 410 THEN p.is_partial ELSE i.is_partial END,
        target = CASE WHEN i.status = 410 THEN p.target ELSE i.target END,
        target_host = CASE WHEN i.status = 410 THEN p.target_host ELSE i.target_host END,
        valid_until = CASE WHEN i.status = 410 THEN p.valid_until ELSE i.valid_until END,
        tombstone_reason = i.reason, successor = i.successor, updated_at = s.superseded_at, updated_by = $5
    FROM item i JOIN superseded s ON s.name_key = i.name_key
    WHERE p.tenant_id = $1 AND p.domain_id = $2 AND p.name_key = i.name_key
    RETURNING p.purl_id, p.name_key, p.name, p.revision, p.status, p.is_partial, p.target, p.valid_until,
              p.tombstone_reason, p.successor, p.created_at, p.updated_at)
SELECT g.holds, i.name_key AS item_key, f.revision AS found_revision, f.status AS found_status, w.*
FROM guard g
CROSS JOIN item i
LEFT JOIN purls f ON f.tenant_id = $1 AND f.domain_id = $2 AND f.name_key = i.name_key
LEFT JOIN written w ON w.name_key = i.name_key",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TIMESTAMPTZ,
        Type::UUID,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::BOOL_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
    ],
};

/// The statements of this file, for the census.
pub(super) const STATEMENTS: &[&Statement] =
    &[&LOCK_DOMAIN, &INSERT_PURLS, &MARK_HAS_NAMES, &SKIPPED, &UPDATE_PURLS];
