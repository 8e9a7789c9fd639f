-- Indexes that give listings their rows in the order of their cursors.

CREATE INDEX purls_apart_idx ON purls (tenant_id, domain_id, name_key)
    WHERE status IN (404, 410) OR valid_until IS NOT NULL;
COMMENT ON INDEX purls_apart_idx IS 'Serves the listings of withdrawn, switched-off and expired names, which are few among many. Time is no part of it: what is expired depends on when one asks. Plain names, nearly all, cost it nothing.';

CREATE INDEX meetings_created_at_idx ON meetings (tenant_id, created_at, meeting_id);
COMMENT ON INDEX meetings_created_at_idx IS 'Serves the listing of a tenant''s meetings, newest first; the id orders those of one instant.';
