-- Segments with one filter. If the conversion that published one ended before it had written the
-- filter, there is none; see conversion_filter_written.
SELECT s.generation, s.claims
FROM {schema}.segments s
WHERE s.ledger = $1::integer AND s.merge = 0 AND NOT s.by_partition AND s.shard_bits = 0
ORDER BY s.generation
