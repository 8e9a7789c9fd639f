-- A name is plain, or one of four prefixes: they differ in what becomes of the extension of the path behind them.

ALTER TABLE purls ADD COLUMN kind text COLLATE "C",
    ADD CONSTRAINT purls_kind_known CHECK (kind IN (
        'partial', 'partial-append-extension', 'partial-ignore-extension', 'partial-replace-extension'));
ALTER TABLE purl_revisions ADD COLUMN kind text COLLATE "C",
    ADD CONSTRAINT purl_revisions_kind_known CHECK (kind IN (
        'partial', 'partial-append-extension', 'partial-ignore-extension', 'partial-replace-extension'));

UPDATE purls SET kind = 'partial' WHERE is_partial;
UPDATE purl_revisions SET kind = 'partial' WHERE is_partial;

ALTER TABLE purls DROP COLUMN is_partial;
ALTER TABLE purl_revisions DROP COLUMN is_partial;

COMMENT ON COLUMN purls.kind IS 'Null: a plain name, as nearly all are, so that they cost no byte. Else a prefix, which answers for everything below it as well.';
COMMENT ON COLUMN purl_revisions.kind IS 'As in purls.';
