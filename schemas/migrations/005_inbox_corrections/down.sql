-- The functions as the migrations before had them.
CREATE OR REPLACE FUNCTION {schema}.forget(operation text, tenant text, kind text, key bytea,
    reason text, ledger text DEFAULT 'inbox') RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led record;
    wanted uuid[];
BEGIN
    PERFORM {schema}.refuse_claim(ledger, operation, tenant, kind, key);
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a reason is needed: it is written down';
    END IF;
    SELECT l.ledger, l.store INTO led FROM {schema}.ledgers l WHERE l.name = forget.ledger;
    IF led.ledger IS NULL OR led.store = 'log' THEN
        PERFORM {schema}.refuse_ledger(ledger, 'table');
    END IF;
    wanted := ARRAY[{schema}.key_digest(operation, tenant, kind, key)];
    IF led.store = 'lease' THEN
        RETURN EXISTS (SELECT FROM {schema}.evict_leases(led.ledger, wanted, reason));
    END IF;
    RETURN EXISTS (SELECT FROM {schema}.evict_claims(led.ledger, wanted, reason));
END
$$;
CREATE OR REPLACE FUNCTION {schema}.expire(ledger text, rotate_after interval DEFAULT NULL,
    OUT sealed boolean, OUT unlisted integer, OUT dropped integer, OUT leases bigint,
    OUT held_up_by text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led record;
    opened record;
    old bigint;
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
    EXECUTE format('SELECT EXISTS (SELECT FROM {schema}.%s_%s_%s)',
        CASE led.store WHEN 'lease' THEN 'results' ELSE 'claims' END, led.ledger, opened.generation)
        INTO filled;
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
CREATE OR REPLACE FUNCTION {schema}.register_ledger(ledger text, store text DEFAULT 'table',
    retention interval DEFAULT '24 hours', longest_request interval DEFAULT '60 seconds',
    stores_results boolean DEFAULT true, max_result_bytes integer DEFAULT 65536) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known record;
BEGIN
    IF (ledger <> '' AND store IN ('table', 'lease') AND retention >= interval '1 second'
            AND longest_request BETWEEN interval '100 ms' AND interval '20 days'
            AND stores_results IS NOT NULL AND max_result_bytes >= 0) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a ledger has a name, the store table '
            'or lease, a retention of a second or more and a longest request of 100 ms to 20 days';
    END IF;
    PERFORM {schema}.require_inbox(ledger, '*');
    INSERT INTO {schema}.ledgers AS l (name, store, reach, retention, max_result_bytes)
        VALUES (register_ledger.ledger, register_ledger.store, 'global', register_ledger.retention,
            register_ledger.max_result_bytes)
        ON CONFLICT (name) DO UPDATE SET retention = excluded.retention,
            max_result_bytes = excluded.max_result_bytes
            WHERE l.store = excluded.store AND l.reach = excluded.reach
        RETURNING l.ledger, l.stores_results INTO known;
    IF known.ledger IS NULL THEN
        SELECT l.store, l.reach INTO known FROM {schema}.ledgers l
            WHERE l.name = register_ledger.ledger;
        RAISE EXCEPTION USING ERRCODE = 'OW002', MESSAGE = format(
            'ledger %L is there with store %s and reach %s; a ledger''s store cannot be changed: '
            'name another ledger', ledger, known.store, known.reach);
    END IF;
    INSERT INTO {schema}.ledger_feeds AS f (ledger, consumer_group, topic, longest_request)
        VALUES (known.ledger, 'inbox', register_ledger.ledger, register_ledger.longest_request)
        ON CONFLICT ON CONSTRAINT ledger_feeds_key DO UPDATE SET
            longest_request = CASE WHEN f.retired_at IS NULL
                THEN greatest(f.longest_request, excluded.longest_request)
                ELSE excluded.longest_request END,
            retired_at = NULL;
    IF NOT EXISTS (SELECT FROM {schema}.generations g
            WHERE g.ledger = known.ledger AND g.sealed_at IS NULL) THEN
        PERFORM {schema}.rotate_ledger(known.ledger, 0);
    END IF;
    IF stores_results AND NOT known.stores_results THEN
        PERFORM {schema}.begin_results(known.ledger);
    END IF;
    PERFORM {schema}.write_inbox_entries();
    PERFORM {schema}.write_inbox(known.ledger);
    RETURN known.ledger;
END
$$;
CREATE OR REPLACE FUNCTION {schema}.begin_results(wanted_ledger integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- DANGER: exclusively, so that no generation is made between the two statements.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    UPDATE {schema}.ledgers SET stores_results = true WHERE ledger = wanted_ledger;
    PERFORM {schema}.create_results(ledger, generation) FROM {schema}.generations
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    RETURN true;
END
$$;
DROP FUNCTION {schema}.has_inbox_claims(integer), {schema}.make_results(integer),
    {schema}.write_inbox_entries(), {schema}.write_inbox(integer),
    {schema}.require_read_committed(text);
ALTER FUNCTION {schema}.write_inbox_entry_texts() RENAME TO write_inbox_entries;
ALTER FUNCTION {schema}.write_inbox_texts(integer) RENAME TO write_inbox;
