-- A ledger that is a log cannot be read by what was before: its claims would be lost unseen.
DO $$
BEGIN
    IF EXISTS (SELECT FROM {schema}.ledgers WHERE store = 'log') THEN
        RAISE EXCEPTION 'there is a ledger with store: log; drop it first'
            USING ERRCODE = 'object_in_use';
    END IF;
END
$$;
CREATE OR REPLACE FUNCTION {schema}.rotate_ledger(wanted_ledger integer, expected bigint)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint;
    moment timestamptz;
    entry record;
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
    -- table. It never goes back, where the server's clock does.
    SELECT greatest(clock_timestamp(), max(created_at), max(sealed_at)) INTO moment
        FROM {schema}.generations WHERE ledger = wanted_ledger;
    UPDATE {schema}.generations SET sealed_at = moment
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    SELECT coalesce(max(generation), 0) + 1 INTO newest
        FROM {schema}.generations WHERE ledger = wanted_ledger;
    EXECUTE format('CREATE TABLE {schema}.claims_%s_%s (LIKE {schema}.claims INCLUDING DEFAULTS, '
                   'CONSTRAINT claims_%s_%s_key PRIMARY KEY (digest))',
                   wanted_ledger, newest, wanted_ledger, newest);
    FOR entry IN
        SELECT privilege_type, coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.claims'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON {schema}.claims_%s_%s TO %s',
                       entry.privilege_type, wanted_ledger, newest, entry.grantee);
    END LOOP;
    INSERT INTO {schema}.generations (ledger, generation, created_at)
        VALUES (wanted_ledger, newest, moment);
    RETURN newest;
END
$$;
CREATE OR REPLACE FUNCTION {schema}.unlist_expired(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    RETURN QUERY
        DELETE FROM {schema}.generations g USING {schema}.ledgers l
        WHERE g.ledger = wanted_ledger AND l.ledger = g.ledger
            AND g.sealed_at + l.retention < {schema}.ledger_watermark(wanted_ledger)
        RETURNING g.generation;
END
$$;
DROP FUNCTION {schema}.create_generation(integer, bigint);
DROP TABLE {schema}.claim_batches;
ALTER TABLE {schema}.ledger_feeds DROP COLUMN log_partitions;
ALTER TABLE {schema}.ledgers DROP COLUMN log_floor, DROP COLUMN evictions;
