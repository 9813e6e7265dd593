SELECT g.generation, l.reach = 'partition'
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
WHERE g.ledger = $1::integer AND g.sealed_at IS NOT NULL AND l.store = 'log'
    AND NOT EXISTS (SELECT FROM {schema}.segments s
        WHERE s.ledger = g.ledger AND s.generation = g.generation)
ORDER BY g.generation LIMIT 1
