SELECT l.name, g.generation, g.created_at, g.sealed_at,
    format('claims_%s_%s', g.ledger, g.generation), l.store
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
ORDER BY l.name, g.generation
