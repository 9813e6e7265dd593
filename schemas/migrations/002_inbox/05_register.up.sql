-- Makes a ledger's inbox, and writes the functions of each ledger and those that lead to them.

-- Writes the ledger's functions for the generations that it has now. Called with the ledger's lock
-- held exclusively, or while the ledger is registered.
CREATE FUNCTION {schema}.write_inbox(wanted_ledger integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes;
    old text;
BEGIN
    SELECT i.* INTO led FROM {schema}.inboxes i
        WHERE i.ledger = wanted_ledger AND i.store = 'table';
    IF led.opened IS NULL THEN
        RETURN;
    END IF;
    -- One at a time: two sessions that replace a function at once fail.
    PERFORM pg_advisory_xact_lock(
        hashtextextended('onceward inbox {schema} ' || wanted_ledger, 0));
    EXECUTE {schema}.inbox_earlier_text(led);
    EXECUTE {schema}.inbox_claim_text(led);
    EXECUTE {schema}.inbox_claims_text(led);
    IF NOT led.stores_results THEN
        RETURN;
    END IF;
    EXECUTE {schema}.inbox_finish_text(led);
    IF to_regprocedure(format('{schema}.inbox_check_%s_%s()', led.ledger, led.opened)) IS NULL THEN
        EXECUTE {schema}.inbox_check_text(led);
        -- Rows of workers and routes have a partition of 0 or more, and are not looked at.
        EXECUTE format('CREATE CONSTRAINT TRIGGER claims_result_required AFTER INSERT '
            'ON {schema}.claims_%1$s_%2$s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW '
            'WHEN (NEW.partition = -1) EXECUTE FUNCTION {schema}.inbox_check_%1$s_%2$s()',
            led.ledger, led.opened);
    END IF;
    FOR old IN SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.proname ~ format('^inbox_check_%s_', led.ledger)
            AND p.pronamespace = (SELECT c.relnamespace FROM pg_class c
                WHERE c.oid = '{schema}.ledgers'::regclass)
            AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgfoid = p.oid)
    LOOP
        EXECUTE 'DROP FUNCTION ' || old;
    END LOOP;
END
$$;
CREATE FUNCTION {schema}.inbox_of_generations() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.write_inbox(CASE TG_OP WHEN 'DELETE' THEN OLD.ledger ELSE NEW.ledger END);
    RETURN NULL;
END
$$;
-- After generations_results, by its name: PostgreSQL runs triggers in the order of their names.
CREATE TRIGGER generations_results_inbox AFTER INSERT OR DELETE ON {schema}.generations
    FOR EACH ROW EXECUTE FUNCTION {schema}.inbox_of_generations();

-- Writes claim() and finish(), which lead to the functions of the ledger that the caller names.
CREATE FUNCTION {schema}.write_inbox_entries() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    leads text;
    key_type text;
    key_bytes text;
BEGIN
    -- One at a time, as above.
    PERFORM pg_advisory_xact_lock(hashtextextended('onceward inbox {schema}', 0));
    -- One function for keys that are text, one for bytes. A call from one to the other would cost a
    -- tenth of a claim.
    FOR key_type, key_bytes IN VALUES ('bytea', 'key'), ('text', 'convert_to(key, ''UTF8'')') LOOP
        SELECT string_agg(format('WHEN %L THEN RETURN {schema}.inbox_claim_%s(operation, tenant, '
                'kind, %s, fingerprint, coalesce(attempt, gen_random_uuid()), minted_at, 3);',
                i.name, i.ledger, key_bytes), ' ' ORDER BY i.ledger)
            INTO leads FROM {schema}.inboxes i WHERE i.store = 'table';
        EXECUTE format($made$
CREATE OR REPLACE FUNCTION {schema}.claim(operation text, tenant text, kind text, key %s,
    fingerprint uuid DEFAULT NULL, attempt uuid DEFAULT NULL, ledger text DEFAULT 'inbox',
    minted_at timestamptz DEFAULT NULL) RETURNS {schema}.claim_answer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    CASE ledger WHEN NULL THEN NULL; %s
    ELSE PERFORM {schema}.refuse_ledger(ledger, 'table');
    END CASE;
END
$body$ $made$, key_type, leads);
    END LOOP;
    SELECT string_agg(format('WHEN %L THEN PERFORM {schema}.inbox_finish_%s(digest, attempt, '
            'status, headers, body, failed, tenant);', i.name, i.ledger), ' ' ORDER BY i.ledger)
        INTO leads FROM {schema}.inboxes i WHERE i.store = 'table' AND i.stores_results;
    EXECUTE format($made$
CREATE OR REPLACE FUNCTION {schema}.finish(digest uuid, attempt uuid, status integer DEFAULT 0,
    headers jsonb DEFAULT '[]', body bytea DEFAULT '', failed boolean DEFAULT false,
    tenant text DEFAULT '', ledger text DEFAULT 'inbox') RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    CASE ledger WHEN NULL THEN NULL; %s
    ELSE PERFORM {schema}.refuse_ledger(ledger, 'table', true);
    END CASE;
END
$body$ $made$, leads);
END
$$;
SELECT {schema}.write_inbox_entries();

-- Makes a ledger's inbox, or changes its retention. Answers with the ledger's number.
CREATE FUNCTION {schema}.register_ledger(ledger text, store text DEFAULT 'table',
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
