-- Lets every process keep the directory of domains in memory and see within a second, by one cheap question,
-- what changed in it.

CREATE TABLE domain_directory (
    directory smallint NOT NULL DEFAULT 1,
    version   bigint NOT NULL DEFAULT 0,
    CONSTRAINT domain_directory_pkey PRIMARY KEY (directory),
    CONSTRAINT domain_directory_one_row CHECK (directory = 1)
) WITH (fillfactor = 50);
COMMENT ON TABLE domain_directory IS 'One row: the number of changes of the directory of domains. Raised in every transaction that makes a domain or changes what resolution reads of one, as its last lock: whoever holds this row waits for nobody, and versions are committed in their order. Global, because the directory is.';
COMMENT ON INDEX domain_directory_pkey IS 'Serves the raise and the question whether anything changed.';
INSERT INTO domain_directory DEFAULT VALUES;

ALTER TABLE domain_state ADD COLUMN directory_version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN domain_state.directory_version IS 'The version of domain_directory in which policies, generation, has_names or owner of the domain last changed.';
CREATE INDEX domain_state_directory_version_idx ON domain_state (directory_version);
COMMENT ON INDEX domain_state_directory_version_idx IS 'Serves the refresh of a process''s directory: the domains that changed since the version it knows.';
