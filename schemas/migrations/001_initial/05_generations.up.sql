-- How generations are made and sealed, as functions of the schema's owner: the worker's role needs
-- no right to create or drop.
-- DANGER: VOLATILE on purpose, here and in all files below. Each statement inside then sees a
-- snapshot of its own; the snapshot of one statement that both locks and reads is older than the
-- lock.

-- Each table of a generation has the grants of `claims`.
CREATE FUNCTION {schema}.grant_as_claims(made text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT privilege_type, coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.claims'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON %s TO %s', entry.privilege_type, made, entry.grantee);
    END LOOP;
END
$$;

-- Makes the table of a ledger's new generation. Called with the ledger's lock held exclusively.
-- DANGER: CACHE 1, and one row of numbers through all generations: the order of `seq` is the order
-- of the commits, which readers of `seq > last` depend on.
CREATE FUNCTION {schema}.create_generation(wanted_ledger integer, newest bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_log boolean;
    before text := format('{schema}.claims_%s_%s', wanted_ledger, newest - 1);
    made text := format('{schema}.claims_%s_%s', wanted_ledger, newest);
    beginning bigint;
    entry record;
BEGIN
    SELECT store = 'log', log_floor + 1 INTO STRICT is_log, beginning
        FROM {schema}.ledgers WHERE ledger = wanted_ledger;
    IF is_log THEN
        IF to_regclass(before) IS NOT NULL THEN
            EXECUTE format('SELECT greatest(%s, coalesce(max(seq) + 1, 1), (SELECT s.seqstart '
                           'FROM pg_sequence s WHERE s.seqrelid = '
                           'pg_get_serial_sequence(%L, %L)::regclass)) FROM %s',
                           beginning, before, 'seq', before) INTO beginning;
        END IF;
        EXECUTE format('CREATE TABLE %s (LIKE {schema}.claim_batches INCLUDING DEFAULTS INCLUDING '
                       'STORAGE, CONSTRAINT claims_%s_%s_key PRIMARY KEY (seq))',
                       made, wanted_ledger, newest);
        EXECUTE format('ALTER TABLE %s ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY '
                       '(START WITH %s CACHE 1)', made, beginning);
    ELSE
        EXECUTE format('CREATE TABLE %s (LIKE {schema}.claims INCLUDING DEFAULTS, '
                       'CONSTRAINT claims_%s_%s_key PRIMARY KEY (digest))',
                       made, wanted_ledger, newest);
    END IF;
    FOR entry IN
        SELECT privilege_type, coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.claims'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON %s TO %s', entry.privilege_type, made, entry.grantee);
    END LOOP;
END
$$;

-- Makes the ledger's next generation current and seals the one before. `expected` is the current
-- generation that the caller saw (0: none yet); when it is another one by now, nothing is done.
-- Returns the current generation.
CREATE FUNCTION {schema}.rotate_ledger(wanted_ledger integer, expected bigint)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint;
    moment timestamptz;
BEGIN
    -- The lock's first key is Onceward's own class: a bare number may be one that the user's tools
    -- take as well.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    SELECT coalesce(max(generation), 0) INTO newest
        FROM {schema}.generations WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    IF newest <> expected THEN
        RETURN newest;
    END IF;
    -- DANGER: clock_timestamp(), after the lock: now() is older than claims that are already in the
    -- table. It never goes back, even if the server's clock does.
    SELECT greatest(clock_timestamp(), max(created_at), max(sealed_at)) INTO moment
        FROM {schema}.generations WHERE ledger = wanted_ledger;
    UPDATE {schema}.generations SET sealed_at = moment
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    SELECT coalesce(max(generation), 0) + 1 INTO newest
        FROM {schema}.generations WHERE ledger = wanted_ledger;
    PERFORM {schema}.create_generation(wanted_ledger, newest);
    INSERT INTO {schema}.generations (ledger, generation, created_at)
        VALUES (wanted_ledger, newest, moment);
    RETURN newest;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.grant_as_claims(text),
    {schema}.create_generation(integer, bigint),
    {schema}.rotate_ledger(integer, bigint) FROM PUBLIC;
