-- Merging: neighbouring segments of a ledger become one. The first of their generations stays and
-- stands for all of them: it began when the first one did, and is sealed since the last one is, so
-- that nothing expires sooner. Its tables have a new name, sealed_<ledger>_<generation>m<merge>.
ALTER TABLE {schema}.segments
    ADD COLUMN merge integer NOT NULL DEFAULT 0,
    ADD COLUMN last_generation bigint;
COMMENT ON COLUMN {schema}.segments.merge IS
    'How often it was merged; 0: its tables are those of its generation.';
COMMENT ON COLUMN {schema}.segments.last_generation IS
    'The last of the generations that were merged into it; null if there was none.';

-- Makes the empty tables of a merge, in place of what an earlier try left. Returns the ledger's
-- count of evictions; null if these generations are not all segments whose logs are gone, or if
-- one has results or parts.
CREATE FUNCTION {schema}.begin_merge(wanted_ledger integer, first_one bigint, last_one bigint)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text;
    counted bigint;
BEGIN
    SELECT format('%s_%sm%s', wanted_ledger, first_one, s.merge + 1), l.evictions
        INTO suffix, counted
        FROM {schema}.segments s JOIN {schema}.ledgers l USING (ledger)
        WHERE s.ledger = wanted_ledger AND s.generation = first_one AND l.store = 'log'
            AND first_one < last_one
            AND EXISTS (SELECT FROM {schema}.segments t
                WHERE t.ledger = wanted_ledger AND t.generation = last_one)
            AND NOT EXISTS (SELECT FROM {schema}.generations g
                LEFT JOIN {schema}.segments t USING (ledger, generation)
                WHERE g.ledger = wanted_ledger AND g.generation BETWEEN first_one AND last_one
                    AND (t.segment IS NULL OR t.by_partition
                        OR to_regclass(format('{schema}.claims_%s_%s', g.ledger, g.generation))
                            IS NOT NULL
                        OR to_regclass(format('{schema}.results_%s_%s', g.ledger, g.generation))
                            IS NOT NULL));
    IF suffix IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.sealed_%1$s, {schema}.filters_%1$s, '
                   '{schema}.batches_%1$s', suffix);
    EXECUTE format('CREATE TABLE {schema}.sealed_%1$s (LIKE {schema}.segment_blocks INCLUDING '
                   'STORAGE, CONSTRAINT sealed_%1$s_key PRIMARY KEY (first_digest)) '
                   'WITH (toast_tuple_target = 8160)', suffix);
    EXECUTE format('CREATE TABLE {schema}.filters_%1$s (LIKE {schema}.segment_filters INCLUDING '
                   'STORAGE, CONSTRAINT filters_%1$s_key PRIMARY KEY (shard))', suffix);
    EXECUTE format('CREATE TABLE {schema}.batches_%1$s (LIKE {schema}.segment_batches, '
                   'CONSTRAINT batches_%1$s_key PRIMARY KEY (seq))', suffix);
    PERFORM {schema}.grant_as_claims(format('{schema}.%s_%s', part, suffix))
        FROM unnest(ARRAY['sealed', 'filters', 'batches']) AS part;
    RETURN counted;
END
$$;

-- From here on the merged segment stands for all of its generations. Under the lock, as everything
-- is that changes what a ledger keeps. The tables that it replaces go in a later transaction: a
-- reader that waits for the lock would deadlock with a DROP in this one.
CREATE FUNCTION {schema}.publish_merge(wanted_ledger integer, first_one bigint, last_one bigint,
    counted bigint, members integer, held bigint, bits integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    earlier {schema}.segments;
    lowest bigint;
    highest bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    -- Retention may have dropped one of them meanwhile, or an operator have taken out a claim.
    IF (SELECT l.evictions FROM {schema}.ledgers l WHERE l.ledger = wanted_ledger) <> counted
        OR (SELECT count(*) FROM {schema}.segments s WHERE s.ledger = wanted_ledger
            AND s.generation BETWEEN first_one AND last_one) <> members THEN
        RETURN false;
    END IF;
    SELECT * INTO STRICT earlier FROM {schema}.segments s
        WHERE s.ledger = wanted_ledger AND s.generation = first_one;
    EXECUTE format('SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM '
                   '{schema}.batches_%s_%sm%s', wanted_ledger, first_one, earlier.merge + 1)
        INTO lowest, highest;
    -- DANGER: a program that knows nothing of merges would take the first generation's own filters
    -- for all of its claims, and miss those of the others. Without these rows it stops.
    IF earlier.merge = 0 THEN
        EXECUTE format('DELETE FROM {schema}.filters_%s_%s', wanted_ledger, first_one);
    END IF;
    UPDATE {schema}.generations g SET sealed_at = l.sealed_at
        FROM {schema}.generations l
        WHERE g.ledger = wanted_ledger AND g.generation = first_one
            AND l.ledger = wanted_ledger AND l.generation = last_one;
    UPDATE {schema}.segments s SET first_seq = lowest, last_seq = highest, claims = held,
            shard_bits = bits, merge = s.merge + 1, segment = gen_random_uuid(),
            published_at = clock_timestamp(), last_generation =
                (SELECT coalesce(l.last_generation, l.generation) FROM {schema}.segments l
                    WHERE l.ledger = wanted_ledger AND l.generation = last_one)
        WHERE s.ledger = wanted_ledger AND s.generation = first_one;
    DELETE FROM {schema}.generations g
        WHERE g.ledger = wanted_ledger AND g.generation > first_one AND g.generation <= last_one;
    RETURN true;
END
$$;

-- The endings of tables that no segment has any more: a merge replaced them, or ended before it was
-- published, or its generation expired.
CREATE FUNCTION {schema}.orphaned_merges(wanted_ledger integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT split_part(c.relname, '_', 3)
    FROM pg_class c, pg_class pattern
    WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
        AND c.relkind = 'r' AND c.relname ~ ('^(sealed|filters|batches)_' || wanted_ledger
            || '_[0-9]+m[0-9]+$')
        AND NOT EXISTS (SELECT FROM {schema}.segments s WHERE s.ledger = wanted_ledger
            AND s.generation || 'm' || s.merge = split_part(c.relname, '_', 3))
    UNION ALL
    SELECT s.generation::text FROM {schema}.segments s
    WHERE s.ledger = wanted_ledger AND s.merge > 0
        AND to_regclass(format('{schema}.sealed_%s_%s', s.ledger, s.generation)) IS NOT NULL
$$;

-- Drops the tables with such an ending; refuses those of a segment.
CREATE FUNCTION {schema}.drop_orphaned_merge(wanted_ledger integer, ending text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF ending NOT IN (SELECT {schema}.orphaned_merges(wanted_ledger)) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS {schema}.sealed_%1$s, {schema}.filters_%1$s, '
                   '{schema}.batches_%1$s', format('%s_%s', wanted_ledger, ending));
    RETURN true;
END
$$;

-- As before, and for merged segments as well.
ALTER FUNCTION {schema}.take_out_claim(integer, bigint, uuid) RENAME TO take_out_unmerged_claim;
CREATE FUNCTION {schema}.take_out_claim(wanted_ledger integer, wanted_generation bigint,
    wanted uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    merges integer;
    taken bigint;
BEGIN
    SELECT s.merge INTO merges FROM {schema}.segments s
        WHERE s.ledger = wanted_ledger AND s.generation = wanted_generation;
    IF coalesce(merges, 0) = 0 THEN
        RETURN {schema}.take_out_unmerged_claim(wanted_ledger, wanted_generation, wanted);
    END IF;
    -- The filter still says 'perhaps', and then the block decides.
    EXECUTE format($sql$
        UPDATE {schema}.sealed_%1$s AS block SET
            digests = overlay(block.digests PLACING ''::bytea FROM place.at FOR 16),
            batches = overlay(block.batches PLACING ''::bytea FROM (place.at - 1) / 4 + 1 FOR 4),
            fingerprints = overlay(block.fingerprints PLACING ''::bytea FROM place.at FOR 16)
        FROM (SELECT b.ctid AS tuple, position(uuid_send($1) IN b.digests) AS at
            FROM {schema}.sealed_%1$s b WHERE b.first_digest <= $1
            ORDER BY b.first_digest DESC LIMIT 1) AS place
        WHERE place.tuple = block.ctid AND place.at %% 16 = 1 $sql$,
        format('%s_%sm%s', wanted_ledger, wanted_generation, merges)) USING wanted;
    GET DIAGNOSTICS taken = ROW_COUNT;
    UPDATE {schema}.segments SET claims = claims - taken
        WHERE ledger = wanted_ledger AND generation = wanted_generation;
    RETURN taken;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.begin_merge(integer, bigint, bigint),
    {schema}.publish_merge(integer, bigint, bigint, bigint, integer, bigint, integer),
    {schema}.orphaned_merges(integer), {schema}.drop_orphaned_merge(integer, text),
    {schema}.take_out_claim(integer, bigint, uuid) FROM PUBLIC;

-- Roles that seal already may merge.
DO $$
DECLARE
    sealer text;
    made text;
BEGIN
    FOR sealer, made IN SELECT r.rolname, f.name FROM pg_proc p, aclexplode(p.proacl) AS a
            JOIN pg_roles r ON r.oid = a.grantee
            CROSS JOIN unnest(ARRAY['begin_merge(integer, bigint, bigint)',
                'publish_merge(integer, bigint, bigint, bigint, integer, bigint, integer)',
                'orphaned_merges(integer)', 'drop_orphaned_merge(integer, text)']) AS f (name)
        WHERE p.oid = '{schema}.begin_segment(integer, bigint)'::regprocedure
            AND a.grantee <> p.proowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.%s TO %I', made, sealer);
    END LOOP;
END
$$;
