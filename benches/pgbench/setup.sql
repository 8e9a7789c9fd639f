-- A tenant of the baselines' own on the product's schema: one poll and a thousand, and a domain. Ids of the polls are
-- consecutive; the first is the one poll, the others are the thousand.
INSERT INTO tenants (slug, name) VALUES ('pgbench', 'Baselines');
INSERT INTO meetings (tenant_id, title, created_at, updated_at)
    SELECT tenant_id, 'Baselines', now(), now() FROM tenants WHERE slug = 'pgbench';
INSERT INTO polls (tenant_id, meeting_id, title, ballot_kind, rule, created_at)
    SELECT tenant_id, meeting_id, 'Poll ' || n, 'single_choice', '{"name": "plurality"}', now()
    FROM meetings JOIN tenants USING (tenant_id) CROSS JOIN generate_series(0, 1000) AS n WHERE slug = 'pgbench' ORDER BY n;
INSERT INTO domains (path, home_tenant_id, owner_tenant_id)
    SELECT 'pgbench', tenant_id, tenant_id FROM tenants WHERE slug = 'pgbench';
INSERT INTO domain_state (tenant_id, domain_id)
    SELECT home_tenant_id, domain_id FROM domains WHERE path = 'pgbench';
