-- Who did what: every administrative act, written by the transaction that does it.

CREATE TABLE audit_log (
    tenant_id         bigint NOT NULL,
    audit_id          bigint GENERATED ALWAYS AS IDENTITY,
    happened_at       timestamptz NOT NULL,
    actor_kind        text NOT NULL,
    actor_key_id      uuid,
    action            text COLLATE "C" NOT NULL,
    subject_kind      text COLLATE "C" NOT NULL,
    subject_reference text COLLATE "C" NOT NULL,
    before            jsonb,
    after             jsonb,
    request           text,
    CONSTRAINT audit_log_pkey PRIMARY KEY (tenant_id, audit_id),
    CONSTRAINT audit_log_actor_kind_known CHECK (actor_kind IN ('key', 'command_line', 'server')),
    CONSTRAINT audit_log_actor_key_where_key CHECK ((actor_kind = 'key') = (actor_key_id IS NOT NULL)),
    CONSTRAINT audit_log_action_form CHECK (action ~ '^[a-z_]+[.][a-z_]+$')
);
COMMENT ON TABLE audit_log IS 'Every administrative act, append-only. It belongs to the tenant whose thing was touched; tenant 0, without a foreign key, stands for the service itself. Persons are there by reference only (participant id, key id), never by name or address, so that erasing them never touches this table; names have their own history in purl_revisions, ballots theirs in the record.';
COMMENT ON COLUMN audit_log.actor_key_id IS 'The API key that acted. No foreign key: an operator''s key acts on any tenant.';
COMMENT ON COLUMN audit_log.before IS 'What the act replaced, as far as it says something that the subject no longer says.';
COMMENT ON COLUMN audit_log.request IS 'Id of the request, as in its answer and in the server''s log; none from the command line.';
COMMENT ON INDEX audit_log_pkey IS 'Serves the listing of a tenant''s log, newest first.';

CREATE FUNCTION audit_log_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_log is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
COMMENT ON FUNCTION audit_log_refuse_change() IS 'Keeps audit_log append-only, also against mistakes of this program.';
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse_change();
