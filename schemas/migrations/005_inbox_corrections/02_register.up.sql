-- Registering: what a call does not name stays, and results begin only if every program of the
-- ledger can know of them.

-- From here on the ledger's generations have results, the open one too.
CREATE FUNCTION {schema}.make_results(wanted_ledger integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- DANGER: exclusively, so that no generation is made between the two statements.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    UPDATE {schema}.ledgers SET stores_results = true WHERE ledger = wanted_ledger;
    PERFORM {schema}.create_results(ledger, generation) FROM {schema}.generations
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
END
$$;

-- The same for a route, once() or a topic with answers, which may join a ledger that is there.
-- DANGER: not one whose inbox stores none. Its programs never call finish(): from the next
-- generation on each of their COMMITs would end with OW005. Leases have no such check.
CREATE OR REPLACE FUNCTION {schema}.begin_results(wanted_ledger integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bare text;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    SELECT i.name INTO bare FROM {schema}.inboxes i JOIN {schema}.ledger_feeds f USING (source)
        WHERE i.ledger = wanted_ledger AND i.store = 'table' AND NOT i.stores_results
            AND f.retired_at IS NULL;
    IF bare IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'OW002',
            MESSAGE = format('ledger %L has an inbox that stores no results', bare),
            HINT = 'Name another ledger for what needs results.';
    END IF;
    PERFORM {schema}.make_results(wanted_ledger);
    RETURN true;
END
$$;

-- Whether a program has claimed in the ledger through its inbox.
CREATE FUNCTION {schema}.has_inbox_claims(wanted_ledger integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    made text;
    found_here boolean;
BEGIN
    FOR made IN SELECT format('{schema}.claims_%s_%s', g.ledger, g.generation)
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger ORDER BY g.generation DESC
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        EXECUTE format('SELECT EXISTS (SELECT FROM %s k WHERE k.partition = -1)', made)
            INTO found_here;
        IF found_here THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END
$$;

-- Makes a ledger's inbox, or changes what is named of a known one: a service calls this at each
-- start. NULL keeps what is there; for a new ledger it means 24 hours, 60 seconds, true and 65536.
-- An inbox that is new in a ledger of topics or routes begins with results as well. Answers with
-- the ledger's number.
CREATE OR REPLACE FUNCTION {schema}.register_ledger(ledger text, store text DEFAULT 'table',
    retention interval DEFAULT NULL, longest_request interval DEFAULT NULL,
    stores_results boolean DEFAULT NULL, max_result_bytes integer DEFAULT NULL) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before {schema}.inboxes;
    after {schema}.inboxes;
    known record;
    has_inbox boolean;
BEGIN
    IF (ledger <> '' AND store IN ('table', 'lease')) IS NOT TRUE
            OR retention < interval '1 second' OR max_result_bytes < 0
            OR longest_request NOT BETWEEN interval '100 ms' AND interval '20 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a ledger has a name, the store table '
            'or lease, a retention of a second or more and a longest request of 100 ms to 20 days';
    END IF;
    PERFORM {schema}.require_inbox(ledger, '*');
    SELECT i.* INTO before FROM {schema}.inboxes i WHERE i.name = register_ledger.ledger;
    INSERT INTO {schema}.ledgers AS l (name, store, reach, retention, max_result_bytes)
        VALUES (register_ledger.ledger, register_ledger.store, 'global',
            coalesce(register_ledger.retention, interval '24 hours'),
            coalesce(register_ledger.max_result_bytes, 65536))
        ON CONFLICT (name) DO UPDATE SET
            retention = coalesce(register_ledger.retention, l.retention),
            max_result_bytes = coalesce(register_ledger.max_result_bytes, l.max_result_bytes)
            WHERE l.store = excluded.store AND l.reach = excluded.reach
        RETURNING l.ledger, l.stores_results INTO known;
    IF known.ledger IS NULL THEN
        SELECT l.store, l.reach INTO known FROM {schema}.ledgers l
            WHERE l.name = register_ledger.ledger;
        RAISE EXCEPTION USING ERRCODE = 'OW002', MESSAGE = format(
            'ledger %L is there with store %s and reach %s; a ledger''s store cannot be changed: '
            'name another ledger', ledger, known.store, known.reach);
    END IF;
    -- The ledger's row is locked from here on: what another call has registered is seen.
    has_inbox := EXISTS (SELECT FROM {schema}.ledger_feeds f WHERE f.ledger = known.ledger
        AND f.consumer_group = 'inbox' AND f.topic = register_ledger.ledger);
    IF NOT known.stores_results AND coalesce(register_ledger.stores_results, NOT has_inbox) THEN
        -- DANGER: under the lock. A claim that has not committed yet counts too.
        PERFORM pg_advisory_xact_lock(1330524999, known.ledger);
        IF has_inbox AND store = 'table' AND {schema}.has_inbox_claims(known.ledger) THEN
            RAISE EXCEPTION USING ERRCODE = 'OW002', MESSAGE = format(
                    'ledger %L has claims of its inbox without results; it cannot begin to store '
                    'them', ledger),
                HINT = 'Leave stores_results out, or name another ledger.';
        END IF;
        PERFORM {schema}.make_results(known.ledger);
    END IF;
    INSERT INTO {schema}.ledger_feeds AS f (ledger, consumer_group, topic, longest_request)
        VALUES (known.ledger, 'inbox', register_ledger.ledger,
            coalesce(register_ledger.longest_request, interval '60 seconds'))
        ON CONFLICT ON CONSTRAINT ledger_feeds_key DO UPDATE SET
            longest_request = CASE WHEN f.retired_at IS NULL
                THEN greatest(f.longest_request, register_ledger.longest_request)
                ELSE coalesce(register_ledger.longest_request, f.longest_request) END,
            retired_at = NULL;
    IF NOT EXISTS (SELECT FROM {schema}.generations g
            WHERE g.ledger = known.ledger AND g.sealed_at IS NULL) THEN
        PERFORM {schema}.rotate_ledger(known.ledger, 0);
    END IF;
    IF store = 'table' THEN
        SELECT i.* INTO after FROM {schema}.inboxes i WHERE i.ledger = known.ledger;
        -- A service whose sessions are SERIALIZABLE may call this at each start: with nothing new
        -- there is nothing to write, and no reason to refuse it.
        IF current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
                OR after IS DISTINCT FROM before THEN
            PERFORM {schema}.write_inbox_entries();
            PERFORM {schema}.write_inbox(known.ledger);
        END IF;
    END IF;
    RETURN known.ledger;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.make_results(integer), {schema}.has_inbox_claims(integer)
    FROM PUBLIC;
