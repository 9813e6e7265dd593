SELECT l.log_floor, l.evictions, g.generation, l.reach = 'partition'
FROM {schema}.ledgers l
    JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
WHERE l.ledger = $1::integer
