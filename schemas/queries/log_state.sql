-- A ledger's floor and evictions, beside each of its generations; with its segment's measures where
-- it has become one.
SELECT l.log_floor, l.evictions, g.generation, s.claims, s.shard_bits
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
    LEFT JOIN {schema}.segments s USING (ledger, generation)
WHERE l.ledger = $1::integer
ORDER BY g.generation
