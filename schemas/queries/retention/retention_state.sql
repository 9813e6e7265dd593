SELECT g.generation, (extract(epoch FROM clock_timestamp() - g.created_at) * 1000)::bigint,
    -- The digests of a log's table are in its TOAST table; an empty one has no size. A `lease`
    -- ledger's generations hold only the results of its effects.
    CASE WHEN l.store = 'lease' THEN coalesce(pg_relation_size(to_regclass(
            format('{schema}.results_%s_%s', g.ledger, g.generation))), 0)
        WHEN l.store = 'log' AND pg_relation_size(made.name) > 0 THEN pg_table_size(made.name)
        ELSE coalesce(pg_relation_size(made.name), 0) END,
    (SELECT count(*) FROM {schema}.generations s
        WHERE s.ledger = g.ledger
            AND s.sealed_at + l.retention < {schema}.ledger_watermark($1::integer)),
    -- By the wall clock, which decides nothing here: how long the oldest one has been kept beyond
    -- its retention.
    coalesce((SELECT (extract(epoch FROM
            clock_timestamp() - least(min(s.sealed_at), held.oldest_end) - l.retention)
            * 1000)::bigint
        FROM {schema}.generations s WHERE s.ledger = g.ledger), 0),
    -- Minutes since midnight, in UTC.
    floor(extract(epoch FROM clock_timestamp()))::bigint % 86400 / 60,
    -- Whether there are ended leases to be deleted.
    coalesce((held.oldest_end + l.retention < {schema}.ledger_watermark($1::integer))::integer, 0)
FROM {schema}.generations g JOIN {schema}.ledgers l USING (ledger)
    CROSS JOIN LATERAL (SELECT to_regclass(
        format('{schema}.claims_%s_%s', g.ledger, g.generation)) AS name) AS made
    -- Leases, which are in no generation.
    CROSS JOIN LATERAL (SELECT min(k.ended_at) AS oldest_end FROM {schema}.leases k
        WHERE l.store = 'lease' AND k.ledger = l.ledger AND k.ended_at IS NOT NULL) AS held
WHERE g.ledger = $1::integer AND g.sealed_at IS NULL
