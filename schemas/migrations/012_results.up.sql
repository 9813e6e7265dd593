-- What sinks answered: a result for each claim, replayed to whoever sends the same key again. For
-- each generation of a ledger that stores results there is a table results_<ledger>_<generation>,
-- which is listed, unlisted and dropped with it: a result lives as long as its claim, and goes by
-- DROP. Rows go one by one only where somebody erases them.
ALTER TABLE {schema}.ledgers
    ADD COLUMN stores_results boolean NOT NULL DEFAULT false,
    ADD COLUMN erasures bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN {schema}.ledgers.erasures IS
    'How often results were erased by tenant. Whoever holds some in memory looks at it first.';

CREATE TABLE {schema}.results (
    digest uuid NOT NULL,
    attempt uuid,
    tenant bytea NOT NULL,
    kind text NOT NULL,
    status integer NOT NULL,
    headers jsonb NOT NULL,
    body bytea NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT results_never_here CHECK (false) NO INHERIT
);
COMMENT ON TABLE {schema}.results IS
    'Pattern of the tables results_<ledger>_<generation>; always empty itself.';
COMMENT ON COLUMN {schema}.results.attempt IS
    'Random, of who stored it: whose COMMIT had no answer knows its own result by this.';
COMMENT ON COLUMN {schema}.results.tenant IS
    'Of the key; empty where keys have none. Results are erased by it.';
COMMENT ON COLUMN {schema}.results.kind IS '''done'', or ''failed'' for a permanent failure.';
COMMENT ON COLUMN {schema}.results.headers IS '[{"name": text, "value": text}, ...]';

-- Makes the table of a generation's results. Called with the ledger's lock held exclusively.
CREATE FUNCTION {schema}.create_results(wanted_ledger integer, wanted_generation bigint)
    RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', wanted_ledger, wanted_generation);
BEGIN
    IF to_regclass('{schema}.results_' || suffix) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE {schema}.results_%1$s (LIKE {schema}.results INCLUDING DEFAULTS, '
                   'CONSTRAINT results_%1$s_key PRIMARY KEY (digest))', suffix);
    PERFORM {schema}.grant_as_claims('{schema}.results_' || suffix);
END
$$;

-- From here on the ledger's generations have results, the open one too.
CREATE FUNCTION {schema}.begin_results(wanted_ledger integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- DANGER: exclusively, so that no generation is made between the mark and the look.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    UPDATE {schema}.ledgers SET stores_results = true WHERE ledger = wanted_ledger;
    PERFORM {schema}.create_results(ledger, generation) FROM {schema}.generations
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    RETURN true;
END
$$;

-- With each generation that rotate_ledger() makes, under its lock.
CREATE FUNCTION {schema}.results_of_new_generation() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT stores_results FROM {schema}.ledgers WHERE ledger = NEW.ledger) THEN
        PERFORM {schema}.create_results(NEW.ledger, NEW.generation);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER generations_results AFTER INSERT ON {schema}.generations
    FOR EACH ROW EXECUTE FUNCTION {schema}.results_of_new_generation();

-- With a claim that is taken out goes its result: the key's next message has another.
CREATE FUNCTION {schema}.result_of_evicted_claim() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', NEW.ledger, NEW.generation);
BEGIN
    IF to_regclass('{schema}.results_' || suffix) IS NOT NULL THEN
        EXECUTE format('DELETE FROM {schema}.results_%s WHERE digest = $1', suffix)
            USING NEW.digest;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER evictions_result AFTER INSERT ON {schema}.evictions
    FOR EACH ROW EXECUTE FUNCTION {schema}.result_of_evicted_claim();

CREATE TABLE {schema}.erasures (
    erasure bigint GENERATED ALWAYS AS IDENTITY,
    ledger integer NOT NULL,
    tenant bytea NOT NULL,
    results bigint NOT NULL,
    reason text NOT NULL,
    erased_by text NOT NULL DEFAULT session_user,
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT erasures_key PRIMARY KEY (erasure),
    CONSTRAINT erasures_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT erasures_reason_said CHECK (reason <> '')
);
COMMENT ON TABLE {schema}.erasures IS
    'Results of a tenant that `onceward forget --tenant` deleted; a row for each ledger.';

-- How many results of the tenant the ledger has, with those in replies that wait to be sent; null
-- where it stores none of anybody.
CREATE FUNCTION {schema}.count_results(wanted_ledger integer, wanted_tenant bytea) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made text;
    found_here bigint;
    counted bigint;
BEGIN
    FOR made IN
        SELECT format('{schema}.results_%s_%s', g.ledger, g.generation)
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        EXECUTE format('SELECT count(*) FROM %s WHERE tenant = $1', made)
            INTO found_here USING wanted_tenant;
        counted := coalesce(counted, 0) + found_here;
    END LOOP;
    -- Null and a number are null.
    RETURN counted + (SELECT count(*) FROM {schema}.outbox o WHERE o.tenant = wanted_tenant
        AND o.consumer_group IN (SELECT consumer_group FROM {schema}.ledger_feeds
            WHERE ledger = wanted_ledger));
END
$$;

-- Deletes the tenant's results and writes that down, as the schema's owner: no role needs a right
-- to delete, and none can do the one without the other. Null as above.
CREATE FUNCTION {schema}.erase_results(wanted_ledger integer, wanted_tenant bytea, why text)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made text;
    is_open boolean;
    erased_here bigint;
    erased bigint;
BEGIN
    FOR made, is_open IN
        SELECT format('{schema}.results_%s_%s', g.ledger, g.generation), g.sealed_at IS NULL
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger ORDER BY g.generation
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        -- DANGER: a result may be stored there and not be committed yet. In a sealed one none can.
        IF is_open THEN
            EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', made);
        END IF;
        EXECUTE format('DELETE FROM %s WHERE tenant = $1', made) USING wanted_tenant;
        GET DIAGNOSTICS erased_here = ROW_COUNT;
        erased := coalesce(erased, 0) + erased_here;
    END LOOP;
    IF erased IS NOT NULL THEN
        -- DANGER: behind the results, as whoever stores one writes its reply behind it. A reply of
        -- what was read before may not be committed yet.
        LOCK TABLE {schema}.outbox IN SHARE ROW EXCLUSIVE MODE;
        DELETE FROM {schema}.outbox o WHERE o.tenant = wanted_tenant
            AND o.consumer_group IN (SELECT consumer_group FROM {schema}.ledger_feeds
                WHERE ledger = wanted_ledger);
        GET DIAGNOSTICS erased_here = ROW_COUNT;
        erased := erased + erased_here;
        UPDATE {schema}.ledgers SET erasures = erasures + 1 WHERE ledger = wanted_ledger;
        INSERT INTO {schema}.erasures (ledger, tenant, results, reason)
            VALUES (wanted_ledger, wanted_tenant, erased, why);
    END IF;
    RETURN erased;
END
$$;

-- As before (007), with the results.
CREATE OR REPLACE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%1$s, {schema}.sealed_%1$s, '
                   '{schema}.filters_%1$s, {schema}.batches_%1$s, {schema}.results_%1$s',
                   format('%s_%s', wanted_ledger, wanted_generation));
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^(claims|sealed|filters|batches|results)_'
            || wanted_ledger || '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;

-- What has no log (calls of once(), HTTP) feeds its ledger as one row, whose watermark is the clock
-- less the longest request.
ALTER TABLE {schema}.ledger_feeds ADD COLUMN longest_request interval;
COMMENT ON COLUMN {schema}.ledger_feeds.longest_request IS
    'Of a feed without a log: a request takes no longer. Its watermark is the clock less this.';

-- As before (002), with such feeds.
CREATE OR REPLACE FUNCTION {schema}.ledger_watermark(wanted_ledger integer) RETURNS timestamptz
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
        SELECT CASE WHEN s.longest_request IS NOT NULL THEN clock_timestamp() - s.longest_request
               WHEN s.partitions > 0 AND s.partitions = (
                   SELECT count(*) FROM {schema}.fences f
                   WHERE f.consumer_group = s.consumer_group AND f.topic = s.topic
                       AND f.partition < s.partitions)
               THEN s.watermark END
        FROM {schema}.ledger_feeds s
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
    ) AS watermarks
$$;

REVOKE EXECUTE ON FUNCTION {schema}.create_results(integer, bigint),
    {schema}.begin_results(integer), {schema}.results_of_new_generation(),
    {schema}.result_of_evicted_claim(), {schema}.count_results(integer, bytea),
    {schema}.erase_results(integer, bytea, text) FROM PUBLIC;

-- Whoever may write dead letters is a worker's role, whoever may end a pause an operator's: an
-- upgrade needs no new grants.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee,
            a.privilege_type = 'INSERT' AS is_worker
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE a.grantee <> c.relowner
            AND (c.oid, a.privilege_type) IN (('{schema}.dead_letters'::regclass, 'INSERT'),
                ('{schema}.topic_pauses'::regclass, 'UPDATE'))
    LOOP
        IF entry.is_worker THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.begin_results(integer) TO %s',
                entry.grantee);
        ELSE
            EXECUTE format('GRANT SELECT ON {schema}.erasures TO %s', entry.grantee);
            EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.count_results(integer, bytea), '
                '{schema}.erase_results(integer, bytea, text) TO %s', entry.grantee);
        END IF;
    END LOOP;
END
$$;
