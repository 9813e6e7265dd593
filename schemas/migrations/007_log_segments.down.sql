-- A segment without its log cannot be read by what was before.
DO $$
DECLARE
    found record;
BEGIN
    IF EXISTS (SELECT FROM {schema}.segments) THEN
        RAISE EXCEPTION 'there are segments of a ledger with store: log; drop it first'
            USING ERRCODE = 'object_in_use';
    END IF;
    FOR found IN
        SELECT c.oid::regclass AS part FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r' AND c.relname ~ '^(sealed|filters|batches)_[0-9]+_[0-9]+$'
    LOOP
        EXECUTE format('DROP TABLE %s', found.part);
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION {schema}.unlist_expired(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
    is_log boolean;
    newest_seq bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    SELECT store = 'log' INTO is_log FROM {schema}.ledgers WHERE ledger = wanted_ledger;
    FOR gone IN
        DELETE FROM {schema}.generations g USING {schema}.ledgers l
        WHERE g.ledger = wanted_ledger AND l.ledger = g.ledger
            AND g.sealed_at + l.retention < {schema}.ledger_watermark(wanted_ledger)
        RETURNING g.generation
    LOOP
        IF is_log THEN
            EXECUTE format('SELECT max(seq) FROM {schema}.claims_%s_%s', wanted_ledger, gone)
                INTO newest_seq;
            UPDATE {schema}.ledgers SET log_floor = greatest(log_floor, newest_seq)
                WHERE ledger = wanted_ledger;
        END IF;
        RETURN NEXT gone;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%s_%s', wanted_ledger, wanted_generation);
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^claims_' || wanted_ledger || '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;
DROP FUNCTION {schema}.drop_sealed_log(integer, bigint);
DROP FUNCTION {schema}.publish_segment(integer, bigint, bigint, bigint, integer);
DROP FUNCTION {schema}.begin_segment(integer, bigint);
DROP FUNCTION {schema}.grant_as_claims(text);
DROP TABLE {schema}.segment_batches;
DROP TABLE {schema}.segment_filters;
DROP TABLE {schema}.segment_blocks;
DROP TABLE {schema}.segments;
