-- A ballot as one would write it without a queue: lock the poll, insert, commit. The same row as the product's.
\set n :n + 1
\set voter :base + :client_id * 100000000 + :n
BEGIN;
SELECT generation, record_size FROM polls WHERE tenant_id = :tenant AND poll_id = :poll FOR UPDATE;
INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice, event_hash, idempotency_key)
    VALUES (:tenant, :poll, :voter, :n, clock_timestamp(), 1, '["21"]', sha256(int8send(:voter)), 'loadtest-' || :voter);
COMMIT;
