-- Imports in several formats, with more of what a name can have.

ALTER TABLE imports DROP CONSTRAINT imports_kind_known,
    ADD CONSTRAINT imports_kind_known CHECK (kind IN ('csv', 'jsonl', 'purlz-xml'));

ALTER TABLE import_rows ADD COLUMN kind text,
    ADD COLUMN valid_until timestamptz,
    ADD COLUMN variants jsonb,
    ADD COLUMN reason text,
    ADD COLUMN successor text;
ALTER TABLE import_rows DROP CONSTRAINT import_rows_refused_or_whole,
    ADD CONSTRAINT import_rows_refused_or_whole
        CHECK (refusal IS NOT NULL OR (name_key IS NOT NULL AND (target IS NOT NULL OR status IN (404, 410))));
COMMENT ON COLUMN import_rows.kind IS 'The word of the API, plain included. Null where the file gives none: plain for a new name, no change for one that exists.';
COMMENT ON COLUMN import_rows.valid_until IS 'Null where the file gives none: no end for a new name, no change for one that exists.';
COMMENT ON COLUMN import_rows.variants IS 'As in purls; an empty list takes them away. Null where the file gives none: none for a new name, no change for one that exists.';
COMMENT ON COLUMN import_rows.reason IS 'Of a tombstone, which is a line with status 410.';
COMMENT ON COLUMN import_rows.successor IS 'Of a tombstone.';
