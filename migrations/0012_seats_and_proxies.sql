-- Seats of an option: how many ballots it takes, and how many it has taken. Proxies: who casts for whom.

ALTER TABLE poll_options ADD COLUMN seats integer
    CONSTRAINT poll_options_seats_positive CHECK (seats > 0);
COMMENT ON COLUMN poll_options.seats IS 'How many ballots this option takes, whatever their weight; null: as many as come. Frozen with the option when the poll opens.';

CREATE TABLE poll_seats (
    tenant_id bigint NOT NULL,
    poll_id   bigint NOT NULL,
    round     integer NOT NULL,
    option_id bigint NOT NULL,
    seats     integer NOT NULL,
    taken     integer NOT NULL DEFAULT 0,
    CONSTRAINT poll_seats_pkey PRIMARY KEY (tenant_id, poll_id, round, option_id),
    CONSTRAINT poll_seats_never_oversold CHECK (taken BETWEEN 0 AND seats)
) WITH (fillfactor = 50);
COMMENT ON TABLE poll_seats IS 'One row for each option with seats of a round that was opened. Raised once per batch, by the statement that stores the ballots and under the lock of the poll: counting them instead would cost more with every ballot, and raising per ballot would write a row version for each. No foreign keys: the writer holds the poll''s lock.';
COMMENT ON COLUMN poll_seats.taken IS 'Ballots of the round that chose the option.';
COMMENT ON INDEX poll_seats_pkey IS 'Serves casting: what is free is read, and raised, by round.';

ALTER TABLE meetings ADD COLUMN proxies_per_holder integer NOT NULL DEFAULT 0
    CONSTRAINT meetings_proxies_per_holder_positive CHECK (proxies_per_holder >= 0);
COMMENT ON COLUMN meetings.proxies_per_holder IS 'For how many others one participant may cast; 0: there are no proxies.';

CREATE TABLE proxies (
    tenant_id    bigint NOT NULL,
    principal_id bigint NOT NULL,
    holder_id    bigint NOT NULL,
    given_at     timestamptz NOT NULL,
    CONSTRAINT proxies_pkey PRIMARY KEY (tenant_id, principal_id),
    CONSTRAINT proxies_principal_id_fkey FOREIGN KEY (tenant_id, principal_id) REFERENCES participants (tenant_id, participant_id),
    CONSTRAINT proxies_holder_id_fkey FOREIGN KEY (tenant_id, holder_id) REFERENCES participants (tenant_id, participant_id),
    CONSTRAINT proxies_not_to_oneself CHECK (holder_id <> principal_id)
);
COMMENT ON TABLE proxies IS 'Who may cast for whom now, both of one meeting. Changed under the lock of the meeting, which keeps the limit and the one level; the generation of its open polls is raised with it. A revoked one is gone: the audit log has what was.';
COMMENT ON INDEX proxies_pkey IS 'One proxy a principal; serves casting, and the freezing of an electorate.';
CREATE INDEX proxies_holder_id_idx ON proxies (tenant_id, holder_id);
COMMENT ON INDEX proxies_holder_id_idx IS 'Serves counting what somebody holds, and ending it when they leave.';

ALTER TABLE poll_electorate ADD COLUMN holder_id bigint;
COMMENT ON COLUMN poll_electorate.holder_id IS 'Who held this voter''s proxy when the round opened. Casts need it to be in force still.';
ALTER TABLE ballots ADD COLUMN actor_key uuid;
COMMENT ON COLUMN ballots.actor_key IS 'Record key of the proxy who cast it; null: the voter did.';
