-- The ledger's sealed generations in their order: how often each was merged, its claims, when it
-- began and was sealed, how long ago that is, in milliseconds, and whether it can be merged.
SELECT g.generation, coalesce(s.merge, 0), coalesce(s.claims, 0),
    (extract(epoch FROM g.created_at) * 1000)::bigint,
    (extract(epoch FROM g.sealed_at) * 1000)::bigint,
    (extract(epoch FROM clock_timestamp() - g.sealed_at) * 1000)::bigint,
    s.segment IS NOT NULL AND NOT s.by_partition
        AND to_regclass(format('{schema}.claims_%s_%s', g.ledger, g.generation)) IS NULL
        AND to_regclass(format('{schema}.results_%s_%s', g.ledger, g.generation)) IS NULL
FROM {schema}.generations g LEFT JOIN {schema}.segments s USING (ledger, generation)
WHERE g.ledger = $1::integer AND g.sealed_at IS NOT NULL
ORDER BY g.generation
