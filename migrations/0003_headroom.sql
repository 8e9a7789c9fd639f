-- Samples of the last number of every sequence: what the projected exhaustion date is computed from.
-- Global, not tenant-owned: ids are numbered over all tenants.

CREATE TABLE headroom_samples (
    hour_starts_at timestamptz NOT NULL,
    sequence_name  text COLLATE "C" NOT NULL,
    measured_at    timestamptz NOT NULL,
    last_value     bigint NOT NULL,
    CONSTRAINT headroom_samples_pkey PRIMARY KEY (hour_starts_at, sequence_name),
    CONSTRAINT headroom_samples_measured_in_hour
        CHECK (measured_at >= hour_starts_at AND measured_at < hour_starts_at + interval '1 hour')
);

COMMENT ON TABLE headroom_samples IS
    'Where each sequence stood, one row per sequence and hour for two days. Kept in the database so that the rate of use survives restarts; names rather than oids, so that it also survives a restore. Read by every headroom measurement.';
COMMENT ON COLUMN headroom_samples.sequence_name IS
    'Sequence as the headroom report names it: with its schema unless that is public.';
COMMENT ON COLUMN headroom_samples.last_value IS
    'Last number given out; before the first, the number one step before the next.';
COMMENT ON INDEX headroom_samples_pkey IS
    'One sample per sequence and hour, whichever server writes first. The hour leads because reading the last two days and deleting older ones go by it.';
