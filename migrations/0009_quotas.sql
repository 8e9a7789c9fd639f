-- How much a tenant may have. What a tenant has of names is counted where they are made, because nobody could count
-- hundreds of millions of them at each creation.

CREATE TABLE tenant_quotas (
    tenant_id           bigint NOT NULL,
    domains             bigint,
    names               bigint,
    meetings            bigint,
    participants        bigint,
    api_keys            bigint,
    requests_per_second integer,
    requests_burst      integer,
    revision            bigint NOT NULL,
    updated_at          timestamptz NOT NULL,
    CONSTRAINT tenant_quotas_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenant_quotas_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT tenant_quotas_not_negative
        CHECK (least(domains, names, meetings, participants, api_keys, requests_per_second) >= 0),
    CONSTRAINT tenant_quotas_burst_positive CHECK (requests_burst > 0),
    CONSTRAINT tenant_quotas_revision_positive CHECK (revision > 0)
);
COMMENT ON TABLE tenant_quotas IS 'Quotas of a tenant that differ from the configuration. NULL, or no row: as configured; 0: no limit. Whoever changes or uses up a quota holds FOR NO KEY UPDATE on the row in tenants, which always exists; reading a limit locks nothing.';
COMMENT ON COLUMN tenant_quotas.revision IS 'Raised by every change; the ETag. Without a row it is 1.';
COMMENT ON INDEX tenant_quotas_pkey IS 'One row a tenant; serves every creation that a quota limits, and authentication.';

CREATE INDEX api_keys_valid_idx ON api_keys (tenant_id, expires_at) WHERE revoked_at IS NULL;
COMMENT ON INDEX api_keys_valid_idx IS 'Serves counting the keys that a tenant could use now; revoked ones stay for ever and must cost nothing.';

ALTER TABLE domain_state
    ADD COLUMN names_count    bigint NOT NULL DEFAULT 0,
    ADD COLUMN names_allotted bigint NOT NULL DEFAULT 0,
    ADD COLUMN names_limit    bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT domain_state_names_not_negative CHECK (least(names_count, names_allotted, names_limit) >= 0);
COMMENT ON COLUMN domain_state.names_count IS 'Names in the domain, tombstones included, so it never falls. Raised once a batch by the statement that makes them, under the lock.';
COMMENT ON COLUMN domain_state.names_allotted IS 'How far names_count may rise before the tenant must be asked again: the domain''s part of the quota, handed out in blocks so that writers in different domains rarely meet.';
COMMENT ON COLUMN domain_state.names_limit IS 'The tenant''s quota when names_allotted was handed out; with another in force now it is void.';

-- Statements that make names hold the lock that ALTER TABLE waits for, so none is under way: this count is exact.
UPDATE domain_state s
SET names_count = (SELECT count(*) FROM purls p WHERE p.tenant_id = s.tenant_id AND p.domain_id = s.domain_id)
WHERE has_names;
