-- Segments with one filter, and the bytes of its table: 0 if the conversion that published the
-- segment ended before it had written the filter.
SELECT s.generation, s.claims, coalesce(pg_relation_size(to_regclass(
    format('{schema}.filters_%s_%s', s.ledger, s.generation))), 1)
FROM {schema}.segments s
WHERE s.ledger = $1::integer AND s.merge = 0 AND NOT s.by_partition AND s.shard_bits = 0
ORDER BY s.generation
