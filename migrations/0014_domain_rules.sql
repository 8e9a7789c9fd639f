-- Rules of a domain: what answers where no name does.

CREATE TABLE domain_rules (
    tenant_id  bigint NOT NULL,
    domain_id  bigint NOT NULL,
    revision   bigint NOT NULL,
    rules      jsonb NOT NULL,
    written_at timestamptz NOT NULL,
    written_by uuid,
    CONSTRAINT domain_rules_pkey PRIMARY KEY (tenant_id, domain_id, revision),
    CONSTRAINT domain_rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT domain_rules_revision_positive CHECK (revision > 0)
);
COMMENT ON TABLE domain_rules IS 'Every state that the rules of a domain have had, each whole. Rows are never changed or deleted; domain_state.rules_revision says which one is in force.';
COMMENT ON COLUMN domain_rules.rules IS 'The document of the API: {"rules": [...]}, in the order in which they are tried.';
COMMENT ON INDEX domain_rules_pkey IS 'Serves the compilation of the rules in force, and their history.';

ALTER TABLE domain_state ADD COLUMN rules_revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN domain_state.rules_revision IS 'Which state of the rules is in force; 0: the domain has none and never had.';
