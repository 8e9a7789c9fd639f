-- Domains and names. `domains` is the global directory of path prefixes; everything else here belongs to
-- the domain's home tenant and carries tenant_id first.

CREATE TABLE domains (
    domain_id       bigint GENERATED ALWAYS AS IDENTITY,
    path            text COLLATE "C" NOT NULL,
    home_tenant_id  bigint NOT NULL,
    owner_tenant_id bigint NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    created_by      uuid,
    CONSTRAINT domains_pkey PRIMARY KEY (domain_id),
    CONSTRAINT domains_path_key UNIQUE (path),
    CONSTRAINT domains_home_tenant_id_fkey FOREIGN KEY (home_tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT domains_owner_tenant_id_fkey FOREIGN KEY (owner_tenant_id) REFERENCES tenants (tenant_id)
);
COMMENT ON TABLE domains IS 'Directory of path prefixes, unique over the service. The home tenant (where the rows live) never changes; the owner (who has the rights) can.';
COMMENT ON COLUMN domains.path IS 'Segments joined by one slash, without a leading or trailing one: obo, obo/go. The empty path is the root domain.';
COMMENT ON INDEX domains_pkey IS 'Look-ups by id.';
COMMENT ON INDEX domains_path_key IS 'Serves resolution: path = ANY(all segment prefixes of a request).';
CREATE INDEX domains_owner_tenant_id_idx ON domains (owner_tenant_id, path);
COMMENT ON INDEX domains_owner_tenant_id_idx IS 'Serves the listing of a tenant''s domains in path order.';

CREATE TABLE api_key_domains (
    api_key_id uuid NOT NULL,
    domain_id  bigint NOT NULL,
    CONSTRAINT api_key_domains_pkey PRIMARY KEY (api_key_id, domain_id),
    CONSTRAINT api_key_domains_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys (api_key_id),
    CONSTRAINT api_key_domains_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains (domain_id)
);
COMMENT ON TABLE api_key_domains IS 'Limits a key to domains and what lies below them. A key without rows here is not limited.';
COMMENT ON INDEX api_key_domains_pkey IS 'Serves authentication: the limits of one key.';

CREATE TABLE domain_state (
    tenant_id        bigint NOT NULL,
    domain_id        bigint NOT NULL,
    generation       bigint NOT NULL DEFAULT 1,
    has_names        boolean NOT NULL DEFAULT false,
    case_insensitive boolean NOT NULL DEFAULT false,
    trailing_slash   text NOT NULL DEFAULT 'lenient',
    query_policy     text NOT NULL DEFAULT 'forward',
    default_status   smallint NOT NULL DEFAULT 302,
    cache_seconds    integer NOT NULL DEFAULT 300,
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT domain_state_pkey PRIMARY KEY (tenant_id, domain_id),
    CONSTRAINT domain_state_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT domain_state_trailing_slash_known CHECK (trailing_slash IN ('lenient', 'strict')),
    CONSTRAINT domain_state_query_policy_known CHECK (query_policy IN ('drop', 'forward', 'merge')),
    CONSTRAINT domain_state_default_status_known CHECK (default_status IN (302, 303)),
    CONSTRAINT domain_state_cache_seconds_range CHECK (cache_seconds BETWEEN 0 AND 31536000)
) WITH (fillfactor = 50);
COMMENT ON TABLE domain_state IS 'The lock row of a domain: every write to its names holds FOR UPDATE on it. No foreign key may point here (a key check and FOR UPDATE would block each other).';
COMMENT ON COLUMN domain_state.generation IS 'Raised by every change that compiled state or a cached answer depends on.';
COMMENT ON COLUMN domain_state.has_names IS 'False until the first name: such a domain is never probed.';
COMMENT ON COLUMN domain_state.case_insensitive IS 'Fixed at creation: name_key is folded (ASCII) when true.';
COMMENT ON INDEX domain_state_pkey IS 'Serves the lock and the domain''s policies.';

CREATE TABLE purls (
    tenant_id        bigint NOT NULL,
    domain_id        bigint NOT NULL,
    name_key         text COLLATE "C" NOT NULL,
    purl_id          bigint GENERATED ALWAYS AS IDENTITY,
    revision         bigint NOT NULL DEFAULT 1,
    status           smallint NOT NULL,
    is_partial       boolean NOT NULL DEFAULT false,
    name             text COLLATE "C" NOT NULL,
    target           text,
    target_host      text COLLATE "C",
    valid_until      timestamptz,
    tombstone_reason text,
    successor        text,
    created_at       timestamptz NOT NULL,
    created_by       uuid,
    updated_at       timestamptz NOT NULL,
    updated_by       uuid,
    CONSTRAINT purls_pkey PRIMARY KEY (tenant_id, domain_id, name_key),
    CONSTRAINT purls_status_known CHECK (status IN (301, 302, 303, 307, 308, 404, 410)),
    CONSTRAINT purls_target_where_redirected CHECK (target IS NOT NULL OR status IN (404, 410)),
    CONSTRAINT purls_name_length CHECK (octet_length(name) BETWEEN 1 AND 1024),
    CONSTRAINT purls_target_length CHECK (octet_length(target) <= 8192)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);
COMMENT ON TABLE purls IS 'A name and where it points now. The row is its own newest revision; superseded ones are in purl_revisions. Rows are never deleted: a withdrawn name stays as a tombstone (410). No foreign key to domains: the writer holds the domain''s lock row, and a key check per row costs two fifths of the write rate.';
COMMENT ON COLUMN purls.name_key IS 'What a request is matched on: the decoded name, ASCII-folded where the domain ignores case.';
COMMENT ON COLUMN purls.target IS 'Byte for byte what Location carries. Of a tombstone: the last target.';
COMMENT ON COLUMN purls.target_host IS 'Lower-case host of the target, for blocks and search; never emitted.';
COMMENT ON INDEX purls_pkey IS 'Serves resolution (name_key = ANY(the path and its segment prefixes)), uniqueness of a name, and the listing of a domain in name order.';

CREATE TABLE purl_revisions (
    tenant_id        bigint NOT NULL,
    domain_id        bigint NOT NULL,
    name_key         text COLLATE "C" NOT NULL,
    revision         bigint NOT NULL,
    status           smallint NOT NULL,
    is_partial       boolean NOT NULL,
    target           text,
    valid_until      timestamptz,
    tombstone_reason text,
    successor        text,
    written_at       timestamptz NOT NULL,
    written_by       uuid,
    superseded_at    timestamptz NOT NULL,
    CONSTRAINT purl_revisions_pkey PRIMARY KEY (tenant_id, domain_id, name_key, revision),
    CONSTRAINT purl_revisions_name_fkey FOREIGN KEY (tenant_id, domain_id, name_key)
        REFERENCES purls (tenant_id, domain_id, name_key)
);
COMMENT ON TABLE purl_revisions IS 'Superseded states of a name, copied here by the write that replaces them.';
COMMENT ON INDEX purl_revisions_pkey IS 'Serves the history of a name, newest first, and answers as of an instant.';

CREATE TABLE imports (
    tenant_id     bigint NOT NULL,
    import_id     uuid NOT NULL,
    kind          text NOT NULL,
    source        text NOT NULL,
    source_sha256 bytea NOT NULL,
    state         text NOT NULL DEFAULT 'staging',
    merged_line   bigint NOT NULL DEFAULT 0,
    last_line     bigint,
    started_at    timestamptz NOT NULL,
    finished_at   timestamptz,
    CONSTRAINT imports_pkey PRIMARY KEY (tenant_id, import_id),
    CONSTRAINT imports_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT imports_kind_known CHECK (kind IN ('csv')),
    CONSTRAINT imports_state_known CHECK (state IN ('staging', 'merging', 'done', 'abandoned')),
    CONSTRAINT imports_source_sha256_length CHECK (octet_length(source_sha256) = 32),
    CONSTRAINT imports_finished_when_done CHECK ((state IN ('done', 'abandoned')) = (finished_at IS NOT NULL))
);
COMMENT ON TABLE imports IS 'One run of an import over one file. Its state and merged_line are what an interrupted merge is resumed from.';
COMMENT ON COLUMN imports.merged_line IS 'Last line of the file whose chunk is merged; written in the transaction that merged it.';
COMMENT ON COLUMN imports.last_line IS 'Last line of the file, once all are staged and checked.';
COMMENT ON INDEX imports_pkey IS 'Look-ups by id, and the runs of a tenant in order (ids are UUIDv7).';
CREATE INDEX imports_unfinished_idx ON imports (tenant_id, source_sha256, import_id) WHERE state IN ('staging', 'merging');
COMMENT ON INDEX imports_unfinished_idx IS 'Serves --resume, which knows the file by its SHA-256, and the clearing away of what a killed run left.';

CREATE UNLOGGED TABLE import_rows (
    tenant_id    bigint NOT NULL,
    import_id    uuid NOT NULL,
    line         bigint NOT NULL,
    duplicate_of bigint,
    status       smallint,
    refusal      text,
    domain_path  text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    name_key     text COLLATE "C",
    target       text,
    target_host  text COLLATE "C",
    CONSTRAINT import_rows_pkey PRIMARY KEY (tenant_id, import_id, line),
    CONSTRAINT import_rows_refused_or_whole CHECK (refusal IS NOT NULL OR (name_key IS NOT NULL AND target IS NOT NULL))
);
COMMENT ON TABLE import_rows IS 'Every line of a file that is being imported, good or refused, until its chunk is merged. Unlogged, because a line is in the file as well: after a crash of PostgreSQL the table is empty and the file is staged again.';
COMMENT ON COLUMN import_rows.status IS 'Null where the file gives none: the domain''s default for a new name, no change for one that exists.';
COMMENT ON COLUMN import_rows.refusal IS 'Why the line is not merged. Such a line is only reported.';
COMMENT ON COLUMN import_rows.duplicate_of IS 'The earlier line of the same file that says the same; such a line is only reported.';
COMMENT ON INDEX import_rows_pkey IS 'Serves the report and the merge, which walk a run by line.';
