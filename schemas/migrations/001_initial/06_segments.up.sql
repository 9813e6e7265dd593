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
    by_partition boolean NOT NULL DEFAULT false,
    CONSTRAINT segments_key PRIMARY KEY (ledger, generation),
    CONSTRAINT segments_generation FOREIGN KEY (ledger, generation)
        REFERENCES {schema}.generations (ledger, generation) ON DELETE CASCADE
);
COMMENT ON COLUMN {schema}.segments.shard_bits IS
    'The filters are divided by so many leading bits of the digest.';

-- With `reach: partition` the same key in another partition is another claim, and a worker
-- remembers its own partitions alone. So such a ledger's segments have a part for each partition of
-- each source, with filters of its own; the blocks of all parts are in one table, sorted in each.
CREATE TABLE {schema}.segment_parts (
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    part integer NOT NULL,
    source integer NOT NULL,
    partition integer NOT NULL,
    claims bigint NOT NULL,
    shard_bits integer NOT NULL,
    first_filter integer NOT NULL,
    CONSTRAINT segment_parts_key PRIMARY KEY (ledger, generation, part),
    CONSTRAINT segment_parts_place UNIQUE (ledger, generation, source, partition),
    CONSTRAINT segment_parts_segment FOREIGN KEY (ledger, generation)
        REFERENCES {schema}.segments (ledger, generation) ON DELETE CASCADE
);
COMMENT ON COLUMN {schema}.segment_parts.first_filter IS
    'The number of the part''s first filter in filters_<ledger>_<generation>; counted from 1.';

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
    'The pattern of the tables sealed_<ledger>_<generation>; always empty itself.';
COMMENT ON COLUMN {schema}.segment_blocks.batches IS
    'For each digest the number of its batch, four bytes, counted from the segment''s first_seq.';

CREATE TABLE {schema}.segment_filters (
    shard integer NOT NULL,
    filter bytea NOT NULL,
    CONSTRAINT segment_filters_never_here CHECK (false) NO INHERIT
);
ALTER TABLE {schema}.segment_filters ALTER COLUMN filter SET STORAGE EXTERNAL;
COMMENT ON TABLE {schema}.segment_filters IS
    'The pattern of the tables filters_<ledger>_<generation>; always empty itself.';

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
    'The pattern of the tables batches_<ledger>_<generation>; always empty itself.';

-- Makes the empty tables of a segment, in place of what an earlier try left. Returns the ledger's
-- count of evictions; null if the generation is not there, not sealed, or a segment already.
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

-- From here on the segment replaces the generation's log. Under the lock, since the ledger's floor
-- moves: a reader that has not read the log that far can no longer read it.
CREATE FUNCTION {schema}.publish_segment(wanted_ledger integer, wanted_generation bigint,
    counted bigint, held bigint, bits integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first_one bigint;
    last_one bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    -- Retention may have dropped it meanwhile, or an operator have taken out a claim that is in it.
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

-- Returns what begin_segment returns; null also if the ledger's reach is global.
CREATE FUNCTION {schema}.begin_segment_of_partitions(wanted_ledger integer,
    wanted_generation bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.ledgers
            WHERE ledger = wanted_ledger AND reach = 'partition') THEN
        RETURN NULL;
    END IF;
    counted := {schema}.begin_segment(wanted_ledger, wanted_generation);
    IF counted IS NOT NULL THEN
        EXECUTE format('ALTER TABLE {schema}.sealed_%1$s ADD COLUMN part integer NOT NULL, '
                       'DROP CONSTRAINT sealed_%1$s_key, '
                       'ADD CONSTRAINT sealed_%1$s_key PRIMARY KEY (part, first_digest)',
                       format('%s_%s', wanted_ledger, wanted_generation));
    END IF;
    RETURN counted;
END
$$;

-- Like publish_segment, with what each part holds, from part 1 on.
CREATE FUNCTION {schema}.publish_segment_of_partitions(wanted_ledger integer,
    wanted_generation bigint, counted bigint, sources integer[], partitions integer[],
    held bigint[], bits integer[], first_filters integer[]) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT {schema}.publish_segment(wanted_ledger, wanted_generation, counted,
            (SELECT coalesce(sum(claims), 0)::bigint FROM unnest(held) AS claims), 0) THEN
        RETURN false;
    END IF;
    UPDATE {schema}.segments SET by_partition = true
        WHERE ledger = wanted_ledger AND generation = wanted_generation;
    INSERT INTO {schema}.segment_parts (ledger, generation, part, source, partition, claims,
            shard_bits, first_filter)
        SELECT wanted_ledger, wanted_generation, p.part, p.source, p.partition, p.claims, p.bits,
            p.first_filter
        FROM unnest(sources, partitions, held, bits, first_filters) WITH ORDINALITY
            AS p (source, partition, claims, bits, first_filter, part);
    RETURN true;
END
$$;

-- Drops the log of a generation that has become a segment; refuses any other generation.
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
REVOKE EXECUTE ON FUNCTION {schema}.begin_segment(integer, bigint),
    {schema}.publish_segment(integer, bigint, bigint, bigint, integer),
    {schema}.begin_segment_of_partitions(integer, bigint),
    {schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], integer[], bigint[],
        integer[], integer[]),
    {schema}.drop_sealed_log(integer, bigint) FROM PUBLIC;
