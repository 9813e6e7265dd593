-- What the functions refuse. Each of them checks with one cheap condition; only if that fails
-- does it call a function of this file, which finds the reason and says it.

-- Whether the calling role may use the ledger for the operation (NULL: for any). SECURITY DEFINER
-- changes current_user, but not the setting `role`: that, or else the login, is who called.
CREATE FUNCTION {schema}.may_use_inbox(wanted_ledger text, wanted_operation text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    caller name := CASE current_setting('role') WHEN 'none' THEN session_user
        ELSE current_setting('role') END;
BEGIN
    IF pg_has_role(caller, current_user, 'USAGE') THEN
        RETURN true;
    END IF;
    RETURN EXISTS (SELECT FROM {schema}.inbox_grants g
        WHERE g.ledger = wanted_ledger
            AND (g.operation IN ('*', wanted_operation) OR wanted_operation IS NULL)
            AND EXISTS (SELECT FROM pg_roles r WHERE r.rolname = g.grantee
                AND pg_has_role(caller, r.oid, 'USAGE')));
END
$$;
CREATE FUNCTION {schema}.require_inbox(wanted_ledger text, wanted_operation text) RETURNS void
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT {schema}.may_use_inbox(wanted_ledger, wanted_operation) THEN
        RAISE EXCEPTION USING ERRCODE = 'OW003',
            MESSAGE = format('this role may not use ledger %L', wanted_ledger)
                || coalesce(' for operation ' || quote_literal(wanted_operation), ''),
            HINT = 'The owner runs: onceward migrate up --grant-inbox-to ROLE --ledger LEDGER';
    END IF;
END
$$;

-- Says why a claim is refused: the isolation level, an argument, or the role.
CREATE FUNCTION {schema}.refuse_claim(wanted_ledger text, operation text, tenant text, kind text,
    key bytea) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'OW001',
            MESSAGE = format('the transaction is %s; claims need READ COMMITTED',
                upper(current_setting('transaction_isolation')));
    END IF;
    IF coalesce(operation, '') = '' OR coalesce(kind, '') = '' OR tenant IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE =
            'operation and kind are missing, or tenant is NULL; write '''' if keys have no tenant';
    END IF;
    IF NOT {schema}.is_key(key) THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE =
            'a key has 1 to 255 bytes and no NUL byte; this one '
            || coalesce('has ' || octet_length(key) || ' bytes', 'is NULL');
    END IF;
    PERFORM {schema}.require_inbox(wanted_ledger, operation);
END
$$;

-- Says why a ledger cannot be used: it has no inbox, another store, or no results. A role that may
-- not use it does not learn whether it is there.
CREATE FUNCTION {schema}.refuse_ledger(wanted_ledger text, wanted_store text,
    for_result boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    known record;
BEGIN
    PERFORM {schema}.require_inbox(wanted_ledger, NULL);
    SELECT l.store, l.stores_results INTO known FROM {schema}.ledgers l
        WHERE l.name = wanted_ledger;
    IF known.store <> wanted_store THEN
        RAISE EXCEPTION USING ERRCODE = 'OW002',
            MESSAGE = format('ledger %L has the store %s; this function needs %s', wanted_ledger,
                known.store, wanted_store);
    END IF;
    IF for_result AND NOT known.stores_results THEN
        RAISE EXCEPTION USING ERRCODE = 'OW002',
            MESSAGE = format('ledger %L stores no results', wanted_ledger);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'OW002',
        MESSAGE = format('ledger %L has no inbox', wanted_ledger),
        HINT = format('Make it once: SELECT {schema}.register_ledger(%L)', wanted_ledger);
END
$$;

-- Says why a result is refused.
CREATE FUNCTION {schema}.refuse_result(wanted_ledger text, size bigint, most integer) RETURNS void
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF size > most THEN
        RAISE EXCEPTION USING ERRCODE = 'OW007', MESSAGE = format(
            'the result has %s bytes; ledger %L stores at most %s', size, wanted_ledger, most);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a result has the digest and the attempt '
        'that its claim answered with, a status, a body, and headers as a list of '
        '{"name": ..., "value": ...}';
END
$$;
-- Bytes of a result; NULL if a part of it is missing or of a wrong form.
CREATE FUNCTION {schema}.result_size(digest uuid, attempt uuid, status integer, headers jsonb,
    body bytea, failed boolean, tenant text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN digest IS NOT NULL AND attempt IS NOT NULL AND status IS NOT NULL
            AND failed IS NOT NULL AND tenant IS NOT NULL AND jsonb_typeof(headers) = 'array'
            AND (headers = '[]' OR NOT jsonb_path_exists(headers, '$[*] ? (!(exists(
                @.name ? (@.type() == "string")) && exists(@.value ? (@.type() == "string"))))'))
        THEN octet_length(body)::bigint
            + CASE WHEN headers = '[]' THEN 0 ELSE octet_length(headers::text) END END
$$;

-- Whether a key was minted before the ledger's memory begins. Refuses a time in the future.
CREATE FUNCTION {schema}.is_late(wanted_ledger integer, minted_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    led record;
BEGIN
    SELECT l.memory_begins, l.retention INTO led FROM {schema}.ledgers l
        WHERE l.ledger = wanted_ledger;
    IF minted_at > clock_timestamp() + {schema}.clock_skew(led.retention)
            OR NOT isfinite(minted_at) THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = format(
            'the key was minted at %s, in the future or at no time at all', minted_at);
    END IF;
    RETURN minted_at < led.memory_begins;
END
$$;
