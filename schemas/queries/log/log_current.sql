SELECT l.log_floor, l.evictions, g.generation, l.reach = 'partition',
    (SELECT min(o.generation) FROM {schema}.generations o WHERE o.ledger = l.ledger)
FROM {schema}.ledgers l
    JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
WHERE l.ledger = $1::integer
