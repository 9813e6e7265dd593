-- The schema before this migration cannot name the tables of a merged segment.
DO $$
DECLARE
    made regclass;
BEGIN
    IF EXISTS (SELECT FROM {schema}.segments WHERE merge > 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004',
            MESSAGE = 'a ledger has merged segments, which the schema before 004 cannot read',
            HINT = 'Stay with this schema until they have expired.';
    END IF;
    -- What merges left that were not published.
    FOR made IN SELECT c.oid::regclass FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r' AND c.relname ~ '^(sealed|filters|batches)_[0-9]+_[0-9]+m[0-9]+$'
    LOOP
        EXECUTE format('DROP TABLE %s', made);
    END LOOP;
END
$$;
DROP FUNCTION {schema}.take_out_claim(integer, bigint, uuid);
ALTER FUNCTION {schema}.take_out_unmerged_claim(integer, bigint, uuid) RENAME TO take_out_claim;
DROP FUNCTION {schema}.drop_orphaned_merge(integer, text), {schema}.orphaned_merges(integer),
    {schema}.publish_merge(integer, bigint, bigint, bigint, integer, bigint, integer),
    {schema}.begin_merge(integer, bigint, bigint);
ALTER TABLE {schema}.segments DROP COLUMN merge, DROP COLUMN last_generation;
