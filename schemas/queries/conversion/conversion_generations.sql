-- The generations of a `table` ledger in their order: whether each is sealed, the bytes of its
-- table, the number of the last claim that was removed from it by hand (0: none was), and, if its
-- segment is ready, the segment's claims and shard bits. A claim that was removed since makes the
-- segment worthless. The last number shows that even if older rows were deleted since.
SELECT g.generation, g.sealed_at IS NOT NULL,
    coalesce(pg_relation_size(to_regclass(
        format('{schema}.claims_%s_%s', g.ledger, g.generation))), 0),
    taken.last, (ready.parts[1])::bigint, (ready.parts[2])::integer
FROM {schema}.generations g
    CROSS JOIN LATERAL (SELECT coalesce(max(e.eviction), 0) AS last
        FROM {schema}.evictions e
        WHERE e.ledger = g.ledger AND e.generation = g.generation) AS taken
    LEFT JOIN LATERAL (SELECT regexp_match(obj_description(to_regclass(
            format('{schema}.batches_%s_%s', g.ledger, g.generation)), 'pg_class'),
        '^segment: ([0-9]+) claims, ([0-9]+) bits, eviction ([0-9]+)$') AS parts) AS ready
        ON (ready.parts[3])::bigint = taken.last
WHERE g.ledger = $1::integer
ORDER BY g.generation
