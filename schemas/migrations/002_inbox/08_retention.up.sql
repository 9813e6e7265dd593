-- The retention of a ledger, who holds it up, and what an operator takes out.

-- One step of a ledger's retention, for pg_cron or any other scheduler; a process of Onceward that
-- has the ledger does the same. Drops what an earlier call unlisted, seals the open generation when
-- it is old enough, and unlists what has expired. It waits for a lock for 50 ms at most, since all
-- claims of the ledger wait meanwhile, and answers with who held it up.
CREATE FUNCTION {schema}.expire(ledger text, rotate_after interval DEFAULT NULL,
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

-- Who holds the ledger's lock now, the oldest first: sealing and expiry wait for all of them. Of
-- another role's session PostgreSQL shows pid and role; state and time only if the schema's owner
-- has pg_read_all_stats. A holder ends with its transaction: idle for longer than the ledger's
-- longest request, PostgreSQL ends it; else SELECT pg_terminate_backend(pid), or ROLLBACK PREPARED.
CREATE FUNCTION {schema}.holders(ledger text)
    RETURNS TABLE (pid integer, prepared text, role name, application text, state text,
        since timestamptz)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.pid, x.gid, coalesce(a.usename, x.owner), a.application_name, a.state,
        coalesce(a.xact_start, x.prepared)
    FROM {schema}.ledgers l
        JOIN pg_locks k ON k.locktype = 'advisory' AND k.classid = 1330524999
            AND k.objid = l.ledger::oid AND k.objsubid = 2 AND k.granted
            AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        LEFT JOIN pg_stat_activity a ON a.pid = k.pid
        -- A prepared transaction has no process. Until the server restarts its locks have the
        -- virtual number of the session that prepared it; the lock on its own number names it.
        LEFT JOIN LATERAL (SELECT p.* FROM pg_locks own
                JOIN pg_prepared_xacts p ON p.transaction = own.transactionid
            WHERE k.pid IS NULL AND own.pid IS NULL AND own.locktype = 'transactionid'
                AND own.virtualtransaction = k.virtualtransaction) AS x ON true
    WHERE l.name = holders.ledger
    ORDER BY 6
$$;

-- The same as a sentence for people; NULL if nobody holds it.
CREATE FUNCTION {schema}.holders_text(ledger text) RETURNS text
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(format('%s of role %s', coalesce('pid ' || h.pid,
            'prepared transaction ' || h.prepared), h.role)
            || coalesce(' since ' || h.since, ''), ', ')
        FROM {schema}.holders(ledger) AS h
$$;

-- Takes a key's claim and result out of a ledger, with the reason and who did it written down: the
-- next message or call with the key takes effect again. Answers with whether there was one.
CREATE FUNCTION {schema}.forget(operation text, tenant text, kind text, key bytea, reason text,
    ledger text DEFAULT 'inbox') RETURNS boolean
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
CREATE FUNCTION {schema}.forget(operation text, tenant text, kind text, key text, reason text,
    ledger text DEFAULT 'inbox') RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN {schema}.forget(operation, tenant, kind, convert_to(key, 'UTF8'), reason, ledger);
END
$$;
