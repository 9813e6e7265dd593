-- What sinks answered: a result for each claim, replayed to each client that sends the same key
-- again. For each generation of a ledger that stores results there is a table
-- results_<ledger>_<generation>, which is listed, unlisted and dropped with it: a result lives as
-- long as its claim, and goes by DROP. Single rows are deleted only when an operator erases them.
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
    'The pattern of the tables results_<ledger>_<generation>; always empty itself.';
COMMENT ON COLUMN {schema}.results.attempt IS
    'Random. A process whose COMMIT had no answer recognises its own result by this.';
COMMENT ON COLUMN {schema}.results.tenant IS
    'The key''s tenant; empty if keys have none. Results are erased by it.';
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
    -- DANGER: exclusively, so that no generation is made between the two statements.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    UPDATE {schema}.ledgers SET stores_results = true WHERE ledger = wanted_ledger;
    PERFORM {schema}.create_results(ledger, generation) FROM {schema}.generations
        WHERE ledger = wanted_ledger AND sealed_at IS NULL;
    RETURN true;
END
$$;

-- Runs with each generation that rotate_ledger() makes, under its lock.
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
-- if it stores no results at all.
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
    -- Null plus a number is null.
    RETURN counted + (SELECT count(*) FROM {schema}.outbox o WHERE o.tenant = wanted_tenant
        AND o.consumer_group IN (SELECT consumer_group FROM {schema}.ledger_feeds
            WHERE ledger = wanted_ledger));
END
$$;

-- Deletes the tenant's results and records that, as the schema's owner: no role needs a right to
-- delete, and no role can do the one without the other. Null as above.
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
        -- DANGER: a result may be stored there and not be committed yet; in a sealed one it cannot.
        IF is_open THEN
            EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', made);
        END IF;
        EXECUTE format('DELETE FROM %s WHERE tenant = $1', made) USING wanted_tenant;
        GET DIAGNOSTICS erased_here = ROW_COUNT;
        erased := coalesce(erased, 0) + erased_here;
    END LOOP;
    IF erased IS NOT NULL THEN
        -- DANGER: after the results, as a transaction that stores one writes its reply after it. A
        -- reply of what was read before may not be committed yet.
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
REVOKE EXECUTE ON FUNCTION {schema}.create_results(integer, bigint),
    {schema}.begin_results(integer), {schema}.results_of_new_generation(),
    {schema}.count_results(integer, bytea),
    {schema}.erase_results(integer, bytea, text) FROM PUBLIC;
