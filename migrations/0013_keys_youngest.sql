-- Where two indexes look equally cheap, which is so whenever a table is believed to be empty, PostgreSQL takes the younger.
-- So the keys that the hot path looks rows up by are made again, after the indexes that have some of the same columns:
-- otherwise such a look-up reads the entries of a whole tenant, or of all domains.

ALTER TABLE polls DROP CONSTRAINT polls_pkey;
ALTER TABLE polls ADD CONSTRAINT polls_pkey PRIMARY KEY (tenant_id, poll_id);
COMMENT ON INDEX polls_pkey IS 'Serves the lock and every look-up of a poll. The youngest index on purpose.';

ALTER TABLE poll_options DROP CONSTRAINT poll_options_position_key;
ALTER TABLE poll_options ADD CONSTRAINT poll_options_position_key UNIQUE (tenant_id, poll_id, position);
COMMENT ON INDEX poll_options_position_key IS 'Serves the options of a poll in their order. The youngest index on purpose.';

ALTER TABLE domains DROP CONSTRAINT domains_path_key;
ALTER TABLE domains ADD CONSTRAINT domains_path_key UNIQUE (path);
COMMENT ON INDEX domains_path_key IS 'Serves resolution: path = ANY(all segment prefixes of a request). The youngest index on purpose.';

ALTER TABLE proxies DROP CONSTRAINT proxies_pkey;
ALTER TABLE proxies ADD CONSTRAINT proxies_pkey PRIMARY KEY (tenant_id, principal_id);
COMMENT ON INDEX proxies_pkey IS 'One proxy a principal; serves casting, and the freezing of an electorate. The youngest index on purpose.';

ALTER TABLE poll_electorate DROP CONSTRAINT poll_electorate_participant_id_fkey;
ALTER TABLE proxies DROP CONSTRAINT proxies_principal_id_fkey;
ALTER TABLE proxies DROP CONSTRAINT proxies_holder_id_fkey;
ALTER TABLE participants DROP CONSTRAINT participants_pkey;
ALTER TABLE participants ADD CONSTRAINT participants_pkey PRIMARY KEY (tenant_id, participant_id);
COMMENT ON INDEX participants_pkey IS 'Serves authentication of a ballot token (tenant and participant are part of it). The youngest index on purpose.';
ALTER TABLE poll_electorate ADD CONSTRAINT poll_electorate_participant_id_fkey FOREIGN KEY (tenant_id, participant_id) REFERENCES participants (tenant_id, participant_id);
ALTER TABLE proxies ADD CONSTRAINT proxies_principal_id_fkey FOREIGN KEY (tenant_id, principal_id) REFERENCES participants (tenant_id, participant_id);
ALTER TABLE proxies ADD CONSTRAINT proxies_holder_id_fkey FOREIGN KEY (tenant_id, holder_id) REFERENCES participants (tenant_id, participant_id);

ALTER TABLE participants DROP CONSTRAINT participants_meeting_id_fkey;
ALTER TABLE meetings DROP CONSTRAINT meetings_pkey;
ALTER TABLE meetings ADD CONSTRAINT meetings_pkey PRIMARY KEY (tenant_id, meeting_id);
COMMENT ON INDEX meetings_pkey IS 'Look-ups by id and the foreign keys of participants. The youngest index on purpose.';
ALTER TABLE participants ADD CONSTRAINT participants_meeting_id_fkey FOREIGN KEY (tenant_id, meeting_id) REFERENCES meetings (tenant_id, meeting_id);
