-- The functions of one ledger, as texts. They name its tables and its numbers, so that a session
-- plans each of their statements once; EXECUTE would plan them for each claim, at twice the cost.
-- write_inbox() makes them again for each generation.
--
-- DANGER: a session may still run the text of an older generation. Each text therefore asks in the
-- statement that claims whether its generation is still open. Without that, a key would be claimed
-- in a sealed generation, where nobody else looks, and would take effect twice.

-- The ledgers that have an inbox, with what their functions need.
CREATE VIEW {schema}.inboxes AS
SELECT l.name, l.ledger, l.store, f.source, l.stores_results, l.max_result_bytes,
    ceil(extract(epoch FROM f.longest_request) * 1000)::bigint AS longest_ms,
    (SELECT g.generation FROM {schema}.generations g
        WHERE g.ledger = l.ledger AND g.sealed_at IS NULL) AS opened,
    ARRAY(SELECT g.generation FROM {schema}.generations g
        WHERE g.ledger = l.ledger AND g.sealed_at IS NOT NULL ORDER BY g.generation) AS sealed
FROM {schema}.ledgers l JOIN {schema}.ledger_feeds f
    ON f.ledger = l.ledger AND f.consumer_group = 'inbox' AND f.topic = l.name;

-- Whether the calling role may use the ledger for the operation. SECURITY DEFINER changes
-- current_user, but not the setting `role`: that, or else the login, is who called. Roles are
-- named by number: a role that was dropped is nobody then, and not an error for everybody.
CREATE FUNCTION {schema}.inbox_allowed_text(wanted_ledger text) RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT '(pg_has_role(coalesce(nullif(current_setting(''role''), ''none''), session_user), '
        'current_user, ''USAGE'')' || coalesce((SELECT string_agg(format(
            ' OR %spg_has_role(coalesce(nullif(current_setting(''role''), ''none''), '
            'session_user), %s::oid, ''USAGE'')', CASE WHEN g.operation <> '*'
                THEN format('operation = %L AND ', g.operation) ELSE '' END, r.oid), ''
            ORDER BY r.oid, g.operation)
        FROM {schema}.inbox_grants g JOIN pg_roles r ON r.rolname = g.grantee
        WHERE g.ledger = wanted_ledger), '') || ')'
$$;

-- Whether the open generation of the text is still the ledger's.
CREATE FUNCTION {schema}.inbox_open_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
    SELECT format('EXISTS (SELECT FROM {schema}.generations g WHERE g.ledger = %s '
        'AND g.generation = %s AND g.sealed_at IS NULL)', led.ledger, led.opened)
$$;

-- Claims one key. VOLATILE, as all functions that name the lock have to be, this one's text too.
CREATE FUNCTION {schema}.inbox_claim_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql VOLATILE AS $$
    SELECT format($made$
CREATE OR REPLACE FUNCTION {schema}.inbox_claim_%1$s(operation text, tenant text, kind text,
    key bytea, fingerprint uuid, attempt uuid, minted_at timestamptz, tries integer)
    RETURNS {schema}.claim_answer LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
    idle text := current_setting('idle_in_transaction_session_timeout');
    wait text := current_setting('lock_timeout');
    wanted uuid;
    stamp uuid := fingerprint;
    answer {schema}.claim_answer;
BEGIN
    IF ({schema}.is_key(key) AND operation <> '' AND kind <> '' AND tenant IS NOT NULL
            AND current_setting('transaction_isolation') = 'read committed'
            AND %6$s) IS NOT TRUE THEN
        PERFORM {schema}.refuse_claim(%8$L, operation, tenant, kind, key);
    END IF;
    -- key_digest() in full: PostgreSQL would call it, at the price of another statement.
    wanted := encode(substr(sha256(
        int8send(octet_length(operation)) || convert_to(operation, 'UTF8')
        || int8send(octet_length(tenant)) || convert_to(tenant, 'UTF8')
        || int8send(octet_length(kind)) || convert_to(kind, 'UTF8')
        || int8send(octet_length(key)) || key), 1, 16), 'hex')::uuid;
    -- What bound_waits() does, without a call.
    IF idle = '0' OR idle::interval > '%7$s ms' THEN
        idle := set_config('idle_in_transaction_session_timeout', '%7$s', true);
    END IF;
    IF wait = '0' OR wait::interval > '10 s' THEN
        idle := set_config('lock_timeout', '10s', true);
    END IF;
    -- DANGER: the lock in one statement and the look in the next. In one statement the snapshot is
    -- older than the lock, and a rotation that the lock waited for would not be seen.
    IF NOT pg_try_advisory_xact_lock_shared(1330524999, %1$s) THEN
        PERFORM pg_advisory_xact_lock_shared(1330524999, %1$s);
    END IF;
    -- Judged under the lock: what is dropped after this was sealed before the key was minted.
    IF minted_at IS NOT NULL THEN
        stamp := {schema}.stamped(fingerprint, minted_at);
        IF {schema}.is_late(%1$s, minted_at) THEN
            wait := set_config('lock_timeout', wait, true);
            -- A claim is kept for longer than its key's own time says, so it may be there.
            SELECT e.outcome, wanted, inbox_claim_%1$s.attempt, e.mine, e.status, e.headers, e.body,
                e.stored_at INTO answer
                FROM {schema}.inbox_earlier_%1$s(ARRAY[wanted], ARRAY[stamp], attempt) AS e;
            IF answer.outcome IS NULL THEN
                answer := ROW('expired', wanted, attempt, false, NULL, NULL, NULL, NULL)
                    ::{schema}.claim_answer;
            END IF;
            RETURN answer;
        END IF;
    END IF;
    INSERT INTO {schema}.claims_%1$s_%2$s (digest, fingerprint, record_offset, partition, source)
        SELECT wanted, stamp, pg_current_xact_id()::text::bigint, -1, %3$s
        WHERE %4$s
        ON CONFLICT DO NOTHING;
    wait := set_config('lock_timeout', wait, true);
    IF FOUND THEN
        RETURN ROW('fresh', wanted, attempt, false, NULL, NULL, NULL, NULL)::{schema}.claim_answer;
    END IF;
    IF %5$s THEN
        SELECT e.outcome, wanted, inbox_claim_%1$s.attempt, e.mine, e.status, e.headers, e.body,
            e.stored_at INTO answer
            FROM {schema}.inbox_earlier_%1$s(ARRAY[wanted], ARRAY[stamp], attempt) AS e;
        IF answer.outcome IS NOT NULL THEN
            RETURN answer;
        END IF;
    END IF;
    -- The ledger has other generations by now, or an operator took the claim out. The function is
    -- called again, for its newest text.
    IF tries = 0 THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the ledger''s generations changed; try the transaction again';
    END IF;
    RETURN {schema}.inbox_claim_%1$s(operation, tenant, kind, key,
        fingerprint, attempt, minted_at, tries - 1);
END
$body$ $made$, led.ledger, led.opened, led.source,
        {schema}.inbox_open_text(led) || coalesce((SELECT string_agg(format(
            ' AND NOT EXISTS (SELECT FROM {schema}.claims_%s_%s k WHERE k.digest = wanted)',
            led.ledger, one), '') FROM unnest(led.sealed) AS one), ''),
        {schema}.inbox_open_text(led), {schema}.inbox_allowed_text(led.name),
        led.longest_ms, led.name)
$$;
-- The claim of a key and its result in one generation, as a SELECT. `here`: this transaction made
-- it.
CREATE FUNCTION {schema}.inbox_known_text(wanted_ledger integer, one bigint) RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT format('SELECT k.fingerprint, '
        'k.partition = -1 AND k.record_offset = pg_current_xact_id()::text::bigint AS here, '
        || CASE WHEN to_regclass('{schema}.results_' || suffix) IS NULL
            THEN 'NULL::uuid AS attempt, NULL AS kind, NULL::integer AS status, '
                'NULL::jsonb AS headers, NULL::bytea AS body, NULL::timestamptz AS stored_at '
                'FROM {schema}.claims_%1$s k '
            ELSE 'r.attempt, r.kind, r.status, r.headers, r.body, r.stored_at '
                'FROM {schema}.claims_%1$s k LEFT JOIN {schema}.results_%1$s r USING (digest) ' END
        || 'WHERE k.digest = w.digest', suffix)
    FROM format('%s_%s', wanted_ledger, one) AS suffix
$$;

-- The answers for keys that are claimed already, by their places in the lists; a key that no listed
-- generation has gets no row.
-- DANGER: a statement of its own, for a snapshot of its own. The winner may have committed after
-- the snapshot of the INSERT that waited for it.
CREATE FUNCTION {schema}.inbox_earlier_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT format($made$
CREATE OR REPLACE FUNCTION {schema}.inbox_earlier_%1$s(digests uuid[], stamps uuid[], attempt uuid)
    RETURNS TABLE (place bigint, outcome text, mine boolean, status integer, headers jsonb,
        body bytea, stored_at timestamptz) LANGUAGE plpgsql VOLATILE AS $body$
BEGIN
    RETURN QUERY SELECT w.place,
        CASE WHEN known.fingerprint <> w.stamp THEN 'conflict'
            WHEN known.kind = 'failed' THEN 'failed'
            -- In this transaction its result is still to come; in another's it is not there.
            WHEN known.kind IS NULL AND %3$s AND NOT known.here THEN 'unknown'
            ELSE 'duplicate' END,
        told.kind IS NOT NULL AND told.attempt IS NOT DISTINCT FROM inbox_earlier_%1$s.attempt,
        told.status, told.headers, told.body, told.stored_at
    FROM unnest(digests, stamps) WITH ORDINALITY AS w (digest, stamp, place)
        CROSS JOIN LATERAL (SELECT * FROM (%2$s) AS listed LIMIT 1) AS known
        -- Who comes with another fingerprint does not get the result.
        LEFT JOIN LATERAL (SELECT known.*) AS told ON (known.fingerprint <> w.stamp) IS NOT TRUE;
END
$body$ $made$, led.ledger,
        (SELECT string_agg({schema}.inbox_known_text(led.ledger, one), ' UNION ALL '
            ORDER BY one DESC) FROM unnest(led.sealed || led.opened) AS one),
        led.stores_results::text)
$$;

-- Claims digests that are sorted and differ from each other. Answers with those that were claimed
-- before, and sets `stale` if the generations of the text are no longer the ledger's.
CREATE FUNCTION {schema}.inbox_claims_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
    SELECT format($made$
CREATE OR REPLACE FUNCTION {schema}.inbox_claims_%1$s(digests uuid[], stamps uuid[],
    OUT stale boolean, OUT known uuid[]) LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
    claimed uuid[];
    xact bigint := pg_current_xact_id()::text::bigint;
BEGIN
    stale := NOT %4$s;
    IF stale THEN
        RETURN;
    END IF;
    -- DANGER: in the order of the digests, which the list has. Two transactions that claim in
    -- different orders would deadlock.
    WITH made AS (
        INSERT INTO {schema}.claims_%1$s_%2$s AS k
                (digest, fingerprint, record_offset, partition, source)
            SELECT wanted.digest, wanted.stamp, xact, -1, %3$s
            FROM unnest(digests, stamps) WITH ORDINALITY AS wanted (digest, stamp, place)
            WHERE true %5$s
            ORDER BY wanted.place
            ON CONFLICT DO NOTHING RETURNING k.digest)
    SELECT array_agg(made.digest) INTO claimed FROM made;
    IF coalesce(cardinality(claimed), 0) < cardinality(digests) THEN
        known := ARRAY(SELECT d.digest FROM unnest(digests) AS d (digest)
            EXCEPT ALL SELECT c.digest FROM unnest(claimed) AS c (digest));
    END IF;
END
$body$ $made$, led.ledger, led.opened, led.source, {schema}.inbox_open_text(led),
        coalesce((SELECT string_agg(format('AND NOT EXISTS (SELECT FROM {schema}.claims_%s_%s k '
            'WHERE k.digest = wanted.digest)', led.ledger, one), ' ')
            FROM unnest(led.sealed) AS one), ''))
$$;

CREATE FUNCTION {schema}.inbox_finish_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
    SELECT format($made$
CREATE OR REPLACE FUNCTION {schema}.inbox_finish_%1$s(wanted uuid, attempt uuid, status integer,
    headers jsonb, body bytea, failed boolean, tenant text)
    RETURNS void LANGUAGE plpgsql VOLATILE AS $body$
DECLARE
    size bigint := {schema}.result_size(wanted, attempt, status, headers, body, failed, tenant);
BEGIN
    IF (size <= %3$s) IS NOT TRUE THEN
        PERFORM {schema}.refuse_result(%4$L, size, %3$s);
    END IF;
    INSERT INTO {schema}.results_%1$s_%2$s (digest, attempt, tenant, kind, status, headers, body)
        SELECT wanted, inbox_finish_%1$s.attempt, convert_to(inbox_finish_%1$s.tenant, 'UTF8'),
            CASE WHEN failed THEN 'failed' ELSE 'done' END, inbox_finish_%1$s.status,
            inbox_finish_%1$s.headers, inbox_finish_%1$s.body
        FROM {schema}.claims_%1$s_%2$s AS c
        WHERE c.digest = wanted AND c.partition = -1
            AND c.record_offset = pg_current_xact_id()::text::bigint;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'OW006',
            MESSAGE = 'this transaction has not claimed the key',
            HINT = 'finish() belongs into the transaction whose claim() said fresh.';
    END IF;
END
$body$ $made$, led.ledger, led.opened, led.max_result_bytes, led.name)
$$;

-- Run at COMMIT, for each claim of the inbox. A claim without a result would be answered with
-- "unknown" for as long as it is kept. The generation is in the name: the trigger stays with its
-- table, whatever generations come later.
CREATE FUNCTION {schema}.inbox_check_text(led {schema}.inboxes) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
    SELECT format($made$
CREATE OR REPLACE FUNCTION {schema}.inbox_check_%1$s_%2$s() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF EXISTS (SELECT FROM {schema}.results_%1$s_%2$s r WHERE r.digest = NEW.digest) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'OW005',
        MESSAGE = format('the key with the digest %%s was claimed and has no result', NEW.digest),
        HINT = 'Call finish() in the transaction that claimed the key, or roll it back.';
END
$body$ $made$, led.ledger, led.opened)
$$;
