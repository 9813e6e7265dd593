SELECT g.generation, (extract(epoch FROM clock_timestamp() - g.created_at) * 1000)::bigint,
    -- Of a log's table the digests lie beside it (TOAST); an empty one is of no size.
    CASE WHEN l.store = 'log' AND pg_relation_size(made.name) > 0 THEN pg_table_size(made.name)
        ELSE coalesce(pg_relation_size(made.name), 0) END,
    (SELECT count(*) FROM {schema}.generations s
        WHERE s.ledger = g.ledger
            AND s.sealed_at + l.retention < {schema}.ledger_watermark($1::integer)),
    -- By the wall clock, which decides nothing here: how long the oldest one has been kept beyond
    -- its retention.
    coalesce((SELECT (extract(epoch FROM
            clock_timestamp() - min(s.sealed_at) - l.retention) * 1000)::bigint
        FROM {schema}.generations s WHERE s.ledger = g.ledger), 0)
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
    CROSS JOIN LATERAL (SELECT to_regclass(
        format('{schema}.claims_%s_%s', g.ledger, g.generation)) AS name) AS made
WHERE g.ledger = $1::integer AND g.sealed_at IS NULL
