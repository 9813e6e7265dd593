SELECT l.name, g.generation, 'results_' || g.ledger || '_' || g.generation
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
WHERE to_regclass(format('{schema}.results_%s_%s', g.ledger, g.generation)) IS NOT NULL
ORDER BY l.name, g.generation
