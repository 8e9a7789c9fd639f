-- One name, one commit.
\set n :n + 1
\set key :base + :client_id * 100000000 + :n
INSERT INTO purls (tenant_id, domain_id, name_key, name, status, target, target_host, created_at, updated_at)
    VALUES (:tenant, :domain, 'n' || :key, 'n' || :key, 302, 'https://target.example.org/n' || :key, 'target.example.org',
            now(), now());
