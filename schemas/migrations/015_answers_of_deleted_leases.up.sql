-- As before (013), and with a lease goes what is known of its answer: a key that comes again has
-- another. Memories look at the ledger's count of evictions. An answer in a sealed generation stays
-- until that is dropped: the next one is stored in a newer generation, and the newest counts. In
-- the open one it would be in the next one's way.
CREATE OR REPLACE FUNCTION {schema}.delete_ended_leases(wanted_ledger integer, most integer)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beyond timestamptz;
    gone uuid[];
    made text;
BEGIN
    SELECT {schema}.ledger_watermark(wanted_ledger) - l.retention INTO beyond
        FROM {schema}.ledgers l WHERE l.ledger = wanted_ledger;
    -- DANGER: null where something holds the retention back; nothing is older than that.
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
    -- DANGER: in this transaction. Whoever claims one of the keys anew waits for it, so that no
    -- memory can hold an old answer beside a new one and be told nothing.
    UPDATE {schema}.ledgers SET evictions = evictions + 1 WHERE ledger = wanted_ledger;
    RETURN cardinality(gone);
END
$$;
