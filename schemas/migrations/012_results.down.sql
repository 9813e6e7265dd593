DROP TRIGGER evictions_result ON {schema}.evictions;
DROP TRIGGER generations_results ON {schema}.generations;
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS part FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r' AND c.relname ~ '^results_[0-9]+_[0-9]+$'
    LOOP
        EXECUTE format('DROP TABLE %s', found.part);
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION {schema}.ledger_watermark(wanted_ledger integer) RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    -- DANGER: count(moment) passes over nulls and min() does too; a source without a watermark must
    -- not be passed over.
    SELECT CASE WHEN count(*) > 0 AND count(*) = count(moment) THEN min(moment) END
    FROM (
        SELECT f.watermark AS moment
        FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL AND f.retired_at IS NULL
        UNION ALL
        -- The list of partitions: never sampled, empty, or with a partition that has no fence yet,
        -- it holds all back.
        SELECT CASE WHEN s.partitions > 0 AND s.partitions = (
                   SELECT count(*) FROM {schema}.fences f
                   WHERE f.consumer_group = s.consumer_group AND f.topic = s.topic
                       AND f.partition < s.partitions)
               THEN s.watermark END
        FROM {schema}.ledger_feeds s
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
    ) AS watermarks
$$;
ALTER TABLE {schema}.ledger_feeds DROP COLUMN longest_request;

CREATE OR REPLACE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^(claims|sealed|filters|batches)_' || wanted_ledger ||
            '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;
CREATE OR REPLACE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%1$s, {schema}.sealed_%1$s, '
                   '{schema}.filters_%1$s, {schema}.batches_%1$s',
                   format('%s_%s', wanted_ledger, wanted_generation));
    RETURN true;
END
$$;
DROP FUNCTION {schema}.erase_results(integer, bytea, text);
DROP FUNCTION {schema}.count_results(integer, bytea);
DROP TABLE {schema}.erasures;
DROP FUNCTION {schema}.result_of_evicted_claim();
DROP FUNCTION {schema}.results_of_new_generation();
DROP FUNCTION {schema}.begin_results(integer);
DROP FUNCTION {schema}.create_results(integer, bigint);
DROP TABLE {schema}.results;
ALTER TABLE {schema}.ledgers DROP COLUMN stores_results, DROP COLUMN erasures;
