-- Retention and taking out, without an error for a lease ledger that stores no results, and without
-- a wait that has no bound.

-- One step of a ledger's retention, as before.
CREATE OR REPLACE FUNCTION {schema}.expire(ledger text, rotate_after interval DEFAULT NULL,
    OUT sealed boolean, OUT unlisted integer, OUT dropped integer, OUT leases bigint,
    OUT held_up_by text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led record;
    opened record;
    old bigint;
    made text;
    filled boolean;
    wait text := current_setting('lock_timeout');
BEGIN
    sealed := false;
    unlisted := 0;
    dropped := 0;
    leases := 0;
    PERFORM {schema}.require_inbox(ledger, '*');
    SELECT l.ledger, l.store, least(coalesce(rotate_after, l.retention / 8), interval '3 hours')
            AS rotate_after INTO led
        FROM {schema}.ledgers l WHERE l.name = expire.ledger AND l.store IN ('table', 'lease');
    IF led.ledger IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'OW002',
            MESSAGE = format('there is no ledger %L with the store table or lease', ledger);
    END IF;
    IF led.store = 'table' THEN
        -- Before anything is done, and not only when a generation is due.
        PERFORM {schema}.require_read_committed('expire()');
    END IF;
    IF NOT pg_try_advisory_xact_lock(
            hashtextextended('onceward retention {schema} ' || led.ledger, 0)) THEN
        RETURN;
    END IF;
    PERFORM set_config('lock_timeout', '50ms', true);
    FOR old IN SELECT {schema}.orphaned_generations(led.ledger) LOOP
        BEGIN
            dropped := dropped + {schema}.drop_generation(led.ledger, old)::integer;
        EXCEPTION WHEN lock_not_available THEN
            held_up_by := format('a transaction that still reads generation %s', old);
        END;
    END LOOP;
    SELECT g.generation, g.created_at INTO opened FROM {schema}.generations g
        WHERE g.ledger = led.ledger AND g.sealed_at IS NULL;
    -- A lease ledger without results has no table in its generations: they stay as they are.
    made := format('{schema}.%s_%s_%s',
        CASE led.store WHEN 'lease' THEN 'results' ELSE 'claims' END, led.ledger,
        opened.generation);
    IF to_regclass(made) IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', made) INTO filled;
    END IF;
    BEGIN
        IF filled AND opened.created_at + led.rotate_after < clock_timestamp() THEN
            PERFORM {schema}.rotate_ledger(led.ledger, opened.generation);
            sealed := true;
        END IF;
        IF EXISTS (SELECT FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
                WHERE g.ledger = led.ledger
                    AND g.sealed_at + l.retention < {schema}.ledger_watermark(led.ledger)) THEN
            SELECT count(*) INTO unlisted FROM {schema}.unlist_expired(led.ledger);
        END IF;
    EXCEPTION WHEN lock_not_available THEN
        sealed := false;
        unlisted := 0;
        held_up_by := {schema}.holders_text(expire.ledger);
    END;
    IF led.store = 'lease' THEN
        BEGIN
            leases := {schema}.delete_ended_leases(led.ledger, 20000);
        EXCEPTION WHEN lock_not_available THEN
            held_up_by := coalesce(held_up_by, {schema}.holders_text(expire.ledger));
        END;
    END IF;
    PERFORM set_config('lock_timeout', wait, true);
END
$$;

-- Takes a key's claim and result out of a ledger, as before. It waits for 50 ms at most and then
-- says who held it up; the caller's transaction may be idle for as long as a claim's.
CREATE OR REPLACE FUNCTION {schema}.forget(operation text, tenant text, kind text, key bytea,
    reason text, ledger text DEFAULT 'inbox') RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led record;
    wanted uuid[];
    taken boolean;
    wait text := current_setting('lock_timeout');
BEGIN
    PERFORM {schema}.refuse_claim(ledger, operation, tenant, kind, key);
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a reason is needed: it is written down';
    END IF;
    SELECT l.ledger, l.store, coalesce((SELECT i.longest_ms FROM {schema}.inboxes i
            WHERE i.ledger = l.ledger), 60000) AS longest_ms INTO led
        FROM {schema}.ledgers l WHERE l.name = forget.ledger;
    IF led.ledger IS NULL OR led.store = 'log' THEN
        PERFORM {schema}.refuse_ledger(ledger, 'table');
    END IF;
    wanted := ARRAY[{schema}.key_digest(operation, tenant, kind, key)];
    -- All claims of the ledger wait from the moment that this waits for its lock, and until the
    -- caller's transaction ends.
    PERFORM {schema}.bound_waits(led.longest_ms);
    PERFORM set_config('lock_timeout', '50ms', true);
    BEGIN
        IF led.store = 'lease' THEN
            taken := EXISTS (SELECT FROM {schema}.evict_leases(led.ledger, wanted, reason));
        ELSE
            taken := EXISTS (SELECT FROM {schema}.evict_claims(led.ledger, wanted, reason));
        END IF;
    EXCEPTION WHEN lock_not_available THEN
        RAISE EXCEPTION USING ERRCODE = '55P03',
            MESSAGE = format('ledger %L is in use, and nothing was forgotten', ledger)
                || coalesce('; it is held by ' || {schema}.holders_text(ledger), ''),
            HINT = format('Try again. SELECT * FROM {schema}.holders(%L) shows who holds it.',
                ledger);
    END;
    PERFORM set_config('lock_timeout', wait, true);
    RETURN taken;
END
$$;
