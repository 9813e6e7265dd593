-- How the claims of each generation are kept, and the name or the ending of its tables.
SELECT l.name, g.generation, g.created_at, g.sealed_at,
    CASE WHEN s.segment IS NULL THEN 'claims_' ELSE '' END || g.ledger || '_' || g.generation
        || coalesce('m' || nullif(s.merge, 0), ''),
    CASE WHEN s.segment IS NULL THEN l.store WHEN s.by_partition THEN 'parts' ELSE 'segment' END
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
    LEFT JOIN {schema}.segments s USING (ledger, generation)
ORDER BY l.name, g.generation
