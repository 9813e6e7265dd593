CREATE OR REPLACE FUNCTION {schema}.delete_ended_leases(wanted_ledger integer, most integer)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beyond timestamptz;
    gone bigint;
BEGIN
    SELECT {schema}.ledger_watermark(wanted_ledger) - l.retention INTO beyond
        FROM {schema}.ledgers l WHERE l.ledger = wanted_ledger;
    -- DANGER: null where something holds the retention back; nothing is older than that.
    DELETE FROM {schema}.leases WHERE ledger = wanted_ledger AND digest = ANY (ARRAY(
        SELECT old.digest FROM {schema}.leases old
        WHERE old.ledger = wanted_ledger AND old.ended_at < beyond
        ORDER BY old.ended_at LIMIT most FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
