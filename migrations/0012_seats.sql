-- Seats of an option: how many ballots it takes, and how many it has taken.

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
