-- Effects outside this database: a lease, the call with the downstream key, the end of the lease.

CREATE TYPE {schema}.lease_answer AS (
    outcome text,
    digest uuid,
    attempt uuid,
    downstream_key uuid,
    attempts integer,
    taken_over boolean,
    remaining interval,
    status integer,
    headers jsonb,
    body bytea,
    ended_at timestamptz
);
COMMENT ON TYPE {schema}.lease_answer IS
    'outcome: fresh (the lease is yours: commit, call with downstream_key, end_lease), in_flight, '
    'duplicate, failed, conflict, unknown or expired.';

-- Takes a lease of a key, for an effect outside this database. Commit before the effect begins; the
-- effect carries the downstream key. `attempt` names the holder: the same one again gets the lease
-- again. If a lease ran out and no end was stored, the effect may have happened: it is taken over,
-- or the answer is `unknown` where the other side does not honour keys.
CREATE FUNCTION {schema}.lease(operation text, tenant text, kind text, key bytea,
    fingerprint uuid DEFAULT NULL, attempt uuid DEFAULT NULL, ledger text DEFAULT 'inbox_leases',
    hold interval DEFAULT '60 s', honours_key boolean DEFAULT true,
    minted_at timestamptz DEFAULT NULL) RETURNS {schema}.lease_answer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes := {schema}.require_ledger(ledger, 'lease', operation, tenant, kind,
        ARRAY[key]);
    answer {schema}.lease_answer;
    wait text := current_setting('lock_timeout');
    known record;
BEGIN
    IF hold IS NULL OR hold NOT BETWEEN interval '1 ms' AND interval '1 day' OR honours_key IS NULL
    THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004',
            MESSAGE = 'a lease is held for a millisecond up to a day';
    END IF;
    answer.digest := {schema}.key_digest(operation, tenant, kind, key);
    answer.attempt := coalesce(attempt, gen_random_uuid());
    answer.downstream_key := {schema}.downstream_key(answer.digest);
    PERFORM {schema}.bound_waits(led.longest_ms);
    PERFORM pg_advisory_xact_lock_shared(1330524999, led.ledger);
    -- DANGER: a call that is made before its lease is safe on disk, and on the standby, is made
    -- again after a crash.
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    -- The lock keeps the rows that are there: only what is not there is beyond memory.
    IF minted_at IS NOT NULL AND {schema}.is_late(led.ledger, minted_at) AND NOT EXISTS (
            SELECT FROM {schema}.leases l
            WHERE l.ledger = led.ledger AND l.digest = answer.digest) THEN
        PERFORM set_config('lock_timeout', wait, true);
        answer.outcome := 'expired';
        RETURN answer;
    END IF;
    fingerprint := {schema}.stamped(fingerprint, minted_at);
    INSERT INTO {schema}.leases AS held (ledger, digest, owner_token, lease_until, fingerprint,
            source, identity, partition, record_offset)
        VALUES (led.ledger, answer.digest, answer.attempt, clock_timestamp() + hold,
            lease.fingerprint, led.source, 'inbox', 0, 0)
        ON CONFLICT ON CONSTRAINT leases_key DO UPDATE SET
            owner_token = excluded.owner_token, lease_until = excluded.lease_until,
            attempts = held.attempts + 1,
            fingerprint = coalesce(excluded.fingerprint, held.fingerprint),
            source = excluded.source, identity = excluded.identity,
            partition = excluded.partition, record_offset = excluded.record_offset,
            claimed_at = excluded.claimed_at, state = 'in_flight', ended_at = NULL,
            counted = false, reason = NULL,
            taken_over = held.owner_token NOT IN (excluded.owner_token,
                '00000000-0000-0000-0000-000000000000')
        -- DANGER: what has ended with an owner keeps that one's token, and is nobody's to claim.
        WHERE (held.owner_token = '00000000-0000-0000-0000-000000000000'
                OR (held.state = 'in_flight' AND (held.owner_token = excluded.owner_token
                    OR (lease.honours_key AND held.lease_until <= clock_timestamp()))))
            AND (held.fingerprint = excluded.fingerprint) IS NOT FALSE
        RETURNING held.attempts, held.taken_over INTO answer.attempts, answer.taken_over;
    PERFORM set_config('lock_timeout', wait, true);
    IF answer.attempts IS NOT NULL THEN
        answer.outcome := 'fresh';
        answer.remaining := hold;
        RETURN answer;
    END IF;
    SELECT l.* INTO known FROM {schema}.leases l
        WHERE l.ledger = led.ledger AND l.digest = answer.digest;
    answer.attempts := known.attempts;
    answer.outcome := CASE
        WHEN known.fingerprint <> fingerprint THEN 'conflict'
        WHEN known.state = 'done' THEN 'duplicate'
        WHEN known.state = 'failed' THEN 'failed'
        WHEN known.lease_until > clock_timestamp() THEN 'in_flight'
        ELSE 'unknown' END;
    IF answer.outcome = 'in_flight' THEN
        answer.remaining := known.lease_until - clock_timestamp();
    ELSIF answer.outcome IN ('duplicate', 'failed') THEN
        answer.ended_at := known.ended_at;
        SELECT coalesce(r.status, known.status), r.headers, r.body
            INTO answer.status, answer.headers, answer.body
            FROM {schema}.lease_result(led.ledger, answer.digest) AS r;
    END IF;
    RETURN answer;
END
$$;
CREATE FUNCTION {schema}.lease(operation text, tenant text, kind text, key text,
    fingerprint uuid DEFAULT NULL, attempt uuid DEFAULT NULL, ledger text DEFAULT 'inbox_leases',
    hold interval DEFAULT '60 s', honours_key boolean DEFAULT true,
    minted_at timestamptz DEFAULT NULL) RETURNS {schema}.lease_answer
    LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN {schema}.lease(operation, tenant, kind, convert_to(key, 'UTF8'), fingerprint, attempt,
        ledger, hold, honours_key, minted_at);
END
$$;

-- The stored result of a lease that has ended. Called with the ledger's lock held.
CREATE FUNCTION {schema}.lease_result(wanted_ledger integer, wanted uuid,
    OUT status integer, OUT headers jsonb, OUT body bytea)
    LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    made text;
BEGIN
    FOR made IN SELECT format('{schema}.results_%s_%s', g.ledger, g.generation)
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger ORDER BY g.generation DESC
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        EXECUTE format('SELECT r.status, r.headers, r.body FROM %s r WHERE r.digest = $1', made)
            INTO status, headers, body USING wanted;
        IF status IS NOT NULL THEN
            RETURN;
        END IF;
    END LOOP;
END
$$;

-- Stores how the effect of a lease ended. Answers with false if the lease is no longer this
-- attempt's: somebody took it over. Called again after a COMMIT without an answer, it says true.
CREATE FUNCTION {schema}.end_lease(digest uuid, attempt uuid, status integer DEFAULT 0,
    headers jsonb DEFAULT '[]', body bytea DEFAULT '', failed boolean DEFAULT false,
    tenant text DEFAULT '', ledger text DEFAULT 'inbox_leases') RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes := {schema}.inbox_of(ledger, 'lease');
    size bigint := {schema}.result_size(digest, attempt, status, headers, body, failed, tenant);
BEGIN
    IF (size <= led.max_result_bytes) IS NOT TRUE THEN
        PERFORM {schema}.refuse_result(ledger, size, led.max_result_bytes);
    END IF;
    PERFORM pg_advisory_xact_lock_shared(1330524999, led.ledger);
    -- The open generation may be another one than before the lock.
    led := {schema}.inbox_of(ledger, 'lease');
    UPDATE {schema}.leases l SET state = CASE WHEN failed THEN 'failed' ELSE 'done' END,
            ended_at = clock_timestamp(), counted = true, status = nullif(end_lease.status, 0),
            result_kept = led.stores_results
        WHERE l.ledger = led.ledger AND l.digest = end_lease.digest
            AND l.owner_token = end_lease.attempt AND l.state = 'in_flight';
    IF NOT FOUND THEN
        RETURN EXISTS (SELECT FROM {schema}.leases l WHERE l.ledger = led.ledger
            AND l.digest = end_lease.digest AND l.owner_token = end_lease.attempt
            AND l.state <> 'in_flight');
    END IF;
    IF led.stores_results THEN
        EXECUTE format('INSERT INTO {schema}.results_%s_%s '
            '(digest, attempt, tenant, kind, status, headers, body) '
            'VALUES ($1, $2, convert_to($3, ''UTF8''), $4, $5, $6, $7) ON CONFLICT DO NOTHING',
            led.ledger, led.opened) USING digest, attempt, tenant,
            CASE WHEN failed THEN 'failed' ELSE 'done' END, status, headers, body;
    END IF;
    RETURN true;
END
$$;

-- Holds a lease for longer. Answers with false if it is no longer this attempt's.
CREATE FUNCTION {schema}.extend_lease(digest uuid, attempt uuid, hold interval DEFAULT '60 s',
    ledger text DEFAULT 'inbox_leases') RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes := {schema}.inbox_of(ledger, 'lease');
BEGIN
    IF (hold BETWEEN interval '1 ms' AND interval '1 day') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004',
            MESSAGE = 'a lease is held for a millisecond up to a day';
    END IF;
    UPDATE {schema}.leases l SET lease_until = clock_timestamp() + hold
        WHERE l.ledger = led.ledger
            AND l.digest = extend_lease.digest AND l.owner_token = extend_lease.attempt
            AND l.state = 'in_flight';
    RETURN FOUND;
END
$$;

-- Gives a lease back because its effect did not happen: the next one with the key may try at once.
CREATE FUNCTION {schema}.release_lease(digest uuid, attempt uuid,
    ledger text DEFAULT 'inbox_leases') RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led {schema}.inboxes := {schema}.inbox_of(ledger, 'lease');
BEGIN
    UPDATE {schema}.leases l SET owner_token = '00000000-0000-0000-0000-000000000000',
            lease_until = least(l.lease_until, clock_timestamp()), state = 'failed',
            ended_at = clock_timestamp(), counted = true,
            reason = 'released: the next request with the key is carried out'
        WHERE l.ledger = led.ledger
            AND l.digest = release_lease.digest AND l.owner_token = release_lease.attempt
            AND l.state = 'in_flight';
    RETURN FOUND;
END
$$;
