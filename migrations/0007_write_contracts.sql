-- What clients may rely on when they write: a creation that is sent twice happens once, and a change is made only
-- from the revision that its author has seen.

CREATE TABLE idempotency_keys (
    tenant_id       bigint NOT NULL,
    api_key_id      uuid NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_sha256  bytea NOT NULL,
    answer          bytea NOT NULL,
    created_at      timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, api_key_id, idempotency_key),
    CONSTRAINT idempotency_keys_key_length CHECK (octet_length(idempotency_key) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_keys_request_sha256_length CHECK (octet_length(request_sha256) = 32)
);
ALTER TABLE idempotency_keys ALTER COLUMN answer SET STORAGE EXTERNAL;
COMMENT ON TABLE idempotency_keys IS 'The first answer to a request that came with an Idempotency-Key, written by the transaction that did what was asked. A key belongs to the caller: the API key that sent it. No foreign keys: tenant 0 stands for the operator, and rows live for a day.';
COMMENT ON COLUMN idempotency_keys.request_sha256 IS 'Over method, path and body: the same key with another request is refused.';
COMMENT ON COLUMN idempotency_keys.answer IS 'Status, headers and body, sealed, because answers may show a secret once. EXTERNAL: what is sealed does not compress.';
COMMENT ON INDEX idempotency_keys_pkey IS 'One answer a key and caller; serves the look-up before a creation.';
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
COMMENT ON INDEX idempotency_keys_created_at_idx IS 'Serves the removal of old answers, the oldest first.';

ALTER TABLE participants ADD COLUMN revision bigint NOT NULL DEFAULT 1;
COMMENT ON COLUMN participants.revision IS 'Raised by every change of the person; the ETag.';
