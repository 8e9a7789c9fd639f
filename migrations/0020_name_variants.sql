-- A name may have several targets, told apart by media type and language.

ALTER TABLE purls ADD COLUMN variants jsonb,
    ADD CONSTRAINT purls_variants_array CHECK (jsonb_typeof(variants) = 'array');
ALTER TABLE purl_revisions ADD COLUMN variants jsonb,
    ADD CONSTRAINT purl_revisions_variants_array CHECK (jsonb_typeof(variants) = 'array');

COMMENT ON COLUMN purls.variants IS 'Null: the name has its one target, as nearly all have. Else a list of {type, language, target} in the owner''s order; target is what answers where none of them is asked for.';
COMMENT ON COLUMN purl_revisions.variants IS 'As in purls.';
