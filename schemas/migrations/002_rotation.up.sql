-- Rotation and expiry as functions of the schema's owner, so that the worker's role needs no right
-- to create or drop.
-- DANGER: VOLATILE on purpose. Each statement inside then sees a snapshot of its own; the snapshot
-- of one statement that both locks and looks is older than the lock.

-- Makes the ledger's next generation current and seals the one before. `expected` is the current
-- generation that the caller saw (0: none yet); when it is another one by now, nothing is done.
-- Answers with the current generation.
CREATE FUNCTION {schema}.rotate_ledger(wanted_ledger integer, expected bigint) RETURNS bigint
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

-- The time in the log up to which all that feeds the ledger has been passed; null while something
-- holds it back.
CREATE FUNCTION {schema}.ledger_watermark(wanted_ledger integer) RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    -- DANGER: count(moment) passes over nulls and min() does too; a source without a watermark must
    -- not be passed over.
    SELECT CASE WHEN count(*) > 0 AND count(*) = count(moment) THEN min(moment) END
    FROM (
        SELECT f.watermark AS moment
        FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL AND f.retired_at IS NULL
        UNION ALL
        -- The list of partitions: never sampled, empty, or with a partition that has no fence yet,
        -- it holds all back.
        SELECT CASE WHEN s.partitions > 0 AND s.partitions = (
                   SELECT count(*) FROM {schema}.fences f
                   WHERE f.consumer_group = s.consumer_group AND f.topic = s.topic
                       AND f.partition < s.partitions)
               THEN s.watermark END
        FROM {schema}.ledger_feeds s
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
    ) AS watermarks
$$;

-- Unlists the ledger's sealed generations that are older than watermark - retention, under the
-- lock. Answers with them, for drop_generation() in a later transaction: a reader that waits for
-- the lock would deadlock with a DROP in this one.
CREATE FUNCTION {schema}.unlist_expired(wanted_ledger integer) RETURNS SETOF bigint
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

-- Drops a generation's table that is no longer listed; refuses a listed one.
CREATE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%s_%s', wanted_ledger, wanted_generation);
    RETURN true;
END
$$;

-- Generations' tables that nobody lists: a process died between unlisting and dropping.
CREATE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^claims_' || wanted_ledger || '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;

REVOKE EXECUTE ON FUNCTION {schema}.rotate_ledger(integer, bigint),
    {schema}.ledger_watermark(integer), {schema}.unlist_expired(integer),
    {schema}.drop_generation(integer, bigint), {schema}.orphaned_generations(integer) FROM PUBLIC;
