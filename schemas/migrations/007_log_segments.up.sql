-- Segments: what a sealed generation of a log becomes. Its digests, sorted, in blocks under the
-- first of each; filters that fit into memory; and where its batches came from. Then its log goes.
CREATE TABLE {schema}.segments (
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    segment uuid NOT NULL DEFAULT gen_random_uuid(),
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    claims bigint NOT NULL,
    shard_bits integer NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT segments_key PRIMARY KEY (ledger, generation),
    CONSTRAINT segments_generation FOREIGN KEY (ledger, generation)
        REFERENCES {schema}.generations (ledger, generation) ON DELETE CASCADE
);
COMMENT ON COLUMN {schema}.segments.shard_bits IS
    'The filters are cut by so many leading bits of the digest.';

CREATE TABLE {schema}.segment_blocks (
    first_digest uuid NOT NULL,
    digests bytea NOT NULL,
    batches bytea NOT NULL,
    fingerprints bytea,
    CONSTRAINT segment_blocks_never_here CHECK (false) NO INHERIT
) WITH (toast_tuple_target = 8160);
ALTER TABLE {schema}.segment_blocks ALTER COLUMN digests SET STORAGE MAIN,
    ALTER COLUMN batches SET STORAGE MAIN, ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
COMMENT ON TABLE {schema}.segment_blocks IS
    'Pattern of the tables sealed_<ledger>_<generation>; always empty itself.';
COMMENT ON COLUMN {schema}.segment_blocks.batches IS
    'For each digest the number of its batch, four bytes, counted from the segment''s first_seq.';

CREATE TABLE {schema}.segment_filters (
    shard integer NOT NULL,
    filter bytea NOT NULL,
    CONSTRAINT segment_filters_never_here CHECK (false) NO INHERIT
);
ALTER TABLE {schema}.segment_filters ALTER COLUMN filter SET STORAGE EXTERNAL;
COMMENT ON TABLE {schema}.segment_filters IS
    'Pattern of the tables filters_<ledger>_<generation>; always empty itself.';

CREATE TABLE {schema}.segment_batches (
    seq bigint NOT NULL,
    source integer NOT NULL,
    claimed_at timestamptz NOT NULL,
    transaction bigint NOT NULL,
    partitions integer[] NOT NULL,
    first_offsets bigint[] NOT NULL,
    last_offsets bigint[] NOT NULL,
    CONSTRAINT segment_batches_never_here CHECK (false) NO INHERIT
);
COMMENT ON TABLE {schema}.segment_batches IS
    'Pattern of the tables batches_<ledger>_<generation>; always empty itself.';

-- The table of a new generation copies the grants of `claims`; so do those of its segment.
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

-- Makes the empty tables of a segment, in place of what an earlier try left. Answers with the
-- ledger's count of evictions; null: the generation is not there, not sealed, or a segment already.
CREATE FUNCTION {schema}.begin_segment(wanted_ledger integer, wanted_generation bigint)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', wanted_ledger, wanted_generation);
    counted bigint;
BEGIN
    SELECT l.evictions INTO counted
        FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
        WHERE g.ledger = wanted_ledger AND g.generation = wanted_generation
            AND g.sealed_at IS NOT NULL AND l.store = 'log'
            AND NOT EXISTS (SELECT FROM {schema}.segments s
                WHERE s.ledger = g.ledger AND s.generation = g.generation);
    IF counted IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.sealed_%s, {schema}.filters_%s, '
                   '{schema}.batches_%s', suffix, suffix, suffix);
    EXECUTE format('CREATE TABLE {schema}.sealed_%s (LIKE {schema}.segment_blocks INCLUDING '
                   'STORAGE, CONSTRAINT sealed_%s_key PRIMARY KEY (first_digest)) '
                   'WITH (toast_tuple_target = 8160)', suffix, suffix);
    EXECUTE format('CREATE TABLE {schema}.filters_%s (LIKE {schema}.segment_filters INCLUDING '
                   'STORAGE, CONSTRAINT filters_%s_key PRIMARY KEY (shard))', suffix, suffix);
    EXECUTE format('CREATE TABLE {schema}.batches_%s (LIKE {schema}.segment_batches, '
                   'CONSTRAINT batches_%s_key PRIMARY KEY (seq))', suffix, suffix);
    PERFORM {schema}.grant_as_claims(format('{schema}.%s_%s', part, suffix))
        FROM unnest(ARRAY['sealed', 'filters', 'batches']) AS part;
    RETURN counted;
END
$$;

-- From here on the segment stands for the generation's log. Under the lock, as the ledger's floor
-- moves: who has not read the log that far can read it no more.
CREATE FUNCTION {schema}.publish_segment(wanted_ledger integer, wanted_generation bigint,
    counted bigint, held bigint, bits integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first_one bigint;
    last_one bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    -- Retention may have let go of it meanwhile, or somebody taken out a claim that is in it.
    IF NOT EXISTS (SELECT FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
            WHERE g.ledger = wanted_ledger AND g.generation = wanted_generation
                AND l.evictions = counted) THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM {schema}.claims_%s_%s',
                   wanted_ledger, wanted_generation) INTO first_one, last_one;
    INSERT INTO {schema}.segments (ledger, generation, first_seq, last_seq, claims, shard_bits)
        VALUES (wanted_ledger, wanted_generation, first_one, last_one, held, bits);
    UPDATE {schema}.ledgers SET log_floor = greatest(log_floor, last_one)
        WHERE ledger = wanted_ledger;
    RETURN true;
END
$$;

-- Drops the log of a generation that has become a segment; refuses another's.
CREATE FUNCTION {schema}.drop_sealed_log(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.segments
            WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%s_%s', wanted_ledger, wanted_generation);
    RETURN true;
END
$$;

-- As before (005, 002), with what a segment is made of.
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
        -- The log of a segment is gone, and was below the floor before.
        IF is_log AND to_regclass(format('{schema}.claims_%s_%s', wanted_ledger, gone)) IS NOT NULL
        THEN
            EXECUTE format('SELECT max(seq) FROM {schema}.claims_%s_%s', wanted_ledger, gone)
                INTO newest_seq;
            UPDATE {schema}.ledgers SET log_floor = greatest(log_floor, newest_seq)
                WHERE ledger = wanted_ledger;
        END IF;
        RETURN NEXT gone;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.drop_generation(wanted_ledger integer, wanted_generation bigint)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.generations
               WHERE ledger = wanted_ledger AND generation = wanted_generation) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.claims_%1$s, {schema}.sealed_%1$s, '
                   '{schema}.filters_%1$s, {schema}.batches_%1$s',
                   format('%s_%s', wanted_ledger, wanted_generation));
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.orphaned_generations(wanted_ledger integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT split_part(c.relname, '_', 3)::bigint
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^(claims|sealed|filters|batches)_' || wanted_ledger ||
            '_[0-9]+$')
        AND NOT EXISTS (SELECT 1 FROM {schema}.generations g WHERE g.ledger = wanted_ledger
            AND g.generation = split_part(c.relname, '_', 3)::bigint)
$$;

REVOKE EXECUTE ON FUNCTION {schema}.grant_as_claims(text), {schema}.begin_segment(integer, bigint),
    {schema}.publish_segment(integer, bigint, bigint, bigint, integer),
    {schema}.drop_sealed_log(integer, bigint) FROM PUBLIC;

-- Whoever may read the generations may read what became of them; whoever may rotate may seal.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.generations'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON {schema}.segments TO %s', entry.grantee);
    END LOOP;
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_proc p, aclexplode(p.proacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE p.oid = '{schema}.rotate_ledger(integer, bigint)'::regprocedure
            AND a.grantee <> p.proowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.begin_segment(integer, bigint), '
                       '{schema}.publish_segment(integer, bigint, bigint, bigint, integer), '
                       '{schema}.drop_sealed_log(integer, bigint) TO %s', entry.grantee);
    END LOOP;
END
$$;
