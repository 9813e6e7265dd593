-- The ledgers that the topic feeds: since when each holds claims, also in milliseconds since 1970,
-- whether it may have dropped older ones, whether its claims are leases, which end with each
-- moment, and whether the topic feeds it no more. Leases are in no generation. DANGER: count from
-- the clock, not from `memory_begins`. A deletion that waits for the ledger's lock has chosen its
-- time before, and would take leases that were counted on. DANGER: a worker asks only the ledger
-- that the topic feeds now, so that claims in one that was retired count as dropped: of those the
-- time is that of the retirement.
SELECT l.name, l.retention, known.since,
    ceil(extract(epoch FROM known.since) * 1000)::bigint,
    CASE WHEN s.retired_at IS NOT NULL THEN true
        WHEN l.store = 'lease' THEN l.created_at < known.since ELSE g.generation > 1 END,
    l.store = 'lease' AND s.retired_at IS NULL, s.retired_at IS NOT NULL
FROM {schema}.ledger_feeds s JOIN {schema}.ledgers l USING (ledger)
    JOIN {schema}.generations g USING (ledger)
    CROSS JOIN LATERAL (SELECT CASE WHEN s.retired_at IS NOT NULL THEN s.retired_at
        WHEN l.store = 'lease' THEN clock_timestamp() - l.retention
        ELSE g.created_at END) AS known (since)
WHERE s.consumer_group = $1 AND s.topic = $2
    AND NOT EXISTS (SELECT FROM {schema}.generations older
        WHERE older.ledger = g.ledger AND older.generation < g.generation)
ORDER BY l.name
