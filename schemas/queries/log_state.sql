-- A ledger's floor and evictions, beside each of its generations.
SELECT l.log_floor, l.evictions, g.generation, g.sealed_at IS NOT NULL
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
WHERE l.ledger = $1::integer
ORDER BY g.generation
