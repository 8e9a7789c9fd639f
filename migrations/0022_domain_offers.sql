-- A domain can be handed over: its owner offers it to a tenant, whose admin accepts. Only the owner in the directory changes then;
-- the rows stay where they are.

ALTER TABLE domains
    ADD COLUMN offered_tenant_id bigint,
    ADD COLUMN offered_at        timestamptz,
    ADD CONSTRAINT domains_offered_tenant_id_fkey FOREIGN KEY (offered_tenant_id) REFERENCES tenants (tenant_id),
    ADD CONSTRAINT domains_offered_to_another CHECK (offered_tenant_id <> owner_tenant_id),
    ADD CONSTRAINT domains_offered_at_some_time CHECK ((offered_tenant_id IS NULL) = (offered_at IS NULL));
COMMENT ON COLUMN domains.offered_tenant_id IS 'To whom the owner offers the domain; null: to nobody. Taken away by every change of owner.';
