-- What resolution reads, by the whole key.
\set n random(0, :names - 1)
SELECT status, kind, target, valid_until, revision FROM purls
    WHERE tenant_id = :tenant AND domain_id = :domain AND name_key = 'n' || :n;
