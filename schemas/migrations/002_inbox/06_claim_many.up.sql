-- Many keys in one round trip.

-- Bounds what a claim may do to others: how long its transaction may be idle until it ends, and
-- how long this call waits for a lock.
CREATE FUNCTION {schema}.bound_waits(longest_ms bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    idle text := current_setting('idle_in_transaction_session_timeout');
    wait text := current_setting('lock_timeout');
BEGIN
    IF idle = '0' OR idle::interval > longest_ms * interval '1 ms' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', longest_ms::text, true);
    END IF;
    IF wait = '0' OR wait::interval > interval '10 s' THEN
        PERFORM set_config('lock_timeout', '10s', true);
    END IF;
END
$$;

-- The ledger, if it has an inbox with that store (and with results, if one is to be stored).
CREATE FUNCTION {schema}.inbox_of(wanted_ledger text, wanted_store text,
    for_result boolean DEFAULT false) RETURNS {schema}.inboxes LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    led {schema}.inboxes;
BEGIN
    SELECT i.* INTO led FROM {schema}.inboxes i WHERE i.name = wanted_ledger
        AND i.store = wanted_store AND (i.stores_results OR NOT for_result);
    IF led.ledger IS NULL THEN
        PERFORM {schema}.refuse_ledger(wanted_ledger, wanted_store, for_result);
    END IF;
    RETURN led;
END
$$;

-- Checks a call of claim_many() or lease() and answers with the ledger. The caller takes its lock.
CREATE FUNCTION {schema}.require_ledger(wanted_ledger text, wanted_store text, operation text,
    tenant text, kind text, keys bytea[]) RETURNS {schema}.inboxes LANGUAGE plpgsql STABLE AS $$
DECLARE
    one bytea;
BEGIN
    -- It checks all, and returns if all is well.
    PERFORM {schema}.refuse_claim(wanted_ledger, operation, tenant, kind, 'any'::bytea);
    SELECT k.key INTO one FROM unnest(keys) AS k (key) WHERE NOT {schema}.is_key(k.key) LIMIT 1;
    IF FOUND THEN
        PERFORM {schema}.refuse_claim(wanted_ledger, operation, tenant, kind, one);
    END IF;
    RETURN {schema}.inbox_of(wanted_ledger, wanted_store);
END
$$;

-- Refuses a claim that was in the way a moment ago and is gone: forget() took it out.
CREATE FUNCTION {schema}.claim_taken_out() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '40001',
        MESSAGE = 'a claim in the way was taken out; try the transaction again';
END
$$;

-- Claims many keys in one round trip. Answers with one row for each key, at its place in `keys`,
-- from 1 on; a key that comes twice is fresh once. Call it before the transaction takes row
-- locks: keys are claimed in the order of their digests, and row locks that are older are in
-- another order. Bodies beyond `max_bytes` in all are left out (NULL); claim() of that key alone
-- reads them.
CREATE FUNCTION {schema}.claim_many(operation text, tenant text, kind text, keys bytea[],
    fingerprints uuid[] DEFAULT NULL, attempt uuid DEFAULT NULL, ledger text DEFAULT 'inbox',
    minted_at timestamptz[] DEFAULT NULL, max_bytes bigint DEFAULT 1048576)
    RETURNS TABLE (place integer, answer {schema}.claim_answer)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes;
    prefix bytea;
    wait text := current_setting('lock_timeout');
    digests uuid[];
    stamps uuid[];
    wanted uuid[];
    wanted_stamps uuid[];
    late boolean[];
    claims record;
BEGIN
    IF (array_ndims(keys) = 1 OR keys = '{}') IS NOT TRUE OR cardinality(keys) > 10000
        OR cardinality(fingerprints) <> cardinality(keys)
        OR cardinality(minted_at) <> cardinality(keys) OR max_bytes IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'keys is a list of at most 10,000 keys; '
            'fingerprints and minted_at are NULL, or lists of the same length';
    END IF;
    led := {schema}.require_ledger(ledger, 'table', operation, tenant, kind, keys);
    attempt := coalesce(attempt, gen_random_uuid());
    prefix := int8send(octet_length(operation)) || convert_to(operation, 'UTF8')
        || int8send(octet_length(tenant)) || convert_to(tenant, 'UTF8')
        || int8send(octet_length(kind)) || convert_to(kind, 'UTF8');
    SELECT array_agg(encode(substr(sha256(prefix || int8send(octet_length(k.key)) || k.key), 1, 16),
            'hex')::uuid ORDER BY k.place),
            array_agg(CASE WHEN k.minted IS NULL THEN k.fingerprint
                ELSE {schema}.stamped(k.fingerprint, k.minted) END ORDER BY k.place)
        INTO digests, stamps FROM unnest(keys, fingerprints, minted_at) WITH ORDINALITY
            AS k (key, fingerprint, minted, place);
    PERFORM {schema}.bound_waits(led.longest_ms);
    -- DANGER: as in claim(), the lock in one statement and the look in the next.
    PERFORM pg_advisory_xact_lock_shared(1330524999, led.ledger);
    IF minted_at IS NOT NULL THEN
        SELECT array_agg(m.minted IS NOT NULL AND {schema}.is_late(led.ledger, m.minted)
            ORDER BY m.place) INTO late FROM unnest(minted_at) WITH ORDINALITY AS m (minted, place);
    END IF;
    SELECT coalesce(array_agg(d.digest ORDER BY d.digest), '{}'),
            array_agg(d.stamp ORDER BY d.digest) INTO wanted, wanted_stamps
        FROM (SELECT DISTINCT ON (k.digest) k.digest, k.stamp
            FROM unnest(digests, stamps, late) WITH ORDINALITY AS k (digest, stamp, late, place)
            WHERE k.late IS NOT TRUE ORDER BY k.digest, k.place) AS d;
    FOR tries IN 1..4 LOOP
        EXECUTE format('SELECT * FROM {schema}.inbox_claims_%s($1, $2)', led.ledger)
            INTO claims USING wanted, wanted_stamps;
        EXIT WHEN NOT claims.stale;
        IF tries = 4 THEN
            RAISE EXCEPTION USING ERRCODE = '40001',
                MESSAGE = 'the ledger''s generations changed; try the transaction again';
        END IF;
    END LOOP;
    PERFORM set_config('lock_timeout', wait, true);
    IF claims.known IS NULL AND cardinality(wanted) = cardinality(digests) THEN
        RETURN QUERY SELECT d.place::integer,
            ROW('fresh', d.digest, attempt, false, NULL, NULL, NULL, NULL)::{schema}.claim_answer
            FROM unnest(digests) WITH ORDINALITY AS d (digest, place);
        RETURN;
    END IF;
    -- EXECUTE plans for these lists; a plan that is kept would be one for lists of ten.
    RETURN QUERY EXECUTE format($many$
        WITH k AS (
            SELECT k.place, k.digest, k.stamp, k.late IS TRUE AS late,
                e.digest IS NOT NULL AS known, row_number() OVER same_key AS nth,
                first_value(k.stamp) OVER same_key AS first_stamp
            FROM unnest($1, $2, $3) WITH ORDINALITY AS k (digest, stamp, late, place)
                LEFT JOIN unnest($4) AS e (digest) ON e.digest = k.digest
            WINDOW same_key AS (PARTITION BY k.digest, k.late IS TRUE ORDER BY k.place)),
        asked AS (
            SELECT array_agg(k.digest ORDER BY k.place) AS digests,
                array_agg(k.stamp ORDER BY k.place) AS stamps,
                array_agg(k.place ORDER BY k.place) AS places
            FROM k WHERE k.known OR k.late),
        earlier AS (
            SELECT a.places[e.place] AS place, e.outcome, e.mine, e.status, e.headers, e.body,
                e.stored_at,
                sum(coalesce(octet_length(e.body), 0)) OVER (ORDER BY e.place) AS bytes
            FROM asked a, {schema}.inbox_earlier_%s(a.digests, a.stamps, $5) AS e)
        SELECT k.place::integer, ROW(
            CASE WHEN k.known OR k.late THEN coalesce(e.outcome,
                    CASE WHEN k.late THEN 'expired' ELSE {schema}.claim_taken_out() END)
                WHEN k.nth = 1 THEN 'fresh'
                WHEN k.first_stamp <> k.stamp THEN 'conflict' ELSE 'duplicate' END,
            k.digest, $5, coalesce(e.mine, false), e.status, e.headers,
            CASE WHEN e.bytes <= $6 THEN e.body END, e.stored_at)::{schema}.claim_answer
        FROM k LEFT JOIN earlier e USING (place) ORDER BY k.place $many$, led.ledger)
        USING digests, stamps, late, claims.known, attempt, max_bytes;
END
$$;
CREATE FUNCTION {schema}.claim_many(operation text, tenant text, kind text, keys text[],
    fingerprints uuid[] DEFAULT NULL, attempt uuid DEFAULT NULL, ledger text DEFAULT 'inbox',
    minted_at timestamptz[] DEFAULT NULL, max_bytes bigint DEFAULT 1048576)
    RETURNS TABLE (place integer, answer {schema}.claim_answer)
    LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT * FROM {schema}.claim_many(operation, tenant, kind,
        CASE WHEN keys IS NOT NULL THEN ARRAY(SELECT convert_to(k.key, 'UTF8')
            FROM unnest(keys) WITH ORDINALITY AS k (key, place) ORDER BY k.place) END,
        fingerprints, attempt, ledger, minted_at, max_bytes);
END
$$;

-- Stores one result, without headers and body, for many claims of this transaction.
CREATE FUNCTION {schema}.finish_many(digests uuid[], attempt uuid, status integer DEFAULT 0,
    tenant text DEFAULT '', ledger text DEFAULT 'inbox') RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes := {schema}.inbox_of(ledger, 'table', true);
    finished bigint;
BEGIN
    IF digests IS NULL OR attempt IS NULL OR status IS NULL OR tenant IS NULL THEN
        PERFORM {schema}.refuse_result(ledger, NULL, led.max_result_bytes);
    END IF;
    EXECUTE format('INSERT INTO {schema}.results_%1$s_%2$s '
            '(digest, attempt, tenant, kind, status, headers, body) '
            'SELECT c.digest, $2, convert_to($3, ''UTF8''), ''done'', $4, ''[]'', '''' '
            'FROM unnest($1) AS d (digest) JOIN {schema}.claims_%1$s_%2$s AS c USING (digest) '
            'WHERE c.partition = -1 AND c.record_offset = pg_current_xact_id()::text::bigint',
            led.ledger, led.opened)
        USING digests, attempt, tenant, status;
    GET DIAGNOSTICS finished = ROW_COUNT;
    IF finished < cardinality(digests) THEN
        RAISE EXCEPTION USING ERRCODE = 'OW006', MESSAGE = format(
                'this transaction has not claimed %s of the keys', cardinality(digests) - finished),
            HINT = 'finish_many() belongs into the transaction whose claim_many() said fresh.';
    END IF;
END
$$;
