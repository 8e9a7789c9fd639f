-- The same over a thousand polls: the lock is rarely waited for.
\set n :n + 1
\set voter :base + :client_id * 100000000 + :n
\set place random(:poll + 1, :poll + 1000)
BEGIN;
SELECT generation, record_size FROM polls WHERE tenant_id = :tenant AND poll_id = :place FOR UPDATE;
INSERT INTO ballots (tenant_id, poll_id, participant_id, event_index, cast_at, round, choice, event_hash, idempotency_key)
    VALUES (:tenant, :place, :voter, :n, clock_timestamp(), 1, '["21"]', sha256(int8send(:voter)), 'loadtest-' || :voter);
COMMIT;
