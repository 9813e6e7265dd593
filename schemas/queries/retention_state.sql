SELECT g.generation, (extract(epoch FROM clock_timestamp() - g.created_at) * 1000)::bigint,
    coalesce(pg_relation_size(to_regclass(
        format('{schema}.claims_%s_%s', g.ledger, g.generation))), 0),
    (SELECT count(*) FROM {schema}.generations s
        WHERE s.ledger = g.ledger
            AND s.sealed_at + l.retention < {schema}.ledger_watermark($1::integer)),
    -- By the wall clock, which decides nothing here: how long the oldest one has been kept beyond
    -- its retention.
    coalesce((SELECT (extract(epoch FROM
            clock_timestamp() - min(s.sealed_at) - l.retention) * 1000)::bigint
        FROM {schema}.generations s WHERE s.ledger = g.ledger), 0)
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
WHERE g.ledger = $1::integer AND g.sealed_at IS NULL
