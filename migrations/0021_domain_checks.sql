-- Answers that the owner of a domain states, and that no change may break.

CREATE TABLE domain_checks (
    tenant_id  bigint NOT NULL,
    domain_id  bigint NOT NULL,
    revision   bigint NOT NULL,
    checks     jsonb NOT NULL,
    depends_on bigint[] NOT NULL,
    written_at timestamptz NOT NULL,
    written_by uuid,
    CONSTRAINT domain_checks_pkey PRIMARY KEY (tenant_id, domain_id, revision),
    CONSTRAINT domain_checks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT domain_checks_revision_positive CHECK (revision > 0)
);
COMMENT ON TABLE domain_checks IS 'Every state that the checks of a domain have had, each whole. Rows are never deleted, and only depends_on is ever changed; domain_state.checks_revision says which one is in force.';
COMMENT ON COLUMN domain_checks.checks IS 'The document of the API: {"checks": [...]}.';
COMMENT ON COLUMN domain_checks.depends_on IS 'Domains whose rules the answers went through when they were last judged: a change of one of them asks these checks again.';
COMMENT ON INDEX domain_checks_pkey IS 'Serves the checks in force, and their history.';
CREATE INDEX domain_checks_depends_on_idx ON domain_checks USING gin (depends_on);
COMMENT ON INDEX domain_checks_depends_on_idx IS 'Serves a change of rules: the checks of every domain that depend on it.';

ALTER TABLE domain_state ADD COLUMN checks_revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN domain_state.checks_revision IS 'Which state of the checks is in force; 0: the domain has none and never had.';
