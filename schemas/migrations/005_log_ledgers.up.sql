-- Ledgers with `store: log`: claims are appended, one row a batch, and no index holds the keys. A
-- generation is a table claims_<ledger>_<generation> as with the other store, so that what seals,
-- unlists, drops and grants is the same.
ALTER TABLE {schema}.ledgers
    ADD COLUMN log_floor bigint NOT NULL DEFAULT 0,
    ADD COLUMN evictions bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN {schema}.ledgers.log_floor IS
    'What the log held up to this `seq` may be gone. Moves under the exclusive lock only.';
COMMENT ON COLUMN {schema}.ledgers.evictions IS
    'How often a claim was taken out by hand. Grows under the exclusive lock only.';
ALTER TABLE {schema}.ledger_feeds ADD COLUMN log_partitions integer;
COMMENT ON COLUMN {schema}.ledger_feeds.log_partitions IS
    'With `reach: partition`: how many partitions the topic had when the ledger was made. With '
    'another number a key may come in another partition than before.';

-- Every generation of a log is made LIKE this one, with the grants of `claims`.
CREATE TABLE {schema}.claim_batches (
    seq bigint NOT NULL,
    source integer NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    partitions integer[] NOT NULL,
    first_offsets bigint[] NOT NULL,
    last_offsets bigint[] NOT NULL,
    digests bytea NOT NULL,
    fingerprints bytea,
    CONSTRAINT claim_batches_never_here CHECK (false) NO INHERIT
);
-- Random bytes do not compress; trying costs as much as the insert.
ALTER TABLE {schema}.claim_batches ALTER COLUMN digests SET STORAGE EXTERNAL,
    ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
COMMENT ON TABLE {schema}.claim_batches IS
    'Pattern of the tables claims_<ledger>_<generation> of logs; always empty itself.';
COMMENT ON COLUMN {schema}.claim_batches.digests IS
    'The batch''s digests, 16 bytes each, sorted; `fingerprints` in this order, zeros for none.';
COMMENT ON COLUMN {schema}.claim_batches.partitions IS
    'Where the batch''s claims came from, with the offsets of the first and the last of each.';

-- Makes the table of a ledger's new generation. Called with the ledger's lock held exclusively.
-- DANGER: CACHE 1, and one row of numbers through all generations: the order of `seq` is the order
-- of the commits, which readers of `seq > last` live by.
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
REVOKE EXECUTE ON FUNCTION {schema}.create_generation(integer, bigint) FROM PUBLIC;

-- As before (002), but for who makes the table.
CREATE OR REPLACE FUNCTION {schema}.rotate_ledger(wanted_ledger integer, expected bigint)
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
    -- table. It never goes back, where the server's clock does.
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

-- As before (002), and a log's floor moves with what is let go of, in the same transaction and
-- under the same lock: `seq > last` alone cannot tell a reader that what it had not read is gone.
CREATE OR REPLACE FUNCTION {schema}.unlist_expired(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
    is_log boolean;
    newest_seq bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    SELECT store = 'log' INTO is_log FROM {schema}.ledgers WHERE ledger = wanted_ledger;
    FOR gone IN
        DELETE FROM {schema}.generations g USING {schema}.ledgers l
        WHERE g.ledger = wanted_ledger AND l.ledger = g.ledger
            AND g.sealed_at + l.retention < {schema}.ledger_watermark(wanted_ledger)
        RETURNING g.generation
    LOOP
        IF is_log THEN
            EXECUTE format('SELECT max(seq) FROM {schema}.claims_%s_%s', wanted_ledger, gone)
                INTO newest_seq;
            UPDATE {schema}.ledgers SET log_floor = greatest(log_floor, newest_seq)
                WHERE ledger = wanted_ledger;
        END IF;
        RETURN NEXT gone;
    END LOOP;
END
$$;
