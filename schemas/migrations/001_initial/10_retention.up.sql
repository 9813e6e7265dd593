-- What expires: generations of claims, with their segments and results, and leases that ended. Time
-- is the log's, not the clock's.

-- The time in the log up to which all that feeds the ledger has been passed; null while something
-- holds it back.
CREATE FUNCTION {schema}.ledger_watermark(wanted_ledger integer) RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    -- DANGER: count(moment) and min() ignore nulls; a source without a watermark must count.
    SELECT CASE WHEN count(*) > 0 AND count(*) = count(moment) THEN min(moment) END
    FROM (
        SELECT f.watermark AS moment
        FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL AND f.retired_at IS NULL
        UNION ALL
        -- The list of partitions: if it was never sampled, is empty, or has a partition without a
        -- fence, it holds all back.
        SELECT CASE WHEN s.longest_request IS NOT NULL THEN clock_timestamp() - s.longest_request
               WHEN s.partitions > 0 AND s.partitions = (
                   SELECT count(*) FROM {schema}.fences f
                   WHERE f.consumer_group = s.consumer_group AND f.topic = s.topic
                       AND f.partition < s.partitions)
               THEN s.watermark END
        FROM {schema}.ledger_feeds s
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
        UNION ALL
        -- DANGER: without this row the rest of an open replay is applied a second time after its
        -- claims have expired.
        SELECT NULL
        FROM {schema}.replays r JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
            AND r.finished_at IS NULL AND NOT r.without_dedup
    ) AS watermarks
$$;

-- How far apart the clocks may be of those that mint keys and of this server: a minute, and less in
-- a ledger with a short retention, which would refuse new keys otherwise.
CREATE FUNCTION {schema}.clock_skew(retention interval) RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT least(interval '60 s', retention / 4)
$$;

-- Unlists the ledger's sealed generations that are older than watermark - retention, under the
-- lock. Returns them, for drop_generation() in a later transaction: a reader that waits for the
-- lock would deadlock with a DROP in this one. A log's floor moves in the same transaction: from
-- `seq > last` alone a reader cannot know that what it had not read is gone. The ledger's memory
-- begins at the end of the last of them, plus the skew of clocks.
CREATE FUNCTION {schema}.unlist_expired(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
    ended timestamptz;
    is_log boolean;
    newest_seq bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    SELECT store = 'log' INTO is_log FROM {schema}.ledgers WHERE ledger = wanted_ledger;
    FOR gone, ended IN
        DELETE FROM {schema}.generations g USING {schema}.ledgers l
        WHERE g.ledger = wanted_ledger AND l.ledger = g.ledger
            AND g.sealed_at + l.retention < {schema}.ledger_watermark(wanted_ledger)
        RETURNING g.generation, g.sealed_at
    LOOP
        UPDATE {schema}.ledgers l SET memory_begins = greatest(memory_begins,
                ended + {schema}.clock_skew(retention))
            WHERE l.ledger = wanted_ledger;
        -- The log of a segment is gone, and was below the floor before.
        IF is_log AND to_regclass(format('{schema}.claims_%s_%s', wanted_ledger, gone)) IS NOT NULL
        THEN
            EXECUTE format('SELECT max(seq) FROM {schema}.claims_%s_%s', wanted_ledger, gone)
                INTO newest_seq;
            UPDATE {schema}.ledgers SET log_floor = greatest(log_floor, newest_seq)
                WHERE ledger = wanted_ledger;
        END IF;
        RETURN NEXT gone;
    END LOOP;
END
$$;

-- Drops the tables of a generation that is no longer listed; refuses a listed one.
CREATE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%1$s, {schema}.sealed_%1$s, '
                   '{schema}.filters_%1$s, {schema}.batches_%1$s, {schema}.results_%1$s',
                   format('%s_%s', wanted_ledger, wanted_generation));
    RETURN true;
END
$$;

-- Generations whose tables are no longer listed: a process died between unlisting and dropping.
CREATE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^(claims|sealed|filters|batches|results)_'
            || wanted_ledger || '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;

-- Deletes leases that ended longer ago than the retention, as the schema's owner: the workers' role
-- needs no right to delete. What is in flight stays, whatever its age. Returns how many went. Their
-- stored answers go too, because a key that is redelivered gets another answer; a process that
-- holds answers in memory compares the ledger's count of evictions. An answer in a sealed
-- generation stays until that is dropped: the next one is stored in a newer generation, and the
-- newest counts. In the open generation it would be in the next one's way.
CREATE FUNCTION {schema}.delete_ended_leases(wanted_ledger integer, most integer)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beyond timestamptz;
    gone uuid[];
    made text;
BEGIN
    SELECT {schema}.ledger_watermark(wanted_ledger) - l.retention INTO beyond
        FROM {schema}.ledgers l WHERE l.ledger = wanted_ledger;
    -- DANGER: null if something holds the retention back; nothing is older than null.
    IF NOT EXISTS (SELECT FROM {schema}.leases old
            WHERE old.ledger = wanted_ledger AND old.ended_at < beyond) THEN
        RETURN 0;
    END IF;
    -- DANGER: under the lock, which everybody holds who judges a key by its time. Without it a key
    -- would be judged by the memory of before, and called again after its lease is gone.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    UPDATE {schema}.ledgers l SET memory_begins = greatest(l.memory_begins,
            beyond + {schema}.clock_skew(retention))
        WHERE l.ledger = wanted_ledger;
    WITH taken AS (
        DELETE FROM {schema}.leases WHERE ledger = wanted_ledger AND digest = ANY (ARRAY(
            SELECT old.digest FROM {schema}.leases old
            WHERE old.ledger = wanted_ledger AND old.ended_at < beyond
            ORDER BY old.ended_at LIMIT most FOR UPDATE SKIP LOCKED))
        RETURNING digest
    )
    SELECT array_agg(digest) INTO gone FROM taken;
    IF gone IS NULL THEN
        RETURN 0;
    END IF;
    FOR made IN
        SELECT format('{schema}.results_%s_%s', g.ledger, g.generation)
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger AND g.sealed_at IS NULL
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        EXECUTE format('DELETE FROM %s WHERE digest = ANY ($1)', made) USING gone;
    END LOOP;
    -- DANGER: in this transaction. A process that claims one of the keys again waits for it, so
    -- that no memory can keep an old answer after a new one without seeing another count.
    UPDATE {schema}.ledgers SET evictions = evictions + 1 WHERE ledger = wanted_ledger;
    RETURN cardinality(gone);
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.ledger_watermark(integer), {schema}.unlist_expired(integer),
    {schema}.drop_generation(integer, bigint), {schema}.orphaned_generations(integer),
    {schema}.delete_ended_leases(integer, integer) FROM PUBLIC;
