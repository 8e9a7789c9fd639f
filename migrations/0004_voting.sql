-- Meetings, polls, participants, ballots. All of it belongs to a tenant: tenant_id is first in every key.

CREATE TABLE meetings (
    tenant_id  bigint NOT NULL,
    meeting_id bigint GENERATED ALWAYS AS IDENTITY,
    title      text NOT NULL,
    state      text NOT NULL DEFAULT 'draft',
    revision   bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT meetings_pkey PRIMARY KEY (tenant_id, meeting_id),
    CONSTRAINT meetings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (tenant_id),
    CONSTRAINT meetings_state_known CHECK (state IN ('draft', 'preparing', 'active', 'suspended', 'closed', 'archived'))
);
COMMENT ON TABLE meetings IS 'A meeting whose participants vote. Its polls open only while it is preparing or active.';
COMMENT ON INDEX meetings_pkey IS 'Look-ups by id and the foreign keys of participants.';

CREATE TABLE participants (
    tenant_id          bigint NOT NULL,
    participant_id     bigint GENERATED ALWAYS AS IDENTITY,
    meeting_id         bigint NOT NULL,
    record_key         uuid NOT NULL,
    name               text NOT NULL,
    email              text,
    email_key          text COLLATE "C",
    external_reference text COLLATE "C",
    weight_micros      bigint NOT NULL DEFAULT 1000000,
    salt               bytea NOT NULL,
    token_sha256       bytea NOT NULL,
    created_at         timestamptz NOT NULL,
    removed_at         timestamptz,
    CONSTRAINT participants_pkey PRIMARY KEY (tenant_id, participant_id),
    CONSTRAINT participants_meeting_id_fkey FOREIGN KEY (tenant_id, meeting_id) REFERENCES meetings (tenant_id, meeting_id),
    CONSTRAINT participants_record_key_key UNIQUE (tenant_id, record_key),
    CONSTRAINT participants_weight_positive CHECK (weight_micros > 0),
    CONSTRAINT participants_salt_length CHECK (octet_length(salt) = 32),
    CONSTRAINT participants_token_length CHECK (octet_length(token_sha256) = 32)
);
COMMENT ON TABLE participants IS 'Somebody entitled to vote in a meeting, with the one ballot token they hold (only its SHA-256).';
COMMENT ON COLUMN participants.removed_at IS 'Set when the person leaves: the token is dead, frozen electorates and results stay as they are.';
COMMENT ON COLUMN participants.record_key IS 'Random id under which the record knows this person, so that erasing the clear data breaks no hash.';
COMMENT ON COLUMN participants.salt IS 'Hashed with name and reference into the electorate; erased with them.';
COMMENT ON COLUMN participants.weight_micros IS 'Votes this person casts, in millionths.';
COMMENT ON COLUMN participants.email_key IS 'Normalised form of the address, for uniqueness; the form shown is in email.';
COMMENT ON INDEX participants_pkey IS 'Serves authentication of a ballot token (tenant and participant are part of it).';
COMMENT ON INDEX participants_record_key_key IS 'A record key names one person.';
CREATE UNIQUE INDEX participants_email_key_key ON participants (tenant_id, meeting_id, email_key) WHERE removed_at IS NULL;
COMMENT ON INDEX participants_email_key_key IS 'One participant an address in a meeting; a person who was removed can be added again.';
CREATE UNIQUE INDEX participants_external_reference_key ON participants (tenant_id, meeting_id, external_reference) WHERE removed_at IS NULL;
COMMENT ON INDEX participants_external_reference_key IS 'One participant a reference in a meeting; a person who was removed can be added again.';
CREATE INDEX participants_meeting_id_idx ON participants (tenant_id, meeting_id, participant_id);
COMMENT ON INDEX participants_meeting_id_idx IS 'Serves the freezing of an electorate and the listing of a meeting''s participants.';

CREATE TABLE polls (
    tenant_id        bigint NOT NULL,
    poll_id          bigint GENERATED ALWAYS AS IDENTITY,
    meeting_id       bigint NOT NULL,
    title            text NOT NULL,
    description      text NOT NULL DEFAULT '',
    ballot_kind      text NOT NULL,
    secrecy          text NOT NULL DEFAULT 'named',
    rule             jsonb NOT NULL,
    results          text NOT NULL DEFAULT 'hidden',
    state            text NOT NULL DEFAULT 'draft',
    result_state     text NOT NULL DEFAULT 'none',
    meeting_suspended boolean NOT NULL DEFAULT false,
    round            integer NOT NULL DEFAULT 1,
    generation       bigint NOT NULL DEFAULT 1,
    closes_at        timestamptz,
    opened_at        timestamptz,
    closed_at        timestamptz,
    opening_hash     bytea,
    electorate_hash  bytea,
    record_size      bigint NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL,
    CONSTRAINT polls_pkey PRIMARY KEY (tenant_id, poll_id),
    CONSTRAINT polls_ballot_kind_known CHECK (ballot_kind IN ('single_choice')),
    CONSTRAINT polls_secrecy_known CHECK (secrecy IN ('named')),
    CONSTRAINT polls_results_known CHECK (results IN ('live', 'hidden')),
    CONSTRAINT polls_state_known CHECK (state IN ('draft', 'open', 'closed', 'cancelled')),
    CONSTRAINT polls_result_state_known CHECK (result_state IN ('none', 'pending', 'counted', 'published')),
    CONSTRAINT polls_opening_hash_when_opened CHECK (state IN ('draft', 'cancelled') OR (opening_hash IS NOT NULL AND electorate_hash IS NOT NULL AND opened_at IS NOT NULL)),
    CONSTRAINT polls_closed_at_when_closed CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
    CONSTRAINT polls_record_size_positive CHECK (record_size >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE polls IS 'The lock row of a poll: every cast, close and change of who may vote holds FOR UPDATE on it. No foreign key may point here (a key check and FOR UPDATE would block each other).';
COMMENT ON COLUMN polls.generation IS 'Raised under the lock by every change of electorate, presence, proxy, token, option or meeting state; a cast is judged against the one it was checked with.';
COMMENT ON COLUMN polls.round IS 'Reopening makes a new round with new ballots; the old round stays.';
COMMENT ON COLUMN polls.record_size IS 'Number of events in the current round''s log; the next event gets this index.';
COMMENT ON INDEX polls_pkey IS 'Serves the lock and every look-up of a poll.';
CREATE INDEX polls_meeting_id_idx ON polls (tenant_id, meeting_id, poll_id);
COMMENT ON INDEX polls_meeting_id_idx IS 'Serves the polls of a meeting, and locking them in id order when the meeting changes.';

CREATE TABLE poll_options (
    tenant_id bigint NOT NULL,
    option_id bigint GENERATED ALWAYS AS IDENTITY,
    poll_id   bigint NOT NULL,
    position  integer NOT NULL,
    title     text NOT NULL,
    CONSTRAINT poll_options_pkey PRIMARY KEY (tenant_id, option_id),
    CONSTRAINT poll_options_position_key UNIQUE (tenant_id, poll_id, position)
);
COMMENT ON TABLE poll_options IS 'What can be chosen. Frozen when the poll opens. No foreign key to polls, which is a lock row; the writer holds its lock.';
COMMENT ON INDEX poll_options_pkey IS 'Look-ups by id.';
COMMENT ON INDEX poll_options_position_key IS 'Serves the options of a poll in their order.';

CREATE TABLE poll_electorate (
    tenant_id      bigint NOT NULL,
    poll_id        bigint NOT NULL,
    round          integer NOT NULL,
    participant_id bigint NOT NULL,
    weight_micros  bigint NOT NULL,
    CONSTRAINT poll_electorate_pkey PRIMARY KEY (tenant_id, poll_id, round, participant_id),
    CONSTRAINT poll_electorate_participant_id_fkey FOREIGN KEY (tenant_id, participant_id) REFERENCES participants (tenant_id, participant_id),
    CONSTRAINT poll_electorate_weight_positive CHECK (weight_micros > 0)
);
COMMENT ON TABLE poll_electorate IS 'Who may vote in a round and with what weight, frozen when it opened. Never updated: removing a participant later changes no result.';
COMMENT ON INDEX poll_electorate_pkey IS 'Serves the eligibility of a voter, and reading a round''s electorate.';

CREATE TABLE ballots (
    tenant_id       bigint NOT NULL,
    poll_id         bigint NOT NULL,
    participant_id  bigint NOT NULL,
    event_index     bigint NOT NULL,
    cast_at         timestamptz NOT NULL,
    round           integer NOT NULL,
    choice          jsonb NOT NULL,
    event_hash      bytea NOT NULL,
    idempotency_key text COLLATE "C",
    CONSTRAINT ballots_pkey PRIMARY KEY (tenant_id, poll_id, round, participant_id),
    CONSTRAINT ballots_event_hash_length CHECK (octet_length(event_hash) = 32),
    CONSTRAINT ballots_idempotency_key_length CHECK (octet_length(idempotency_key) BETWEEN 1 AND 255)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);
COMMENT ON TABLE ballots IS 'One row a ballot, keyed by round: choice, event hash, place in the log and idempotency key together, because the number of rows and keys a cast writes decides how many casts a second there are. No foreign keys: the writer holds the poll''s lock and judged the voter against the frozen electorate.';
COMMENT ON COLUMN ballots.event_index IS 'Place in the round''s log, from 0; the opening is 0.';
COMMENT ON COLUMN ballots.choice IS 'Option ids as an array of texts; for a single choice exactly one.';
COMMENT ON INDEX ballots_pkey IS 'One ballot a participant and round; serves casting, the voter''s own ballot and the count.';

CREATE TABLE poll_events (
    tenant_id   bigint NOT NULL,
    poll_id     bigint NOT NULL,
    round       integer NOT NULL,
    event_index bigint NOT NULL,
    kind        text NOT NULL,
    body        text NOT NULL,
    event_hash  bytea NOT NULL,
    happened_at timestamptz NOT NULL,
    CONSTRAINT poll_events_pkey PRIMARY KEY (tenant_id, poll_id, round, event_index),
    CONSTRAINT poll_events_kind_known CHECK (kind IN ('opened', 'closed', 'counted')),
    CONSTRAINT poll_events_event_hash_length CHECK (octet_length(event_hash) = 32)
);
COMMENT ON TABLE poll_events IS 'Events of a round that are not a current ballot. The log of a round is the union of this table and ballots, by event_index.';
COMMENT ON COLUMN poll_events.body IS 'Canonical JSON as text: the bytes that were hashed, which jsonb would not keep.';
COMMENT ON INDEX poll_events_pkey IS 'One event an index; serves reading the log in order.';

CREATE TABLE poll_results (
    tenant_id    bigint NOT NULL,
    poll_id      bigint NOT NULL,
    round        integer NOT NULL,
    body         text NOT NULL,
    counted_at   timestamptz NOT NULL,
    published_at timestamptz,
    CONSTRAINT poll_results_pkey PRIMARY KEY (tenant_id, poll_id, round)
);
COMMENT ON TABLE poll_results IS 'Tally and verdict of a round, written once by the close that counted it; a repeated close answers from here.';
COMMENT ON COLUMN poll_results.body IS 'Canonical JSON as text, so that every answer is the same bytes.';
COMMENT ON INDEX poll_results_pkey IS 'One result a round.';
