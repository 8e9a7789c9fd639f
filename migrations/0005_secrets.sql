-- What the database keeps of the installation's master secret. The secret itself is never here.

CREATE TABLE signing_keys (
    epoch      integer NOT NULL,
    public_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    retired_at timestamptz,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (epoch),
    CONSTRAINT signing_keys_epoch_positive CHECK (epoch > 0),
    CONSTRAINT signing_keys_public_key_length CHECK (octet_length(public_key) = 32)
);
COMMENT ON TABLE signing_keys IS 'The public half (Ed25519) of every key that ever signed; the private half is derived from the master secret and the epoch. Never deleted: old signatures must stay checkable.';
COMMENT ON INDEX signing_keys_pkey IS 'One key an epoch; serves /.well-known/resolute-keys.json.';
