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
/// `$1` tenant, `$2` domain, `$3` its generation; `$4…$15` one array a column, the last three the Idempotency-Key of an
/// item, if it has one: it is passed over if that has an answer; `$16` the configured quota of names, `$17` the array of their variants. One row comes
/// back for each name inserted, and at least one in any case, which says whether the guard held, and how many names
/// are lacking: more than 0, and none was made, if they exceed what the domain is allotted (see [`super::quota`]).
/// Names that exist need no room.
pub const INSERT_PURLS: Statement = Statement {
    name: "purl_insert",
    sql: "/* purl_insert */
WITH guard AS MATERIALIZED (
    SELECT s.generation = $3 AS holds,
           CASE WHEN q.most = 0 OR s.names_count + cardinality($4) <= s.names_allotted AND s.names_limit = q.most THEN 0
                ELSE (SELECT CASE WHEN s.names_count + n.new <= s.names_allotted AND s.names_limit = q.most THEN 0
                                  ELSE n.new END
                      FROM (SELECT count(DISTINCT k) AS new FROM unnest($4) AS i (k)
                            WHERE NOT EXISTS (SELECT FROM purls WHERE tenant_id = $1 AND domain_id = $2
                                              AND name_key = k OFFSET 0)) n) END AS lacking
    FROM domain_state s,
         (SELECT coalesce((SELECT names FROM tenant_quotas WHERE tenant_id = $1), $16) AS most) q
    WHERE s.tenant_id = $1 AND s.domain_id = $2),
inserted AS (
    INSERT INTO purls (tenant_id, domain_id, name_key, name, status, kind, target, target_host, variants,
                       valid_until, created_at, created_by, updated_at, updated_by)
    SELECT $1, $2, i.name_key, i.name, i.status, i.kind, i.target, i.target_host, i.variants,
           i.valid_until, i.at, i.by, i.at, i.by
    FROM unnest($4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[], $9::text[], $10::timestamptz[],
                $11::timestamptz[], $12::uuid[], $13::bigint[], $14::uuid[], $15::text[], $17::jsonb[])
        AS i (name_key, name, status, kind, target, target_host, valid_until, at, by, once_tenant, once_caller,
              once_key, variants)
    WHERE (SELECT holds AND lacking = 0 FROM guard)
      AND (i.once_key IS NULL
           OR NOT EXISTS (SELECT FROM idempotency_keys k
                          WHERE k.tenant_id = i.once_tenant AND k.api_key_id = i.once_caller
                            AND k.idempotency_key = i.once_key OFFSET 0))
    ON CONFLICT DO NOTHING
    RETURNING purl_id, name_key),
counted AS (
    UPDATE domain_state SET names_count = names_count + i.new FROM (SELECT count(*) AS new FROM inserted) i
    WHERE tenant_id = $1 AND domain_id = $2 AND i.new > 0)
SELECT g.holds, g.lacking, i.purl_id, i.name_key FROM guard g LEFT JOIN inserted i ON true",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT2_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::UUID_ARRAY,
        Type::INT8_ARRAY,
        Type::UUID_ARRAY,
        Type::TEXT_ARRAY,
        Type::INT8,
        Type::JSONB_ARRAY,
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
    sql:
        "/* purl_skipped */
SELECT i.name_key, p.status
FROM unnest($3) AS i (name_key)
CROSS JOIN LATERAL (
    SELECT status FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = i.name_key OFFSET 0) AS p",
    types: &[Type::INT8, Type::INT8, Type::TEXT_ARRAY],
};

/// Replaces the state of names, after copying the superseded one. Tombstones stay, unless the item restores them, and a
/// new one keeps what it last was; a row that would not change is left alone; times never run backwards whatever the clocks of two processes say.
///
/// `$1` tenant, `$2` domain, `$3` its generation; `$4…$16` one array a column: key, the expected revision, the new
/// state, a tombstone's reason and successor, when and by whom, whether a tombstone may be restored, the new variants. One row for each item: what was found, and what was
/// written.
///
/// Each name is looked up once, by its key (`OFFSET 0`), and written where it was found: as a join, planned while the
/// domain was small, both read all of it. Nothing moves a row meanwhile: whoever writes one holds the domain's lock.
pub const UPDATE_PURLS: Statement = Statement {
    name: "purl_update",
    sql: "/* purl_update */
WITH guard AS MATERIALIZED (
    SELECT generation = $3 AS holds FROM domain_state WHERE tenant_id = $1 AND domain_id = $2),
item AS MATERIALIZED (
    SELECT * FROM unnest($4::text[], $5::bigint[], $6::smallint[], $7::text[], $8::text[], $9::text[],
                         $10::timestamptz[], $11::text[], $12::text[], $13::timestamptz[], $14::uuid[], $15::boolean[], $16::jsonb[])
        AS i (name_key, expected, status, kind, target, target_host, valid_until, reason, successor, at, by,
              restores, variants)),
found AS MATERIALIZED (
    SELECT i.*, f.* FROM item i
    LEFT JOIN LATERAL (
        SELECT ctid AS row_place, revision AS old_revision, status AS old_status, kind AS old_kind,
               target AS old_target, variants AS old_variants, valid_until AS old_valid_until, tombstone_reason AS old_reason,
               successor AS old_successor, updated_at AS old_updated_at, updated_by AS old_updated_by
        FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = i.name_key OFFSET 0) AS f ON true),
superseded AS (
    INSERT INTO purl_revisions (tenant_id, domain_id, name_key, revision, status, kind, target, variants, valid_until,
                                tombstone_reason, successor, written_at, written_by, superseded_at)
    SELECT $1, $2, f.name_key, f.old_revision, f.old_status, f.old_kind, f.old_target, f.old_variants, f.old_valid_until,
           f.old_reason, f.old_successor, f.old_updated_at, f.old_updated_by, greatest(f.at, f.old_updated_at)
    FROM found f
    WHERE (SELECT holds FROM guard) AND f.old_revision = coalesce(f.expected, f.old_revision) AND (f.old_status <> 410 OR f.restores)
      AND (f.old_status, f.old_kind, f.old_target, f.old_variants, f.old_valid_until)
          IS DISTINCT FROM (f.status, f.kind, f.target, f.variants, f.valid_until)
    RETURNING name_key, superseded_at),
written AS (
    UPDATE purls p
    SET revision = p.revision + 1, status = f.status,
        kind = CASE WHEN f.status = 410 THEN p.kind ELSE f.kind END,
        target = CASE WHEN f.status = 410 THEN p.target ELSE f.target END,
        target_host = CASE WHEN f.status = 410 THEN p.target_host ELSE f.target_host END,
        variants = CASE WHEN f.status = 410 THEN p.variants ELSE f.variants END,
        valid_until = CASE WHEN f.status = 410 THEN p.valid_until ELSE f.valid_until END,
        tombstone_reason = f.reason, successor = f.successor, updated_at = s.superseded_at, updated_by = f.by
    FROM found f JOIN superseded s ON s.name_key = f.name_key
    WHERE p.ctid = f.row_place
    RETURNING p.purl_id, p.name_key, p.name, p.revision, p.status, p.kind, p.target, p.variants, p.valid_until,
              p.tombstone_reason, p.successor, p.created_at, p.updated_at)
SELECT g.holds, f.name_key AS item_key, f.old_revision AS found_revision, f.old_status AS found_status, w.*
FROM guard g
CROSS JOIN found f
LEFT JOIN written w ON w.name_key = f.name_key",
    types: &[
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TEXT_ARRAY,
        Type::INT8_ARRAY,
        Type::INT2_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TIMESTAMPTZ_ARRAY,
        Type::UUID_ARRAY,
        Type::BOOL_ARRAY,
        Type::JSONB_ARRAY,
    ],
};

/// The statements of this file, for the census.
pub(super) const STATEMENTS: &[&Statement] =
    &[&LOCK_DOMAIN, &INSERT_PURLS, &MARK_HAS_NAMES, &SKIPPED, &UPDATE_PURLS];
