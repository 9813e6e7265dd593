-- With `reach: partition` the same key in another partition is another claim, and a worker
-- remembers its own partitions alone. So such a ledger's segments have a part for each partition of
-- each source, with filters of its own; the blocks of all parts are in one table, sorted in each.
ALTER TABLE {schema}.segments ADD COLUMN by_partition boolean NOT NULL DEFAULT false;

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
-- DANGER: none of them is 0. A program from before, which knows no parts, asks for that one first
-- and stops, in place of taking one part's filter for all.
COMMENT ON COLUMN {schema}.segment_parts.first_filter IS
    'The number of the part''s first filter in filters_<ledger>_<generation>; counted from 1.';

-- As begin_segment, which it answers as; null also where the ledger's reach is global.
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

-- As publish_segment, with what each part holds, from part 1 on.
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

REVOKE EXECUTE ON FUNCTION {schema}.begin_segment_of_partitions(integer, bigint),
    {schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], integer[], bigint[],
        integer[], integer[]) FROM PUBLIC;

-- Whoever may read or make segments may do so with their parts.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.segments'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON {schema}.segment_parts TO %s', entry.grantee);
    END LOOP;
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_proc p, aclexplode(p.proacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE p.oid = '{schema}.begin_segment(integer, bigint)'::regprocedure
            AND a.grantee <> p.proowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION '
                       '{schema}.begin_segment_of_partitions(integer, bigint), '
                       '{schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], '
                       'integer[], bigint[], integer[], integer[]) TO %s', entry.grantee);
    END LOOP;
END
$$;
