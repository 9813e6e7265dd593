-- The generations of a ledger that have results, and the counters that show whether remembered
-- results are too old.
SELECT g.generation, CASE WHEN g.sealed_at IS NULL THEN 1 ELSE 0 END, l.evictions, l.erasures
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
WHERE l.ledger = $1::integer
    AND to_regclass(format('{schema}.results_%s_%s', g.ledger, g.generation)) IS NOT NULL
ORDER BY g.generation
