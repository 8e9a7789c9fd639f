-- Tenants and the API key directory. These tables are global (reference tables when distributed):
-- a request finds its tenant here, before there is a tenant to look under.

CREATE TABLE tenants (
    tenant_id  bigint GENERATED ALWAYS AS IDENTITY,
    slug       text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenants_slug_key UNIQUE (slug),
    CONSTRAINT tenants_slug_form CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
);
COMMENT ON TABLE tenants IS 'An organisation. Everything else belongs to exactly one; the slug names it in public addresses and on the command line.';
COMMENT ON INDEX tenants_pkey IS 'Serves the foreign keys and look-ups by id.';
COMMENT ON INDEX tenants_slug_key IS 'One tenant a slug; serves --tenant and /api/v1/public/{slug}/…';

CREATE TABLE api_keys (
    api_key_id    uuid NOT NULL,
    tenant_id     bigint,
    scope         text NOT NULL,
    label         text NOT NULL DEFAULT '',
    secret_sha256 bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (api_key_id),
    CONSTRAINT api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT api_keys_scope_known CHECK (scope IN ('operator', 'admin', 'editor', 'minter', 'moderator', 'reader')),
    CONSTRAINT api_keys_tenant_unless_operator CHECK ((scope = 'operator') = (tenant_id IS NULL)),
    CONSTRAINT api_keys_secret_length CHECK (octet_length(secret_sha256) = 32)
);
COMMENT ON TABLE api_keys IS 'The key directory. Only the SHA-256 of a secret is stored; a revoked key stays, so that its id never means another.';
COMMENT ON COLUMN api_keys.last_used_at IS 'Coarse (at most one write a key in ten minutes), to find keys that nobody uses.';
COMMENT ON INDEX api_keys_pkey IS 'Serves authentication: the id is part of the key that a caller sends.';
CREATE INDEX api_keys_tenant_id_idx ON api_keys (tenant_id, api_key_id);
COMMENT ON INDEX api_keys_tenant_id_idx IS 'Serves the listing of a tenant''s keys in id order (ids are UUIDv7, so that is order of creation).';

CREATE TABLE service_settings (
    setting    text COLLATE "C" NOT NULL,
    value      jsonb NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT service_settings_pkey PRIMARY KEY (setting)
);
COMMENT ON TABLE service_settings IS 'Facts about the whole installation that must travel with its database, such as the marker that the demo tenant was made.';
COMMENT ON INDEX service_settings_pkey IS 'One value a setting.';
