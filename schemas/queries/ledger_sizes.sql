-- A row for each generation of the ledgers: of the one that is named, of those that a group feeds,
-- or of all. By the wall clock, which decides nothing: how long it has been kept beyond its
-- retention, and how old it is.
SELECT l.ledger, l.name, l.store, l.reach, l.retention::text,
    extract(epoch FROM l.retention)::bigint, g.generation, g.created_at::text,
    g.sealed_at IS NOT NULL, s.claims,
    -- As in retention_state: what the number of claims is estimated from.
    coalesce(CASE WHEN l.store = 'log' AND pg_relation_size(made.claims) > 0
        THEN pg_table_size(made.claims) ELSE pg_relation_size(made.claims) END, 0),
    coalesce(pg_total_relation_size(made.claims), 0)
        + coalesce(pg_total_relation_size(made.sealed), 0)
        + coalesce(pg_total_relation_size(made.filters), 0)
        + coalesce(pg_total_relation_size(made.batches), 0),
    greatest(0, extract(epoch FROM clock_timestamp() - g.sealed_at - l.retention))::bigint,
    extract(epoch FROM clock_timestamp() - g.created_at)::bigint
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
    LEFT JOIN {schema}.segments s USING (ledger, generation)
    CROSS JOIN LATERAL (SELECT
        to_regclass(format('{schema}.claims_%s_%s', g.ledger, g.generation)) AS claims,
        to_regclass(format('{schema}.sealed_%s_%s', g.ledger, g.generation)) AS sealed,
        to_regclass(format('{schema}.filters_%s_%s', g.ledger, g.generation)) AS filters,
        to_regclass(format('{schema}.batches_%s_%s', g.ledger, g.generation)) AS batches) AS made
WHERE ($1::text IS NULL OR l.name = $1)
    AND ($2::text IS NULL OR EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.consumer_group = $2))
ORDER BY l.name, g.generation
