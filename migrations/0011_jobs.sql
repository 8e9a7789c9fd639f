-- Durable jobs: work that outlives a request and a process, done by whichever server is free.
-- Global, not tenant-owned: a server looks for work before it knows whose it is.

CREATE TABLE jobs (
    job_id        bigint GENERATED ALWAYS AS IDENTITY,
    kind          text COLLATE "C" NOT NULL,
    job_key       text COLLATE "C",
    recurring     boolean NOT NULL DEFAULT false,
    state         text COLLATE "C" NOT NULL DEFAULT 'waiting',
    payload       jsonb NOT NULL DEFAULT '{}',
    run_at        timestamptz NOT NULL DEFAULT now(),
    attempts      integer NOT NULL DEFAULT 0,
    max_attempts  integer NOT NULL DEFAULT 10,
    leased_by     uuid,
    leased_until  timestamptz,
    last_error    text,
    last_error_at timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    finished_at   timestamptz,
    CONSTRAINT jobs_pkey PRIMARY KEY (job_id),
    CONSTRAINT jobs_state_known CHECK (state IN ('waiting', 'done', 'failed')),
    CONSTRAINT jobs_finished_at_when_over CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CONSTRAINT jobs_lease_whole CHECK ((leased_by IS NULL) = (leased_until IS NULL)),
    CONSTRAINT jobs_lease_while_waiting CHECK (leased_by IS NULL OR state = 'waiting'),
    CONSTRAINT jobs_recurring_has_key CHECK (NOT recurring OR job_key IS NOT NULL),
    CONSTRAINT jobs_attempts_positive CHECK (attempts >= 0 AND max_attempts > 0),
    CONSTRAINT jobs_kind_length CHECK (octet_length(kind) BETWEEN 1 AND 100)
) WITH (fillfactor = 50);
COMMENT ON TABLE jobs IS 'Work for whichever server is free. A lease counts the attempt before it begins, so that a job which kills its server stops in the end; the run itself holds the row FOR UPDATE, so that no two are at once, and marks it done in the transaction that has its effects. No foreign key may point here.';
COMMENT ON COLUMN jobs.kind IS 'Name of the handler. A server leaves kinds that it does not know to the servers that do.';
COMMENT ON COLUMN jobs.job_key IS 'At most one waiting job of a kind has this key: what several servers plant is there once.';
COMMENT ON COLUMN jobs.recurring IS 'Waits again after each run instead of being done, and never fails for good.';
COMMENT ON COLUMN jobs.state IS 'waiting (or running, while leased), done, or failed: gave up after max_attempts and stays to be seen.';
COMMENT ON COLUMN jobs.attempts IS 'Runs begun since the last success; raised before the run.';
COMMENT ON COLUMN jobs.leased_by IS 'The process that has it; random for each start, named in that process''s log.';
COMMENT ON COLUMN jobs.leased_until IS 'From then on another process may take it, unless the run still holds the row.';
COMMENT ON COLUMN jobs.last_error IS 'Why the last failed attempt failed; kept when a later one succeeds.';
COMMENT ON INDEX jobs_pkey IS 'Serves the steps of a run, and looking at one job.';
CREATE UNIQUE INDEX jobs_job_key_key ON jobs (kind, job_key) WHERE state = 'waiting';
COMMENT ON INDEX jobs_job_key_key IS 'One waiting job a key; serves the planting of recurring jobs.';
CREATE INDEX jobs_run_at_idx ON jobs (recurring, run_at, job_id) WHERE state = 'waiting';
COMMENT ON INDEX jobs_run_at_idx IS 'Serves taking the next due job of a lane. Recurring jobs come first in it, so that a backlog of others is not read for them.';
CREATE INDEX jobs_finished_at_idx ON jobs (state, finished_at) WHERE state <> 'waiting';
COMMENT ON INDEX jobs_finished_at_idx IS 'Serves forgetting old jobs that are done, and counting those that failed.';

CREATE INDEX polls_closes_at_idx ON polls (closes_at, tenant_id, poll_id) WHERE state = 'open';
COMMENT ON INDEX polls_closes_at_idx IS 'Serves the job that closes polls past their deadline; state alone is the predicate, time is the condition.';
